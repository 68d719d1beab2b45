"""A session followed live: its events in, its answers out, for as long as it is attached."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import Any, Self

from ... import deciders, surface
from ...errors import NoReviewer, NotPermitted, RunSuspended
from ...request import Request
from .answers import Answers
from .carrier import Carrier
from .custom import Custom
from .custom import custom_tools as checked_tools
from .customs import Customs
from .drawing import Drawing
from .follower import FIRST_PAUSE, Follower, longer
from .history import Event, History
from .presenter import Presenter
from .run import SessionRun
from .service import TRANSIENT, Service, fault

GATHER = 0.05
"""Seconds in which calls of one turn arrive, to be shown as siblings."""

DRAIN = 5.0
"""Seconds that `close` gives to answers on their way."""

_lives: dict[tuple[int, str], Live] = {}


class Live:
    """A session shown in this cell; made by `attach`.

    Attributes
    ----------
    session_id
    """

    def __init__(
        self,
        client: Any,
        session_id: str,
        *,
        decide: deciders.Decide | None,
        tools: dict[str, Custom],
        store: Any,
        silence: float,
    ) -> None:
        self.session_id = session_id
        self._service = Service(client, session_id, silence=silence)
        self._history = History()
        self._decide = decide
        self._tools = tools
        self._store = store
        self._follower = Follower(
            self._service, self._history, news=self._say_news, show=self._show
        )
        self._answers = Answers(self._service, self._history, self._follower.look)
        self._changed = asyncio.Event()
        self._news = asyncio.Event()
        self._ready = asyncio.Event()
        self._drawing: Drawing | None = None
        self._run_at_desk: SessionRun | None = None
        self._presenter: Presenter | None = None
        self._asides: set[asyncio.Task[None]] = set()
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.ensure_future(self._live())
        self._task.add_done_callback(lambda _: self._notify())

    def __repr__(self) -> str:
        state = "closed" if self._task.done() else self._history.stopped() or "running"
        return f"Live({self.session_id!r}, {state}, waiting={len(self._history.waiting())})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    # -- what a caller does ------------------------------------------------------------------------

    async def until_idle(self) -> str:
        """Wait until the session stops for another reason than that it needs an answer.

        Returns
        -------
        str
            The stop reason: ``end_turn``, ``budget_reached``, ``retries_exhausted``, ``refusal``,
            ``terminated`` (archived and deleted too), or one that the service added since.

        Raises
        ------
        RunSuspended, NoReviewer
            It needs an answer and nobody can be asked here. It waits at the service, without
            limit.
        anthropic.APIStatusError
            This client may not follow the session.
        """
        with self._clicks_flow() as asking:
            await self._once_ready()
            await self._follower.surely_look()
            while True:
                changed = self._changed
                reason = self._history.stopped()
                if self._task.done():
                    self._raise_if_failed()
                    return reason or "terminated"
                if reason is not None and self._history.gone is None:
                    if self._presenter is not None:
                        await self._presenter.drain(DRAIN)
                    return reason
                await self._check_somebody(asking=asking)
                await changed.wait()

    async def send(self, text: str) -> None:
        """Send a user message.

        Raises
        ------
        RunSuspended
            Calls wait for an answer: the service would refuse it, so nothing was sent.
        NotPermitted
            The session stands at its budget.
        """
        await self._once_ready()
        await self._follower.surely_look()
        waiting = self._history.waiting()
        if waiting:
            names = ", ".join(f"{c.name} ({c.id})" for c in waiting)
            raise RunSuspended(
                f"Session {self.session_id} waits for answers: {names}. A message now would be "
                "refused, and was not sent. Approve, decline or answer first, or interrupt the "
                "session: await live.interrupt().",
                await self._waiting_requests(),
            )
        if self._history.stopped() == "budget_reached":
            raise NotPermitted(
                f"Session {self.session_id} has reached its budget and takes no message: raise "
                "the budget first (the form in its panel, or sessions.update(budget=…))."
            )
        message = {"type": "user.message", "content": [{"type": "text", "text": text}]}
        before = set(self._history.events)
        try:
            kept = await self._service.send([message])
        except TRANSIENT as e:
            if fault(e) != "again" or not await self._was_kept(message, before):
                raise
        else:
            for event in kept:
                self._follower.take(event)

    async def interrupt(self) -> None:
        """End the session's turn: what waits is closed, and nothing more of it runs."""
        await self._service.send([{"type": "user.interrupt"}])

    async def archive(self) -> None:
        """Archive the session, once the service says that it no longer runs."""
        await self._service.archive()
        await self._follower.surely_look()

    async def close(self) -> None:
        """Stop following. What still waits goes on waiting at the service; its cards here end."""
        if not self._task.done():
            if self._presenter is not None:
                await self._presenter.drain(DRAIN)
            await self._let_go(self._history.stopped() or "detached")
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        await self._service.close()

    def look_soon(self) -> None:
        """Go and look: something may have happened. Callable on any thread."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(lambda: self._aside(self._follower.surely_look()))

    @property
    def done(self) -> bool:
        """Whether it is no longer followed."""
        return self._task.done()

    @property
    def resting(self) -> bool:
        """Whether it has stopped and waits for nobody."""
        return (
            self._ready.is_set()
            and not self._history.waiting()
            and self._history.stopped() not in (None, "budget_reached")
        )

    @property
    def waiting(self) -> tuple[str, ...]:
        """Ids of the calls that somebody has to answer."""
        return tuple(c.id for c in self._history.waiting())

    def complain(self, words: str) -> None:
        """Say in the panel that something went wrong."""
        run = self._run_at_desk
        if run is not None:
            run.say("error", (run.title,), error=f"\n{words}\n")

    # -- waiting -----------------------------------------------------------------------------------

    @contextmanager
    def _clicks_flow(self) -> Generator[bool]:
        shown = surface.current()
        if shown is None or not shown.can_ask():
            yield False
            return
        with shown.waiting():
            yield True

    async def _once_ready(self) -> None:
        while not self._ready.is_set():
            changed = self._changed
            if self._task.done():
                self._raise_if_failed()
                raise RunSuspended(f"{self!r} was closed.")
            await changed.wait()

    def _raise_if_failed(self) -> None:
        if not self._task.cancelled():
            self._task.result()

    async def _check_somebody(self, *, asking: bool) -> None:
        """Nobody here can decide what waits: say so, instead of waiting for ever (R5)."""
        run, presenter = self._run_at_desk, self._presenter
        if asking or run is None or presenter is None or run.consulting:
            return
        waiting = await self._waiting_requests()
        if not waiting or run.consulting:
            return
        names = ", ".join(f"{r.tool_name} ({r.id})" for r in waiting)
        text = f"Session {self.session_id} waits for a human: {names}. Nobody can be asked here. "
        if run.asking:
            text = f"Session {self.session_id} waits for a human: {names}. "
            how = "Its cards take clicks once this cell has ended: await until_idle() in a later."
        else:
            how = (
                "Nothing is lost, it waits at the service without limit: attach to it in a "
                "notebook, or give attach(…, decide=…) a rule."
            )
        if deciders.settings().headless == "error":
            raise NoReviewer(text + how)
        raise RunSuspended(text + how, waiting)

    async def _waiting_requests(self) -> list[Request]:
        if self._presenter is None or self._run_at_desk is None:
            return []
        ids = [i.call_id for i in self._presenter.pending() if i.call_id is not None]
        found = [await self._run_at_desk.latest(call_id) for call_id in ids]
        return [r for r in found if r.state == "pending"]

    async def _was_kept(self, message: Event, before: set[str]) -> bool:
        await self._follower.surely_look()
        return any(
            e["type"] == "user.message" and e.get("content") == message["content"]
            for key, e in self._history.events.items()
            if key not in before
        )

    # -- living ------------------------------------------------------------------------------------

    async def _live(self) -> None:
        run = await self._begin()
        async with run.in_view():
            self._ready.set()
            self._notify()
            following = asyncio.create_task(self._follower.follow())
            presenting = asyncio.create_task(self._present())
            try:
                await asyncio.wait({following, presenting}, return_when=asyncio.FIRST_COMPLETED)
                for task in (following, presenting):
                    if task.done():
                        task.result()
                await self._last_round()
            finally:
                self._answers.stop()
                assert self._presenter is not None
                for task in (following, presenting, *self._asides):
                    task.cancel()
                await self._presenter.stop()
            await self._let_go("terminated")

    async def _begin(self) -> SessionRun:
        session = await self._follower.begin()
        run = SessionRun(
            session_id=self.session_id,
            title=str(session["agent"]["name"]),
            decide=self._decide,
            interrupt=lambda: self._aside(self.interrupt()),
            changed=self._notify,
            store=self._store,
        )
        key = (id(run.store), self.session_id)
        earlier = _lives.get(key)
        _lives[key] = self
        if earlier is not None and not earlier.done:
            await earlier.close()
        await run.desk.write(run.store.sweep)
        await run.begin()
        self._run_at_desk = run
        carrier = Carrier(
            session_id=self.session_id,
            history=self._history,
            answers=self._answers,
            run=run,
            news=self._say_news,
            interrupt=self.interrupt,
        )
        customs = Customs(carrier, self._tools)
        self._presenter = Presenter(self._service, carrier, customs)
        self._drawing = Drawing(run, self._history, self._presenter.call_id)
        return run

    async def _last_round(self) -> None:
        """The session is over: every card ends, and answers on their way learn their fate."""
        assert self._presenter is not None
        await self._presenter.refresh()
        await self._presenter.drain(DRAIN)

    async def _let_go(self, reason: str) -> None:
        if self._run_at_desk is not None:
            await self._run_at_desk.over(reason, {})

    def _say_news(self) -> None:
        self._news.set()
        self._notify()

    def _notify(self) -> None:
        before, self._changed = self._changed, asyncio.Event()
        before.set()

    async def _present(self) -> None:
        """Keep the desk in step; calls of one turn that come together are shown together."""
        assert self._presenter is not None
        pause = FIRST_PAUSE
        while True:
            timeout = pause if self._history.unknown else None
            with suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), timeout)
            self._news.clear()
            await asyncio.sleep(GATHER)
            if self._history.unknown:
                # An idle names what was not seen yet: a listing that lags behind.
                pause = longer(pause)
                with suppress(*TRANSIENT):
                    await self._follower.look()
                self._news.clear()
            else:
                pause = FIRST_PAUSE
            await self._presenter.refresh()
            if self._history.gone is not None:
                return

    def _aside(self, work: Any) -> None:
        task = asyncio.ensure_future(_quietly(work, self))
        self._asides.add(task)
        task.add_done_callback(self._asides.discard)

    def _show(self, event: Event) -> None:
        if self._drawing is not None:
            self._drawing.show(event)


async def _quietly(work: Any, live: Live) -> None:
    """Work that nobody awaits: what goes wrong is said in the panel."""
    try:
        await work
    except TRANSIENT as e:
        live.complain(str(e))


def attach(
    client: Any,
    session_id: str,
    decide: deciders.Decide | None = None,
    custom_tools: dict[str, Any] | None = None,
    *,
    store: Any = None,
    silence: float = 60.0,
) -> Live:
    """See `hitl_widgets.adapters.managed_agents.attach`."""
    tools = checked_tools(custom_tools or {})
    try:
        asyncio.get_running_loop()
    except RuntimeError as e:
        raise RuntimeError(
            "attach() follows the session in the background and needs a running event loop: call "
            "it in a notebook cell, or inside asyncio.run(…)."
        ) from e
    return Live(client, session_id, decide=decide, tools=tools, store=store, silence=silence)


def lives() -> list[Live]:
    """Every session followed in this process."""
    return [live for live in _lives.values() if not live.done]
