"""One request at a prompt, until it is decided here, elsewhere, or left."""

from __future__ import annotations

import asyncio
import json
import threading
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

from ..desk import Desk
from ..errors import AlreadyDecided, Expired, HitlError, InvalidAnswer, RequestNotFound
from ..request import Answer, Approve, Decision, Decline, Receipt, Request, Respond
from ..schema import Form, shape_of
from . import words
from .device import Left, Person
from .forms import Typed, fill


async def put(request: Request, desk: Desk, device: Person) -> Receipt | None:
    """Ask a person to decide a request, when it is its turn.

    Returns
    -------
    Receipt or None
        What was decided here; None when it was decided elsewhere, or left pending. All three are
        said.
    """
    async with _turn():
        return await _Talk(request, desk, device).until_decided()


class _Talk:
    """The conversation about one request."""

    def __init__(self, request: Request, desk: Desk, device: Person) -> None:
        self.request = request
        self.desk = desk
        self.device = device
        self.deciding = False
        self._answer: Typed | None = None

    async def until_decided(self) -> Receipt | None:
        """Talk; end at once when somebody else decides."""
        loop = asyncio.get_running_loop()
        elsewhere: asyncio.Future[Request] = loop.create_future()

        def over(request: Request) -> None:
            if not elsewhere.done():
                elsewhere.set_result(request)

        def heard(request: Request) -> None:
            if request.id == self.request.id and request.state != "pending":
                loop.call_soon_threadsafe(over, request)

        stop = self.desk.subscribe(heard)
        try:
            now = await self.desk.read(self.desk.store.request, self.request.id)
            if now.state != "pending":
                return None
            return await self._talk_or(elsewhere)
        finally:
            stop()

    async def _talk_or(self, elsewhere: asyncio.Future[Request]) -> Receipt | None:
        talk = asyncio.ensure_future(self._talk())
        try:
            await asyncio.wait({talk, elsewhere}, return_when=asyncio.FIRST_COMPLETED)
            if not talk.done() and not self.deciding:
                talk.cancel()
                await asyncio.wait({talk})
                ended = f"No longer asked: {words.one_line(self.request.tool_name)} was "
                self.device.say(ended + words.outcome(elsewhere.result()), "bold")
                return None
            return await talk
        finally:
            if not talk.done():
                if not self.deciding:  # a decision on its way is recorded, and said
                    talk.cancel()
                await asyncio.wait({talk})

    async def _talk(self) -> Receipt | None:
        self.device.forget_typed()
        self._show()
        while True:
            try:
                decision = await self._decision()
                if decision is not None:
                    return await self._decide(decision)
            except Left as left:
                if left.how != "escape":
                    return self._left()
                if self._answer is not None:
                    self._answer.errors = []
            except InvalidAnswer as e:
                self._refused(e)
            except (AlreadyDecided, Expired, RequestNotFound) as e:
                self.device.say(words.one_line(str(e)), "bold")
                return None
            except HitlError as e:
                self.device.say(words.visible(str(e)), "red")

    def _show(self) -> None:
        request, say = self.request, self.device.say
        say(words.heading(request, datetime.now(UTC)), "dim")
        for warning in words.warnings(request):
            say(f"! {warning}", "yellow")
        if request.suspend_payload is not None:
            say(words.payload(request.suspend_payload))
        if request.kind == "input" and "answer" in request.allowed:
            say(words.question(request), "bold")
            way_out = f"{self.device.way_out} to decline, for details, or to leave it"
            say(f"Enter keeps what is in [ ]; {way_out}.", "dim")

    def _offers(self) -> dict[str, str]:
        """What can be typed: the key, and its words."""
        allowed, offers = self.request.allowed, dict[str, str]()
        if "approve" in allowed:
            offers["y"] = "[y]es"
        if "answer" in allowed:
            offers["a"] = "[a]nswer"
        if "decline" in allowed:
            offers["n"] = "[n]o"
            what = "the agent" if self.request.agent_path else "them"
            offers["t"] = f"no and [t]ell {what} why"
        offers["d"] = "[d]etails"
        if "approve" in allowed and self.request.input_schema is not None:
            offers["e"] = "[e]dit"
        if "respond" in allowed:
            offers["r"] = "[r]espond instead"
        return offers

    async def _decision(self) -> Decision | None:
        """What the person decides; None to be asked again."""
        if self._fills_now():
            return await self._answered()
        offers = self._offers()
        menu = f"{words.question(self.request)}  {'  '.join(offers.values())}"
        typed = (await self.device.choose(menu)).strip().lower()
        names = {word.replace("[", "").replace("]", ""): key for key, word in offers.items()}
        key = names.get(typed, typed)
        if key not in offers:
            keys = ", ".join(offers)
            self.device.say(f"Nothing was decided. Type one of {keys}, and Enter.", "red")
            return None
        return await self._chosen(key)

    def _fills_now(self) -> bool:
        """Whether the form comes before the menu: the first time, and after it was refused."""
        fresh = self._answer is None or bool(self._answer.errors)
        return fresh and self.request.kind == "input" and "answer" in self.request.allowed

    async def _chosen(self, key: str) -> Decision | None:  # noqa: PLR0911 - by key
        match key:
            case "y":
                return Approve()
            case "n":
                return Decline()
            case "t":
                return await self._told_why()
            case "e":
                return await self._edited()
            case "r":
                return await self._responded()
            case "a":
                return await self._answered()
            case _:
                self.device.say(words.details(self.request))
                return None

    async def _told_why(self) -> Decision | None:
        reason = (await self.device.line("Why, and what to do instead: ")).strip()
        return Decline(reason) if reason else None

    async def _responded(self) -> Decision | None:
        text = (await self.device.line("Result, JSON or text: ")).strip()
        if not text:
            return None
        try:
            return Respond(json.loads(text))
        except ValueError:
            return Respond(text)

    async def _answered(self) -> Decision:
        if self._answer is None:
            schema: Any = {} if self.request.resume_schema is None else self.request.resume_schema
            self._answer = Typed(Form(shape_of(schema), self.request.scope.get("initial")))
        return Answer(await fill(self.device, self._answer))

    async def _edited(self) -> Decision | None:
        request = self.request
        shape = shape_of(request.input_schema or {})
        typed = Typed(Form(shape, request.args, secrets=request.secrets))
        while True:
            args = await fill(self.device, typed)
            try:
                shape.validate(args)
                break
            except InvalidAnswer as e:
                typed.refused(e)
        changed = words.changes(request.args, args)
        if not changed:
            self.device.say("Nothing was changed.")
            return None
        self.device.say(changed)
        self.device.forget_typed()
        sure = await self.device.choose("Allow it with these changes?  [y]es  [n]o, ask me again")
        return Approve(args=args) if sure.strip().lower() in ("y", "yes") else None

    async def _decide(self, decision: Decision) -> Receipt:
        request = self.request
        self.deciding = True
        try:
            receipt = await self.desk.decide(
                request, decision, fingerprint=request.fingerprint, via="terminal"
            )
            now = await self.desk.read(self.desk.store.request, request.id)
        finally:
            self.deciding = False
        if receipt.state == "pending":
            left = f"{receipt.votes} of {receipt.quorum} reviewers: it waits for the others."
            self.device.say(f"Recorded, {left}")
        else:
            self.device.say(words.outcome(now), "dim")
        return receipt

    def _refused(self, error: InvalidAnswer) -> None:
        self.device.say(words.visible(str(error)), "red")
        if self._answer is not None:
            self._answer.refused(error)

    def _left(self) -> None:
        store = self.desk.store.location
        self.device.say(
            f"Left undecided: it still waits. Decide with: hitl-widgets inbox --store {store}",
            "bold",
        )


# -- one prompt at a time ------------------------------------------------------------------------

_lock = threading.Lock()
_queue: deque[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = deque()


@asynccontextmanager
async def _turn() -> AsyncGenerator[None]:
    """Wait until no other prompt of this process is open, on whatever loop or thread it is."""
    mine = (asyncio.get_running_loop(), asyncio.Event())
    with _lock:
        _queue.append(mine)
        if _queue[0] is mine:
            mine[1].set()
    try:
        await mine[1].wait()
        yield
    finally:
        with _lock:
            _queue.remove(mine)
            while _queue and _queue[0][0].is_closed():
                _queue.popleft()
            if _queue:
                loop, event = _queue[0]
                loop.call_soon_threadsafe(event.set)
