"""What `pip install` gives: the wheel's contents, and a first card out of a clean environment."""

from __future__ import annotations

import os
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from .building import PROJECT, run

# Run outside the source tree, in the clean environment, through the public interface alone.
FIRST_CARD = """
import asyncio
import hitl_widgets as hitl

@hitl.tool(require_approval=True)
async def delete_record(id: str) -> dict:
    "Delete a record by ID."
    return {"deleted": id}

async def main():
    agent = hitl.Agent(
        "records",
        instructions="Keep the records.",
        model=hitl.ScriptedModel([[hitl.call("delete_record", id="abc-123")], "Done."]),
        tools=[delete_record],
    )
    out = await agent.generate("Delete record abc-123")
    (request,) = await hitl.pending()
    card = hitl.ApprovalCard(request)
    print(hitl.__file__)
    print(out.finish_reason, card.state, request.args["id"], len(card._hub._esm) > 20_000)

asyncio.run(main())
"""


@pytest.fixture(scope="session")
def contents(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def programs(environment: Path) -> Path:
    """Return the folder of an environment's programs."""
    return environment / ("Scripts" if os.name == "nt" else "bin")


def check_first_card(environment: Path, cwd: Path) -> None:
    """Assert that the package installed in `environment` pauses a run and makes its card."""
    store = str(cwd / "requests.db")
    shown = run(programs(environment) / "python", "-c", FIRST_CARD, cwd=cwd, HITL_STORE=store)
    origin, outcome = shown.splitlines()
    assert Path(origin).is_relative_to(environment), "the source tree was imported instead"
    assert outcome == "suspended pending abc-123 True"
    listed = run(programs(environment) / "hitl-widgets", "inbox", "list", cwd=cwd, HITL_STORE=store)
    assert "delete_record" in listed


def test_the_wheel_holds_every_file_of_the_package_and_nothing_else(contents: set[str]) -> None:
    kept = run("git", "ls-files", "hitl_widgets", cwd=PROJECT).splitlines()
    packed = {name for name in contents if ".dist-info/" not in name}
    assert set(kept) - packed == set(), "committed, but not in the wheel"
    assert all(name.startswith("hitl_widgets/") for name in packed)
    assert not any("__pycache__" in name for name in packed)


def test_the_wheel_holds_the_bundle_the_type_marker_and_the_licence(contents: set[str]) -> None:
    wanted = {"hitl_widgets/screen/static/hub.js", "hitl_widgets/py.typed"}
    assert wanted <= contents
    assert "hitl_widgets/lessons/01_first_approval.ipynb" in contents, "for hitl-widgets demo"
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in contents)


def test_a_first_card_in_a_clean_environment(wheel: Path, tmp_path: Path) -> None:
    """The wheel is installed alone; its dependencies are lent by the environment of this test run.

    A `.pth` line lends the folder without reading the `.pth` files in it, so the editable install
    of the source tree stays out. The extended test below fetches the dependencies instead.
    """
    environment = tmp_path / "environment"
    venv.create(environment, with_pip=False)
    paths = sysconfig.get_paths(
        "venv", vars={"base": str(environment), "platbase": str(environment)}
    )
    pip = [sys.executable, "-m", "pip", "--python", programs(environment) / "python"]
    run(*pip, "install", "--quiet", "--no-deps", "--no-index", wheel, cwd=tmp_path)
    lend = Path(paths["purelib"]) / "lent.pth"
    lend.write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    check_first_card(environment, tmp_path)


@pytest.mark.extended
def test_a_first_card_after_pip_install(wheel: Path, tmp_path: Path) -> None:
    """`pip install` with the declared dependencies and no others."""
    environment = tmp_path / "environment"
    venv.create(environment, with_pip=True)
    python = programs(environment) / "python"
    run(python, "-m", "pip", "install", "--quiet", wheel, cwd=tmp_path)
    check_first_card(environment, tmp_path)
