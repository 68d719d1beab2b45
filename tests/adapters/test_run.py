"""``hitl.run``: whose agent it is; one panel; a person at the screen."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from langgraph.graph import StateGraph

import hitl_widgets as hitl
from hitl_widgets import surface

from .desk import ROOT, runs, states
from .pyd import delete_agent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hitl_widgets.events import Chunk


class TestRecognising:
    async def test_our_own_agent_is_run_too(self) -> None:
        agent = hitl.Agent("own", model=hitl.ScriptedModel(["hello"]))
        result = await hitl.run(agent, "hi")
        assert result.text == "hello"

    async def test_anything_else_is_an_error_that_says_what_is_known(self) -> None:
        with pytest.raises(hitl.AgentDefinitionError) as refused:
            await hitl.run(object(), "hi")
        said = str(refused.value)
        assert "builtins.object" in said
        for known in ("hitl.Agent", "pydantic-ai", "LangGraph", "hitl.require_approval"):
            assert known in said

    async def test_a_graph_that_is_not_compiled_says_so(self) -> None:
        with pytest.raises(hitl.AgentDefinitionError, match=r"graph\.compile"):
            await hitl.run(StateGraph(dict), {})

    async def test_a_class_says_so(self) -> None:
        from pydantic_ai import Agent

        with pytest.raises(hitl.AgentDefinitionError, match="is a class"):
            await hitl.run(Agent, "hi")

    def test_no_framework_is_loaded_to_tell(self) -> None:
        code = """
import asyncio, sys
import hitl_widgets as hitl
try:
    asyncio.run(hitl.run(object(), "hi"))
except hitl.AgentDefinitionError:
    loaded = {"pydantic_ai", "langchain", "langchain_core", "langgraph"} & set(sys.modules)
    print("loaded:", sorted(loaded))
"""
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == "loaded: []"

    def test_a_pydantic_ai_without_kinds_of_requests_says_so(self) -> None:
        """As 2.60, which `hitl.Agent` takes."""
        code = """
import asyncio
from pydantic_ai import DeferredToolRequests
import hitl_widgets as hitl
from tests.adapters.pyd import delete_agent
del DeferredToolRequests.kind
try:
    asyncio.run(hitl.run(delete_agent([], "a"), "hi"))
except hitl.AgentDefinitionError as e:
    print(e)
"""
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
        )
        assert "too old or too new" in done.stdout
        assert "has no DeferredToolRequests.kind" in done.stdout

    @pytest.mark.parametrize(
        ("missing", "make"),
        [
            ("pydantic_ai.capabilities", "from tests.adapters.pyd import delete_agent as make"),
            ("langchain_core.runnables.config", "from tests.adapters.graphs import delete_graph"),
        ],
        ids=["pydantic-ai", "langchain"],
    )
    def test_a_library_that_lacks_something_says_what_to_install(
        self, missing: str, make: str
    ) -> None:
        """Its own module that is not there yet, or not any more."""
        code = f"""
import asyncio, sys
import hitl_widgets as hitl
{make}
if {missing!r}.startswith("pydantic"):
    agent = make([], "a")
else:
    from langgraph.checkpoint.memory import InMemorySaver
    agent = delete_graph(InMemorySaver(), "a", delete=lambda path: path)
sys.modules[{missing!r}] = None
try:
    asyncio.run(hitl.run(agent, "hi"))
except hitl.AgentDefinitionError as e:
    print(e)
"""
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
        )
        assert "too old or too new" in done.stdout
        assert missing in done.stdout
        assert "pip install --upgrade 'hitl-widgets" in done.stdout


class Screen:
    """What one run showed."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.shown: list[hitl.Request] = []
        self.asked: asyncio.Queue[hitl.Request] = asyncio.Queue()
        self.texts: list[str] = []
        self.end: str | None = None
        self.pauses = 0

    def chunk(self, chunk: Chunk) -> None:
        if chunk.type == "text-delta":
            self.texts.append(chunk.payload.text)

    def request(self, request: hitl.Request) -> None:
        self.shown.append(request)
        self.asked.put_nowait(request)

    def paused(self) -> None:
        self.pauses += 1

    def ended(self, state: str, outcome: dict[str, Any]) -> None:
        del outcome
        self.end = state


class Desktop:
    """A surface with a person at it, made of nothing."""

    def __init__(self) -> None:
        self.screens: dict[str, Screen] = {}
        self.cancels: dict[str, Any] = {}
        self.open: asyncio.Queue[Screen] = asyncio.Queue()
        self.flowing = 0

    def can_ask(self, *, background: bool = False) -> bool:
        del background
        return True

    @contextmanager
    def waiting(self) -> Iterator[None]:
        self.flowing += 1
        yield
        self.flowing -= 1

    def blocking(self) -> None:
        return None

    def run_started(self, *, run_id: str, title: str, store: Any, cancel: Any) -> Screen:
        del store
        screen = self.screens.setdefault(run_id, Screen(title))
        self.cancels[run_id] = cancel
        self.open.put_nowait(screen)
        return screen

    def screen_of(self, run_id: str) -> Screen | None:
        return self.screens.get(run_id)

    def origin(self) -> dict[str, Any]:
        return {"notebook": "n.ipynb"}


@pytest.fixture
def desktop() -> Iterator[Desktop]:
    made = Desktop()
    before = surface._factory
    surface.provide(lambda: made)
    yield made
    if before is not None:
        surface.provide(before)


class TestAtTheScreen:
    async def test_a_run_has_one_panel_with_its_cards_its_words_and_its_end(
        self, desktop: Desktop
    ) -> None:
        ran: list[str] = []
        running = asyncio.ensure_future(hitl.run(delete_agent(ran, "a.csv", "b.csv"), "go"))
        screen = await desktop.open.get()
        first, second = await screen.asked.get(), await screen.asked.get()
        assert desktop.flowing == 1
        assert screen.title == "boss"
        assert first.origin == {"notebook": "n.ipynb"}
        await hitl.decide(first, hitl.Approve())
        await hitl.decide(second, hitl.Decline())
        await running
        assert desktop.flowing == 0
        assert len(desktop.screens) == 1
        assert screen.texts == ["finished"]
        assert screen.end == "completed"

    async def test_cancel_in_the_panel_ends_the_run(self, desktop: Desktop) -> None:
        ran: list[str] = []
        running = asyncio.ensure_future(hitl.run(delete_agent(ran, "a.csv"), "go"))
        screen = await desktop.open.get()
        request = await screen.asked.get()
        desktop.cancels[request.run_id]()
        with pytest.raises(hitl.Withdrawn, match="cancelled"):
            await running
        assert states() == [("delete_file", "withdrawn")]
        assert runs() == ["cancelled"]
        assert screen.end == "cancelled"
        assert "a.csv" not in ran

    async def test_an_interrupted_run_keeps_its_cards(self, desktop: Desktop) -> None:
        """R16."""
        ran: list[str] = []
        running = asyncio.ensure_future(hitl.run(delete_agent(ran, "a.csv"), "go", key="k"))
        screen = await desktop.open.get()
        await screen.asked.get()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert (screen.pauses, screen.end) == (1, None)
        assert states() == [("delete_file", "pending")]
