"""One kernel for each ipykernel version, shared by all tests; clicks with and without subshells."""

from __future__ import annotations

import importlib.util
from collections.abc import AsyncIterator, Iterator, Sequence
from types import ModuleType

import pytest
import pytest_asyncio

from tests.kernel.notebook import ROOT, Notebook, Route


def _kernels() -> ModuleType:
    spec = importlib.util.spec_from_file_location("kernels", ROOT / "scripts" / "kernels.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


kernels = _kernels()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "route" in metafunc.fixturenames:
        cases = [
            pytest.param(version, route, id=f"{version}-{route}", marks=marks)
            for version, marks in versions()
            # ipykernel 6 has no subshells.
            for route in (("plain",) if version.startswith("6.") else ("plain", "subshell"))
        ]
        metafunc.parametrize(("kernel", "route"), cases, indirect=["kernel"], scope="session")
    elif "notebook" in metafunc.fixturenames:
        cases = [pytest.param(version, id=version, marks=marks) for version, marks in versions()]
        metafunc.parametrize("kernel", cases, indirect=True, scope="session")


def versions() -> Iterator[tuple[str, Sequence[pytest.MarkDecorator]]]:
    for version in kernels.VERSIONS:
        yield version, ()
    for version in kernels.OLD_VERSIONS:
        yield version, (pytest.mark.extended,)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def kernel(request: pytest.FixtureRequest) -> AsyncIterator[Notebook]:
    notebook = Notebook(kernels.folder(request.param))
    await notebook.start()
    yield notebook
    await notebook.stop()


@pytest_asyncio.fixture(loop_scope="session")
async def notebook(kernel: Notebook) -> AsyncIterator[Notebook]:
    yield kernel
    await kernel.make_idle()


@pytest_asyncio.fixture(loop_scope="session")
async def subshell(notebook: Notebook, route: Route) -> str:
    """The id that the page writes into the header of its widget messages; empty without one."""
    return await notebook.subshell() if route == "subshell" else ""
