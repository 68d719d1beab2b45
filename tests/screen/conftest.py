"""Widgets whose comm keeps what is sent to the page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import comm
import pytest
from ipywidgets import Widget

from hitl_widgets.screen import hub
from hitl_widgets.store.sqlite import SqliteStore

from .fakes import PageComm


@pytest.fixture(autouse=True)
def page(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[PageComm]]:
    opened: list[PageComm] = []
    monkeypatch.setattr(PageComm, "all", opened)
    monkeypatch.setattr(comm, "create_comm", PageComm)
    monkeypatch.setattr(hub, "_hub", None)
    monkeypatch.setattr(hub, "_pages", {})
    yield opened
    Widget.close_all()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    made = SqliteStore(tmp_path / "hitl.db")
    yield made
    made.close()
