"""Cards, and the cell's input box beside them where a card might not reach the person.

A page says hello when it can show cards. When none did for a while, or clicks cannot arrive while
a cell runs, the question is put in the input box too. Both stay open; the first answer wins, and
the other one says so. What stands between the cards and a page is then looked for and shown, once.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Container, Coroutine, Generator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from contextvars import ContextVar
from typing import Any, Literal

from IPython.display import display  # pyright: ignore[reportUnknownVariableType]

from ..desk import Desk, desk_of
from ..events import Chunk
from ..request import Request
from ..screen.hub import hub, on_hello, pages
from ..screen.surface import WidgetSurface
from ..surface import RunScreen
from ..terminal import Prompts, put
from ..words import say
from . import kernel, subshell
from .frontend import detect
from .stdin import CellInput

HELLO_SECONDS = 10.0
"""How long a page may take to say hello before the input box is offered as well."""

Way = Literal["cards", "stdin"]

_way: ContextVar[Way | None] = ContextVar("hitl_way", default=None)
"""What reaches the person while the code around waits: settled once, by whoever waits first."""


class NotebookSurface:
    """`surface.Surface` of a notebook.

    Parameters
    ----------
    cards
        What shows cards.
    cell_runs
        Whether a cell is running.
    advise
        Called with a store; returns what to display where a card reaches no page.
    """

    def __init__(
        self,
        cards: WidgetSurface,
        *,
        cell_runs: Callable[[], bool],
        advise: Callable[[Any], object],
    ) -> None:
        self._cards = cards
        self._cell_runs = cell_runs
        self._advise = advise
        self._advised = False

    def can_ask(self, *, background: bool = False) -> bool:
        """Whether a person can be reached here now; False means headless."""
        here = detect()
        if not here.can_show_cards or background:
            return here.can_show_cards
        return here.can_await_cards or here.allow_stdin

    @contextmanager
    def waiting(self) -> Generator[None]:
        """Keep the person's messages flowing while the caller awaits, on whatever thread."""
        if _way.get() is not None:
            yield
            return
        with ExitStack() as stack:
            token = _way.set("cards" if self._flowing(stack) else "stdin")
            stack.callback(_way.reset, token)
            yield

    def _flowing(self, stack: ExitStack) -> bool:
        if stack.enter_context(kernel.waiting()):
            return detect().can_await_cards
        if stack.enter_context(kernel.waiting_on_a_thread()):
            return True
        return stack.enter_context(subshell.clicks_while_blocked(hub(), on_any_thread=True))

    def blocking(self) -> AbstractContextManager[Any] | None:
        """Reach the person while the caller's thread is blocked; None: it cannot be done."""
        here = detect()
        if not here.can_show_cards:
            return None
        if subshell.can_unblock():
            return self._blocked("cards")
        return self._blocked("stdin") if here.allow_stdin else None

    @contextmanager
    def _blocked(self, way: Way) -> Generator[None]:
        with ExitStack() as stack:
            if way == "cards":
                stack.enter_context(subshell.clicks_while_blocked(hub()))
            token = _way.set(way)
            stack.callback(_way.reset, token)
            yield

    def remember_cell(self) -> None:
        """Note in which cell a run of this context will be shown."""
        self._cards.remember_cell()

    def run_started(
        self, *, run_id: str, title: str, store: Any, cancel: Callable[[], None] | None
    ) -> RunScreen:
        """Open the run's one output, or find the one it already has here."""
        screen = self._cards.run_started(run_id=run_id, title=title, store=store, cancel=cancel)
        needed = _way.get() == "stdin"
        return _Beside(
            screen,
            desk_of(store),
            CellInput() if detect().allow_stdin else None,
            cards_are_dead=lambda: needed and self._cell_runs(),
            advise=functools.partial(self._advise_once, store, output_here()),
        )

    async def _advise_once(
        self, store: Any, output: Callable[[], AbstractContextManager[Any]]
    ) -> None:
        """Display what stands between cards and a page, once in a process."""
        if self._advised:
            return
        self._advised = True
        advice = await asyncio.to_thread(self._advise, store)
        with output():
            display(advice)  # pyright: ignore[reportUnknownVariableType]

    def run_inside(
        self,
        *,
        run_id: str,
        title: str,
        store: Any,
        cancel: Callable[[], None] | None,
        elsewhere: Container[str],
    ) -> RunScreen | None:
        """A panel that is not displayed; None when the run's own is shown here."""
        return self._cards.run_inside(
            run_id=run_id, title=title, store=store, cancel=cancel, elsewhere=elsewhere
        )

    def screen_of(self, run_id: str) -> RunScreen | None:
        """The run's output, if it has one here."""
        return self._cards.screen_of(run_id)

    def origin(self) -> dict[str, Any]:
        """Where we are, as far as known."""
        return self._cards.origin()


class _Beside:
    """`surface.RunScreen`: a run's panel, and what is done where it reaches nobody.

    The question is put in the input box beside it, if there is one, and advice is given.
    """

    def __init__(
        self,
        panel: RunScreen,
        desk: Desk,
        box: CellInput | None,
        *,
        cards_are_dead: Callable[[], bool],
        advise: Callable[[], Coroutine[Any, Any, None]],
    ) -> None:
        self._panel = panel
        self._desk = desk
        self._box = box
        self._cards_are_dead = cards_are_dead
        self._advise = advise
        self._advice: asyncio.Task[None] | None = None
        self._prompts = Prompts(self._offer)

    def chunk(self, chunk: Chunk) -> None:
        """Show it in the panel."""
        self._panel.chunk(chunk)

    def request(self, request: Request) -> None:
        """Show it in the panel, and ask in the box when it is needed."""
        self._panel.request(request)
        self._prompts.put(request)

    def paused(self) -> None:
        """Take the box away; the card stays."""
        self._panel.paused()
        self._prompts.close()

    def ended(self, state: str, outcome: dict[str, Any]) -> None:
        """Take the box away; the panel shows the end."""
        self._panel.ended(state, outcome)
        self._prompts.close()

    async def _offer(self, request: Request) -> None:
        if self._cards_are_dead():
            why = "box.dead"
        elif await _said_hello():
            return
        else:
            # Beside the box, not before it: looking around may take a while.
            self._advice = asyncio.ensure_future(self._advise())
            why = "box.unseen"
        if self._box is not None:
            self._box.say(say(why, self._box.locale))
            await put(request, self._desk, self._box)


def output_here() -> Callable[[], AbstractContextManager[Any]]:
    """Remember the cell that runs now, for output that comes later."""
    return functools.partial(kernel.output_to, kernel.current_parent())


async def _said_hello() -> bool:
    """Whether a page that shows cards is there, or comes in time."""
    loop = asyncio.get_running_loop()
    came = asyncio.Event()

    def heard(_page: object) -> None:
        loop.call_soon_threadsafe(came.set)

    stop = on_hello(heard)
    try:
        if pages():
            return True
        async with asyncio.timeout(HELLO_SECONDS):
            await came.wait()
    except TimeoutError:
        return False
    finally:
        stop()
    return True
