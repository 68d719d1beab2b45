"""Decisions in a small file, keyed by fingerprint: ``record`` writes it, ``replay`` answers by it.

Only exact matches are answered; everything else is asked as if there were no file. Calls with
secrets are bound to their store and are never replayed, nor is an answer that held a secret.
"""

from __future__ import annotations

import errno
import json
import os
from collections import deque
from pathlib import Path
from typing import Any, get_args

from . import deciders, surface
from .desk import desk_of
from .errors import InvalidAnswer, RunSuspended
from .request import (
    MASK,
    Answer,
    Approve,
    Decision,
    Decline,
    Request,
    Respond,
    Reviewer,
    State,
    Verdict,
)

FORMAT = "hitl-decisions/1"
_DECIDED: tuple[State, ...] = tuple(
    s for s in get_args(State) if s not in ("pending", "expired", "withdrawn")
)


def record(path: str | os.PathLike[str], *, store: Any = None) -> int:
    """Write every decision that people made in a store to a file, and keep it up to date.

    Decisions made later in this process are added as they are made; those by rule or replay are
    left out.

    Parameters
    ----------
    path
        A JSON file; replaced.
    store
        A path or store; None is the configured default.

    Returns
    -------
    int
        How many decisions the file holds now.

    Raises
    ------
    FileNotFoundError
        There is no such folder.
    """
    file = Path(path)
    if not file.parent.is_dir():
        raise FileNotFoundError(
            errno.ENOENT, f"There is no folder for {file.name}: make it first", str(file.parent)
        )
    desk = desk_of(deciders.store_of(store))

    def write() -> int:
        rows = [r for r in desk.store.requests(states=_DECIDED, limit=100_000) if _replayable(r)]
        decided = sorted(rows, key=lambda r: r.decided_at or r.created_at)
        content = {"format": FORMAT, "decisions": [_entry(r) for r in decided]}
        partial = file.with_name(f".{file.name}.{os.getpid()}")
        partial.write_text(json.dumps(content, indent=1, ensure_ascii=True) + "\n", "utf-8")
        partial.replace(file)
        return len(decided)

    count = write()

    def again(_changed: Request) -> None:
        write()

    desk.subscribe(again)
    return count


def _replayable(request: Request) -> bool:
    return (
        request.decision is not None
        and not request.secrets
        and request.via not in ("rule", "replay")
        and MASK not in json.dumps(request.decision, ensure_ascii=False)
    )


def _entry(request: Request) -> dict[str, Any]:
    decision = request.decision or {}
    kept = ("verdict", "args", "note", "reason", "stop", "data", "result")
    return {
        "fingerprint": request.fingerprint,
        "tool": request.tool_name,
        "decision": {k: decision[k] for k in kept if k in decision},
        "reviewer": request.reviewer,
    }


def replay(path: str | os.PathLike[str]) -> int:
    """Answer by a recorded file from now on, where a request's fingerprint is exactly the same.

    The same call recorded several times is answered in that order, then by the last one. What is
    not in the file is asked as usual: on a card, by the reviewer in force, or not at all (R5).

    Returns
    -------
    int
        How many decisions the file holds.

    Raises
    ------
    InvalidAnswer
        Not a file that `record` wrote.
    """
    file = Path(path)
    try:
        content = json.loads(file.read_text("utf-8"))
        found = [(e["fingerprint"], _decision(e["decision"])) for e in content["decisions"]]
        known = content["format"] == FORMAT
    except (ValueError, KeyError, TypeError) as e:
        raise InvalidAnswer([], f"{file} is not a file of decisions ({e!r})") from e
    if not known:
        raise InvalidAnswer([], f"{file} has format {content['format']!r}, not {FORMAT!r}")
    deciders.configure(reviewer=Replay(file.name, found, deciders.settings().reviewer))
    return len(found)


def _decision(entry: dict[str, Any]) -> Decision:
    verdict: Verdict = entry["verdict"]
    match verdict:
        case "approve":
            return Approve(entry.get("args"), entry.get("note"))
        case "decline":
            return Decline(entry.get("reason"), stop=bool(entry.get("stop")))
        case "answer":
            return Answer(entry["data"])
        case "respond":
            return Respond(entry["result"])
    raise ValueError(f"unknown verdict {verdict!r}")


class Replay:
    """The reviewer that `replay` puts in force."""

    def __init__(
        self, name: str, found: list[tuple[str, Decision]], otherwise: deciders.Decide | None
    ) -> None:
        self._name = name
        self._otherwise = otherwise
        self._recorded: dict[str, deque[Decision]] = {}
        for fingerprint, decision in found:
            self._recorded.setdefault(fingerprint, deque()).append(decision)

    def identity(self, request: Request) -> tuple[Reviewer, str]:
        """As whom this request is decided."""
        if self._otherwise is not None and not self._matches(request):
            return deciders.identity(self._otherwise, request)
        return Reviewer(f"rule:replay of {self._name}", "rule"), "replay"

    def _matches(self, request: Request) -> bool:
        return request.fingerprint in self._recorded and not request.secrets

    async def __call__(self, request: Request) -> Decision | None:
        """The recorded decision, else what would have happened without the file."""
        if self._matches(request):
            left = self._recorded[request.fingerprint]
            return left.popleft() if len(left) > 1 else left[0]
        if self._otherwise is not None:
            return await deciders.consult(self._otherwise, request)
        shown = surface.current()
        if shown is not None and shown.can_ask(background=True):
            return None
        location = request.store.location if request.store is not None else "PATH"
        raise RunSuspended(
            f"{request.tool_name} ({request.id}) is not in {self._name}, and nobody can be asked "
            f"here.\n{deciders.how_to_decide([request], location)}",
            [request],
        )
