"""The page's bundle without Jupyter: forms answered by Python's own side of them.

The bundle, the request's view, what its data means (`formdata`) and the shape that validates are
real. In place of the comm, and of the desk, stands a function that the page calls. The page
forbids ``eval``: code that needs it fails here.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from itertools import count
from typing import Any

from playwright.sync_api import Locator, Page, Route

from hitl_widgets.errors import HitlError
from hitl_widgets.request import Request
from hitl_widgets.schema import Shape
from hitl_widgets.screen import formdata
from hitl_widgets.screen.hub import BUNDLE, SESSION, failure
from hitl_widgets.screen.messages import Ack, AnswerDoc, Decide, ReceiptDoc, page_message
from hitl_widgets.screen.views import request_view

ORIGIN = "https://forms.invalid"
NO_EVAL = "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'unsafe-inline'"

HTML = """<!doctype html><html lang="en"><meta charset="utf-8"><title>forms</title>
<style>
  body { margin: 0; padding: 16px; background: Canvas; }
  body.dark { color-scheme: dark; --jp-layout-color1: #161a1f; --jp-ui-font-color1: #e6edf3; }
  body.light { color-scheme: light; --jp-layout-color1: #fff; --jp-ui-font-color1: #1f2328; }
</style>
<body class="light"><main></main><script type="module">
import bundle from "/hub.js";
class Model {
  listeners = {};
  constructor(state) { this.state = state; }
  get(name) { return this.state[name]; }
  set(name, value) { this.state[name] = value; this.fire(`change:${name}`, value); }
  on(event, does) { (this.listeners[event] ??= new Set()).add(does); }
  off(event, does) { this.listeners[event]?.delete(does); }
  fire(event, value) { for (const does of this.listeners[event] ?? []) does(value); }
  async send(content) {
    const { answer, view } = JSON.parse(await window.kernel(JSON.stringify(content)));
    if (view) this.set("view", view);
    if (answer) this.fire("msg:custom", answer);
    if (content.type === "decide") setTimeout(() => { window.answers += 1; });
  }
}
const hub = bundle.initialize({ model: new Model({ locale: "en" }) });
let unmount = () => {};
window.answers = 0;
// From a timer: what a test's own call runs is free of the page's policy.
window.show = (view) => new Promise((shown) => setTimeout(() => {
  unmount();
  scrollTo(0, 0);
  window.model = new Model({ shows: "card", requests: [], view });
  unmount = hub.mount({ model: window.model, el: document.querySelector("main") });
  setTimeout(shown);
}));
window.ready = true;
</script></body></html>"""


FINGERPRINT = "hf1:" + "a" * 52
_numbers = count()


class FormsPage:
    """A page that shows one form at a time.

    Attributes
    ----------
    sent
        The messages of the form that is shown, pings left out.
    data, value
        What the last answer meant, and what it was after it was validated; None before.
    """

    def __init__(self, page: Page) -> None:
        self.page = page
        self.problems: list[str] = []
        self.sent: list[dict[str, Any]] = []
        self.shape: Shape
        self.data: Any = None
        self.value: Any = None
        page.on("pageerror", lambda error: self.problems.append(error.message))
        page.on("console", self._note)
        page.expose_function("kernel", self._hear)
        page.route(f"{ORIGIN}/**", self._serve)
        page.goto(f"{ORIGIN}/")
        page.wait_for_function("window.ready")

    def _note(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.problems.append(message.text)

    def _serve(self, route: Route) -> None:
        if route.request.url.endswith("/hub.js"):
            route.fulfill(body=BUNDLE.read_bytes(), content_type="text/javascript")
        else:
            headers = {"Content-Security-Policy": NO_EVAL}
            route.fulfill(body=HTML, content_type="text/html", headers=headers)

    def _hear(self, text: str) -> str:
        message = page_message.validate_python(json.loads(text))
        if not isinstance(message, Decide):
            ack = Ack(type="ack", id=message.id, session=SESSION)
            return json.dumps({"answer": ack.model_dump(mode="json")})
        self.sent.append(json.loads(text))
        try:
            self._decide(message)
        except HitlError as error:
            return json.dumps({"answer": failure(message.id, error).model_dump(mode="json")})
        receipt = ReceiptDoc(
            request_id=message.request_id,
            state="answered",
            reviewer="tester",
            via="card",
            decided_at=datetime.now(UTC).isoformat(),
            votes=1,
            quorum=1,
        )
        ack = Ack(type="ack", id=message.id, session=SESSION, receipt=receipt)
        return json.dumps({"answer": ack.model_dump(mode="json")})

    def _decide(self, message: Decide) -> None:
        """Do what the desk does with an answer: validate it, or refuse it with its errors."""
        assert message.fingerprint == FINGERPRINT
        given = message.decision
        if not isinstance(given, AnswerDoc):
            return
        assert given.edited is not None
        self.data = formdata.answer(message.request_id, given.data, edited=given.edited).data
        with formdata.errors_in_page(message.request_id):
            self.value = self.shape.dump(self.shape.validate(self.data))

    def show(self, shape: Shape, initial: Any = None, **more: Any) -> Form:
        """Show the form of a new request for data."""
        request = Request(
            id=f"r_{next(_numbers)}",
            run_id="run_x",
            tool_call_id="c_x",
            ordinal=0,
            kind="input",
            tool_name="ask",
            args={},
            fingerprint=FINGERPRINT,
            state="pending",
            agent_id="ask",
            agent_path=(),
            created_at=datetime.now(UTC),
            allowed=("answer", "decline"),
            message="Question",
            resume_schema=shape.json_schema,
            scope={} if initial is None else {"initial": initial},
            **more,
        )
        self.sent.clear()
        self.problems.clear()
        self.shape, self.data, self.value = shape, None, None
        view = request_view(request)
        self.page.evaluate("view => window.show(view)", view)
        return Form(self, view)


class Form:
    """The form that is shown."""

    def __init__(self, page: FormsPage, view: dict[str, Any]) -> None:
        self.forms = page
        self.page = page.page
        self.layout = json.loads(view["form"]["layout"])
        given = view["form"]["data"]
        self.data = None if given is None else json.loads(given)
        self.role = self.page.get_by_role("form", name="Input: Question")

    def field(self, path: tuple[str | int, ...]) -> Locator:
        """The innermost field at `path`: a branch stands inside its union, at the same path."""
        return self.role.locator(f'[data-path="{css_text(pointer(path))}"]').last

    def touch(self) -> None:
        """Let the form believe that somebody typed, without changing anything."""
        event = "form => form.dispatchEvent(new Event('input', { bubbles: true }))"
        self.role.locator(".form").evaluate(event)

    def submit(self) -> dict[str, Any]:
        """Press Submit, and return what was sent once it was answered."""
        before = self.page.evaluate("window.answers")
        button = self.role.get_by_role("button", name="Submit")
        while True:
            button.click()
            answered = self.page.wait_for_function(
                """before => window.answers > before ? "answered"
                     : document.querySelector(".said")?.textContent.includes("press again") """,
                arg=before,
            )
            if answered.json_value() == "answered":
                break
        return self.forms.sent[-1]["decision"]

    def errors(self) -> list[tuple[str, str]]:
        """Each error that is shown: the pointer of its field, and its words."""
        return [
            (str(at), str(words))
            for at, words in self.role.locator(".error").evaluate_all(
                "all => all.map(e => [e.closest('[data-path]').dataset.path, e.textContent])"
            )
        ]


def pointer(path: tuple[str | int, ...]) -> str:
    """Write a path as a JSON Pointer."""
    return "".join("/" + str(p).replace("~", "~0").replace("/", "~1") for p in path)


def css_text(text: str) -> str:
    """Escape text for a quoted attribute selector."""
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    return "".join(f"\\{ord(c):x} " if ord(c) < 32 else c for c in quoted)
