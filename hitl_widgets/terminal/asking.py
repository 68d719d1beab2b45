"""One request at a prompt, until it is decided here, elsewhere, or left."""

from __future__ import annotations

import asyncio
import json
import threading
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from ..desk import Desk
from ..errors import AlreadyDecided, Expired, HitlError, InvalidAnswer, RequestNotFound
from ..request import Answer, Approve, Decision, Decline, Receipt, Request, Respond
from ..schema import Form, stored_shape
from ..visible import visible
from ..words import saying
from . import previews, shown
from .device import Left, Person
from .forms import Typed, fill
from .keys import key_of


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
        self.word = saying(device.locale)
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
                name = shown.one_line(self.request.tool_name)
                told = shown.outcome(self.word, elsewhere.result())
                self.device.say(self.word("term.over", tool=name, outcome=told), "bold")
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
                self.device.say(shown.one_line(str(e)), "bold")
                return None
            except HitlError as e:
                self.device.say(visible(str(e)), "red")

    def _show(self) -> None:
        request, say, word = self.request, self.device.say, self.word
        say(shown.heading(word, request, datetime.now(UTC)), "dim")
        for warning in shown.warnings(word, request):
            say(f"! {warning}", "yellow")
        for words, style in previews.lines(request, self.device.locale):
            say(words, style)
        if request.suspend_payload is not None:
            say(shown.payload(request.suspend_payload))
        if request.kind == "input" and "answer" in request.allowed:
            say(shown.question(word, request), "bold")
            say(word("term.form", way_out=self.device.way_out), "dim")

    def _offers(self) -> list[str]:
        """What can be typed, in words that hold the key."""
        allowed, offers = self.request.allowed, list[str]()
        if "approve" in allowed:
            offers.append("term.yes")
        if "answer" in allowed:
            offers.append("term.fill")
        if "decline" in allowed:
            whom = "agent" if self.request.agent_path else "them"
            offers += ["term.no", f"term.why.{whom}"]
        offers.append("term.details")
        if "approve" in allowed and self._editable():
            offers.append("term.edit")
        if "respond" in allowed:
            offers.append("term.respond")
        return [self.word(offer) for offer in offers]

    def _editable(self) -> bool:
        return self.request.input_schema is not None

    async def _decision(self) -> Decision | None:
        """What the person decides; None to be asked again."""
        if self._fills_now():
            return await self._answered()
        offers = self._offers()
        menu = f"{shown.question(self.word, self.request)}  {'  '.join(offers)}"
        key = key_of(await self.device.choose(menu), offers)
        if key is None:
            keys = ", ".join(offer.partition("[")[2][0] for offer in offers)
            self.device.say(self.word("term.nothing", keys=keys), "red")
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
                self.device.say(shown.details(self.word, self.request))
                return None

    async def _told_why(self) -> Decision | None:
        reason = (await self.device.line(self.word("term.reason"))).strip()
        return Decline(reason) if reason else None

    async def _responded(self) -> Decision | None:
        text = (await self.device.line(self.word("term.result"))).strip()
        if not text:
            return None
        try:
            return Respond(json.loads(text))
        except (ValueError, RecursionError):
            return Respond(text)

    async def _answered(self) -> Decision:
        if self._answer is None:
            shape = stored_shape(self.request.resume_schema)
            self._answer = Typed(Form(shape, self.request.scope.get("initial")))
        return Answer(await fill(self.device, self._answer))

    async def _edited(self) -> Decision | None:
        request = self.request
        shape = stored_shape(request.input_schema)
        typed = Typed(Form(shape, request.args, secrets=request.secrets))
        while True:
            args = await fill(self.device, typed)
            try:
                shape.validate(args)
                break
            except InvalidAnswer as e:
                typed.refused(e)
        changed = shown.changes(self.word, request.args, args)
        if not changed:
            self.device.say(self.word("term.unchanged"))
            return None
        self.device.say(changed)
        self.device.forget_typed()
        offers = [self.word("term.yes"), self.word("term.no.again")]
        menu = f"{self.word('term.sure')}  {'  '.join(offers)}"
        sure = key_of(await self.device.choose(menu), offers)
        return Approve(args=args) if sure == "y" else None

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
            self.device.say(self.word("term.votes", n=receipt.votes, all=receipt.quorum))
        else:
            self.device.say(shown.outcome(self.word, now), "dim")
        return receipt

    def _refused(self, error: InvalidAnswer) -> None:
        self.device.say(visible(str(error)), "red")
        if self._answer is not None:
            self._answer.refused(error)

    def _left(self) -> None:
        self.device.say(self.word("term.left", store=self.desk.store.location), "bold")


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
