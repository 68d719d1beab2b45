"""The hub: one widget per kernel carries the bundle, every card carries a loader of a few lines.

Jupyter sends a widget's module with every instance; twenty cards would be twenty bundles. A page
says hello from the hub's `initialize`, which runs even where an output is off screen.

Handlers may be called on a subshell's thread: the answer is made on the loop that owned the
widget's creation, and every message gets exactly one answer, errors included.
"""

from __future__ import annotations

import asyncio
import contextlib
import html
import logging
import threading
import uuid
from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, cast

import anywidget
import traitlets
from pydantic import ValidationError

from .. import surface
from ..deciders import on_change, settings
from ..errors import HitlError, InvalidAnswer
from ..words import short
from .messages import Ack, Failure, FieldError, Hello, page_message
from .nulls import from_page, to_page

__all__ = ["HubWidget", "hub", "in_use", "locale", "on_displayed", "on_hello", "on_made", "pages"]

BUNDLE = Path(__file__).parent / "static" / "hub.js"

LOADER = """\
export default {
  async render(props) {
    try {
      if (!props.host) throw new Error("this page has an anywidget older than 0.11");
      let hub;
      while (!hub) {
        hub = await props.host.getWidget(props.model.get("_hub")).catch((error) => {
          if (props.signal?.aborted || !/timed out/i.test(error?.message)) throw error;
          props.el.textContent = "hitl-widgets is loading: this page is busy.";
        });
      }
      return hub.exports.mount(props);
    } catch (error) {
      props.el.textContent = `hitl-widgets could not start: ${error?.message ?? error}. `
        + "Install anywidget 0.11 where the notebook server runs, reload this page and run the "
        + "cell again.";
      console.error("[hitl-widgets]", error);
    }
  },
};
"""

SESSION = uuid.uuid4().hex
"""Another one in every kernel process: a page can tell a restart from a slow answer."""

_logger = logging.getLogger(__name__)


# -- asking and answering ------------------------------------------------------------------------


class _Answering(anywidget.AnyWidget):
    """A widget whose messages each get one answer, made on the loop that owns it."""

    _id = traitlets.Unicode().tag(sync=True)

    def __init__(self, **kwargs: Any) -> None:
        unknown = sorted(set(kwargs) - set(self.trait_names()))
        if unknown:  # traitlets would swallow them
            raise TypeError(
                f"{type(self).__name__} has no argument {', '.join(unknown)}. "
                f"Look at help({type(self).__name__}) for those it has."
            )
        self._loop = _running_loop()
        id_ = uuid.uuid4().hex  # the page finds what stands behind its model by it
        super().__init__(model_id=id_, _id=id_, **kwargs)
        self.on_msg(self._receive)  # pyright: ignore[reportUnknownMemberType]
        surface.current()  # it knows what a new widget needs here, see `on_made`
        for prepare in tuple(_prepared_by):
            prepare(self)

    @staticmethod
    def _trait_to_json(x: Any, self: Any) -> Any:
        del self  # ipywidgets' signature
        return to_page(x)

    async def _handle(self, message: Any) -> Ack:
        """Do what `message` asks; `HitlError` becomes the page's error."""
        return Ack(type="ack", id=message.id, session=SESSION)

    def _receive(self, _widget: object, content: Any, _buffers: object) -> None:
        content = from_page(content)
        try:
            message = page_message.validate_python(content)
        except ValidationError as e:
            self._refuse(content, e)
            return
        self._on_own_loop(lambda: self._answer(message))

    def _refuse(self, content: Any, error: ValidationError) -> None:
        id_ = cast("dict[str, Any]", content).get("id") if isinstance(content, dict) else None
        _logger.error("The page sent a message that this version does not know: %s", error)
        if isinstance(id_, str):
            words = "The kernel does not understand this page: reload it and run the cell again."
            self._reply(Failure(type="error", id=id_, code="BadMessage", words=words))

    async def _answer(self, message: Any) -> None:
        try:
            reply = await self._handle(message)
        except HitlError as e:
            reply = failure(message.id, e)
        except Exception as e:  # shown on the card: nobody sees a widget callback's traceback
            _logger.exception("Answering a %s failed.", message.type)
            words = f"{type(e).__name__}: {e}"
            reply = Failure(type="error", id=message.id, code="Unexpected", words=words)
        self._reply(reply)

    def _reply(self, reply: Ack | Failure) -> None:
        self.send(to_page(reply.model_dump(mode="json")))  # pyright: ignore[reportUnknownMemberType]

    def _on_own_loop(self, make: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run a coroutine on the loop that owns this widget; without one, here and now."""
        loop = self._loop
        if loop is None or loop.is_closed():
            loop = _running_loop()
        if loop is None:
            asyncio.run(make())
        else:
            loop.call_soon_threadsafe(_spawn, loop, make)

    def _soon(self, do: Callable[[], None]) -> None:
        """Run `do` on the thread of the loop that owns this widget; without one, here and now."""
        loop = self._loop
        if loop is None or loop.is_closed() or loop is _running_loop():
            do()
        else:
            loop.call_soon_threadsafe(do)


_prepared_by: list[Callable[[Any], None]] = []


def on_made(prepare: Callable[[Any], None]) -> None:
    """Call `prepare` with every new widget: it has its comm, and is not displayed yet."""
    if prepare not in _prepared_by:
        _prepared_by.append(prepare)


_displayed_to: list[Callable[[Any], None]] = []


def on_displayed(heard: Callable[[Any], None]) -> None:
    """Call `heard` with every widget of ours that is displayed."""
    if heard not in _displayed_to:
        _displayed_to.append(heard)


def failure(id_: str, error: HitlError) -> Failure:
    """An error of ours as the page's answer."""
    errors = error.errors if isinstance(error, InvalidAnswer) else []
    return Failure(
        type="error",
        id=id_,
        code=type(error).__name__,
        words=str(error),
        errors=[
            FieldError(path=list(e.get("path", ())), message=str(e.get("message", "")))
            for e in errors
        ],
    )


_tasks: set[asyncio.Task[None]] = set()


def _spawn(loop: asyncio.AbstractEventLoop, make: Callable[[], Coroutine[Any, Any, None]]) -> None:
    # A loop holds its tasks weakly: without this reference an answer could be collected.
    task = loop.create_task(make())
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)


