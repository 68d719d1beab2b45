"""One wheel for all packaging tests."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from .building import PROJECT, run


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel as `pip install .` does, with the hatchling that is installed here."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    run(*build, "--wheel-dir", folder, PROJECT, cwd=folder)
    (built,) = folder.glob("*.whl")
    return built
