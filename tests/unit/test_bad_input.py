"""Bad input gets a clear error that says what to do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import hitl_widgets as hitl

MODEL = hitl.ScriptedModel(["done"])


def tool_without_annotation() -> Any:
    @hitl.tool
    def f(x): ...  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202

    return f


def tool_with_unsupported_type() -> Any:
    @hitl.tool
    def f(x: type(sys)) -> None: ...  # type: ignore[valid-type]

    return f


def tool_with_star_args() -> Any:
    @hitl.tool
    def f(*x: str) -> None: ...

    return f


def plain(x: int) -> int:
    return x


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (tool_without_annotation, hitl.ToolDefinitionError, "x"),
        (tool_with_unsupported_type, hitl.ToolDefinitionError, "x"),
        (tool_with_star_args, hitl.ToolDefinitionError, r"take a list"),
        (lambda: hitl.tool(id="no spaces")(len), hitl.ToolDefinitionError, "letters, digits"),
        (lambda: hitl.tool(effect="bad")(len), hitl.ToolDefinitionError, "effect"),  # type: ignore[call-overload]
        (lambda: hitl.tool(require_approval="yes")(len), hitl.ToolDefinitionError, "True, False"),  # type: ignore[call-overload]
        (lambda: hitl.tool(secret="/x")(len), hitl.ToolDefinitionError, "JSON Pointers"),
        (lambda: hitl.tool(nonsense=1)(plain), TypeError, "nonsense"),  # type: ignore[call-overload]
        (lambda: hitl.Agent("has space", model=MODEL), hitl.AgentDefinitionError, "1 to 48"),
        (lambda: hitl.Agent("x" * 49, model=MODEL), hitl.AgentDefinitionError, "letters, digits"),
        (lambda: hitl.Agent("a"), hitl.AgentDefinitionError, "no model"),
        (lambda: hitl.Agent("a", model=3), hitl.AgentDefinitionError, "provider:name"),
        (lambda: hitl.Agent("a", model=MODEL, colour="red"), TypeError, "colour"),  # type: ignore[call-arg]
        (lambda: hitl.ScriptedModel("one turn"), hitl.AgentDefinitionError, "list of turns"),
        (lambda: hitl.configure(headless="yolo"), ValueError, "give one of"),
        (lambda: hitl.configure(hedless="decline"), TypeError, "does not know hedless"),
        (lambda: hitl.require_approval(3), hitl.AgentDefinitionError, "give a function"),  # type: ignore[call-overload]
    ],
)
def test_definitions(make: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        make()


async def test_an_unknown_run_option_is_named() -> None:
    agent = hitl.Agent("a", model=MODEL)
    with pytest.raises(hitl.AgentDefinitionError, match="no option colour"):
        await agent.run("hi", colour="red")


async def test_a_prompt_that_is_no_text_is_refused() -> None:
    agent = hitl.Agent("a", model=MODEL)
    with pytest.raises(hitl.AgentDefinitionError, match="give text"):
        await agent.run(["hi"])  # type: ignore[arg-type]


@pytest.mark.parametrize("given", [(), None, hitl.Approve()])
async def test_what_is_no_request_is_neither_decided_nor_settled(given: Any) -> None:
    with pytest.raises(TypeError, match=r"take one of await hitl\.pending\(\)"):
        await hitl.decide(given, hitl.Approve())
    with pytest.raises(TypeError, match=f"not a {type(given).__name__}"):
        await hitl.settle(given, "give_up")


def test_a_store_file_that_is_none_is_left_as_it_is(tmp_path: Path) -> None:
    garbage = tmp_path / "notes.txt"
    garbage.write_text("my precious notes, which are not a store at all\n" * 50)
    garbage.chmod(0o644)
    with pytest.raises(hitl.StoreCorrupt, match=r"notes\.txt"):
        hitl.Agent("a", model=MODEL, store=garbage)
    assert garbage.read_text().startswith("my precious notes")
    assert garbage.stat().st_mode & 0o777 == 0o644


def test_a_store_path_that_cannot_be_written_says_which(tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    path = locked / "x.db"
    code = (
        "import os, hitl_widgets as hitl\n"
        "made = hitl.Agent('a', model=hitl.ScriptedModel(['x']), store=':memory:')\n"
        "if os.geteuid() == 0: os.setgid(65534); os.setuid(65534)  # root may write anywhere\n"
        f"hitl.Agent('a', model=hitl.ScriptedModel(['x']), store={str(path)!r})\n"
    )
    for parent in (tmp_path, tmp_path.parent, tmp_path.parent.parent):
        parent.chmod(0o755)
    command = [sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert "hitl_widgets.errors.StoreReadOnly" in done.stderr
    assert str(path) in done.stderr


def test_every_public_name_loads_and_the_list_is_complete() -> None:
    for name in hitl.__all__:
        assert getattr(hitl, name) is not None
    assert sorted(hitl.__all__) == hitl.__all__


def test_importing_the_package_loads_nothing_heavy() -> None:
    heavy = ("ipywidgets", "anywidget", "pydantic_ai", "IPython", "pydantic", "sqlitedict")
    code = f"import sys, hitl_widgets; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_tool_without_a_preview_loads_nothing_that_makes_one() -> None:
    makers = ("describe", "previews.kinds", "previews.tables", "previews.parts", "previews.names")
    code = (
        "import sys, hitl_widgets as hitl\n"
        "@hitl.tool\nasync def look(n: int) -> int: 'Look.'\n"
        f"print([m for m in {makers!r} if 'hitl_widgets.' + m in sys.modules])\n"
        "print(hitl.previews.text('a').part['kind'], 'hitl_widgets.previews.kinds' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\ntext True\n"


def test_verbs_and_desk_work_without_pydantic_ai(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['pydantic_ai'] = None\n"
        "import hitl_widgets as hitl\n"
        "from hitl_widgets.testing import AutoApprove\n"
        "with hitl.reviewer(AutoApprove()):\n"
        f"    print(hitl.confirm_sync('Go?', store={str(tmp_path / 's.db')!r}))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "True\n", done.stderr