def _running_loop() -> asyncio.AbstractEventLoop | None:
    with contextlib.suppress(RuntimeError):
        return asyncio.get_running_loop()
    return None


# -- the hub -------------------------------------------------------------------------------------


class Hub(_Answering):
    """Carries the bundle, and hears pages say hello."""

    _esm = BUNDLE
    locale = traitlets.Unicode(None, allow_none=True).tag(sync=True)

    async def _handle(self, message: Any) -> Ack:
        if isinstance(message, Hello):
            _welcome(message)
        return await super()._handle(message)


_lock = threading.Lock()
_hub: Hub | None = None
_pages: dict[str, Hello] = {}
_listeners: list[Callable[[Hello], None]] = []


def hub() -> Hub:
    """The kernel's one hub; a new one if the old was closed (``Widget.close_all()``)."""
    global _hub  # noqa: PLW0603
    with _lock:
        if _hub is None or _hub.comm is None:
            _hub = Hub(locale=settings().locale)
        return _hub


def _speak() -> None:
    """Have all cards speak the language that is set; without one, each page speaks its own."""
    if _hub is not None and _hub.comm is not None:
        _hub.locale = settings().locale


on_change(_speak)


def locale() -> str:
    """The language of records: the one that was set, else English."""
    page = next((short(said.locale) for said in pages()), "en")
    return settings().locale or page


def pages() -> list[Hello]:
    """Every page that has said hello to this kernel: a proof that cards can be seen."""
    return list(_pages.values())


def in_use() -> bool:
    """Whether a widget was made, so that a page should have said hello."""
    return _hub is not None and _hub.comm is not None


def on_hello(callback: Callable[[Hello], None]) -> Callable[[], None]:
    """Call `callback` when a page says hello; returns a function that stops it."""
    _listeners.append(callback)

    def stop() -> None:
        with contextlib.suppress(ValueError):
            _listeners.remove(callback)

    return stop


def _welcome(message: Hello) -> None:
    _pages[message.page] = message
    for listener in tuple(_listeners):
        listener(message)


# -- what a notebook shows -----------------------------------------------------------------------


class HubWidget(_Answering):
    """A widget that the hub's bundle draws from its `view`.

    It publishes itself with a display id, so that the output can be swapped for a static record.
    """

    _esm = LOADER
    _hub = anywidget.WidgetTrait().tag(sync=True)
    shows = traitlets.Unicode().tag(sync=True)
    view = traitlets.Dict().tag(sync=True)
    late = traitlets.Bool(False).tag(sync=True)  # noqa: FBT003
    """Some page came too late for the record to take its widget's place there."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(_hub=hub(), **kwargs)
        self._display_id = uuid.uuid4().hex
        self._output: Callable[[], AbstractContextManager[Any]] = contextlib.nullcontext
        self.displayed = False
        self._seen_by: frozenset[str] = frozenset()

    # Until a subclass listens to a desk; a widget that was refused its arguments is closed too.
    _unsubscribe: Callable[[], None] = staticmethod(lambda: None)

    def close(self) -> None:
        """Close the widget; what it shows stays as it is."""
        self._unsubscribe()
        super().close()

    def record(self) -> dict[str, str]:
        """What stays in a saved notebook: ``text/plain`` and ``text/html``."""
        plain = type(self).__name__
        return {"text/plain": plain, "text/html": html.escape(plain)}

    def show_in(self, output: Callable[[], AbstractContextManager[Any]]) -> None:
        """Display in the cell that `output` stands for, and swap there later."""
        self._output = output
        self._ipython_display_()

    def _ipython_display_(self) -> None:
        bundle: Any = cast("Any", self)._repr_mimebundle_()
        data, metadata = cast("tuple[dict[str, Any], dict[str, Any]]", bundle or ({}, {}))
        self.displayed = True
        self._seen_by = frozenset(_pages)
        with self._output():
            _publish({**data, **self.record()}, metadata, self._display_id, update=False)
        for heard in tuple(_displayed_to):
            heard(self)

    def freeze(self) -> None:
        """Swap the output, wherever it is shown, for the static record."""
        if self.displayed:
            with self._output():
                _publish(self.record(), {}, self._display_id, update=True)

    def retire(self) -> None:
        """Freeze for good: once the record stands everywhere, the widget is closed.

        A page that was loaded after the output was displayed does not know the output's id, and
        keeps showing the widget: then it stays, and says that.
        """
        self.freeze()
        if not self.displayed:
            return
        if self._seen_by != frozenset(_pages):
            self.late = True
        else:
            layout: Any = cast("Any", self).layout
            self.close()
            layout.close()


def _publish(
    data: dict[str, Any], metadata: dict[str, Any], display_id: str, *, update: bool
) -> None:
    # Imported where something is shown: a record is made without IPython.
    from IPython import display  # noqa: PLC0415

    cast("Any", display).publish_display_data(
        data, metadata, transient={"display_id": display_id}, update=update
    )
