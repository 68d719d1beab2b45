"""Every error that a user can see.

::

    HitlError
    ├── RequestNotFound          no such request, or not in this run
    │   └── AmbiguousRequest     several match; `.candidates`
    ├── AlreadyDecided           somebody was first; `.by`, `.at`, `.state`
    ├── NotAsked                 this decision answers nothing that was asked
    ├── NotPermitted             this reviewer, or this edit, is not allowed
    ├── StaleFingerprint         the call is not the one that was shown; `.diff`
    ├── ToolChanged              the tool's schema changed since the approval
    ├── InvalidAnswer            the data does not fit its schema; `.errors`
    ├── Declined                 a human said no; `.reason`, `.receipt`
    ├── Expired                  the time to decide is over
    ├── Withdrawn                the request was taken back
    ├── RunSuspended             the run waits for a human; `.requests`
    ├── NoReviewer               nobody here can be asked
    ├── SnapshotNotFound         nothing to resume under this run id
    ├── SnapshotVersion          the snapshot was written by a newer version
    ├── UnknownAgent             no agent with this id is defined here
    ├── UnknownTool              the agent has no such tool any more
    ├── ReplayMismatch           a replayed body asked in another order
    ├── OutcomeUnknown           a call started, and nobody knows how it ended
    ├── ToolDefinitionError      a tool cannot be made from this function
    ├── AgentDefinitionError     an agent or a run cannot be made from these arguments
    ├── NotDescribable           an argument has no exact, comparable form
    ├── ModelFailed              the model's reply was broken off or malformed
    ├── LeaseLost                another process drives this run, or settled this call
    └── StoreError
        ├── StoreFull            no space left
        ├── StoreCorrupt         not a store file, or damaged
        ├── StoreBusy            another process holds the file too long
        ├── StoreReadOnly        the file or its folder cannot be written
        └── StoreTooNew          the file was written by a newer version

Each message says what happened, to which thing, and what to do next.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any


class HitlError(Exception):
    """Base of all errors of this package."""


class RequestNotFound(HitlError):
    """No such request."""


class AmbiguousRequest(RequestNotFound):
    """Several requests match.

    Parameters
    ----------
    message
        What was asked for.
    candidates
        The requests that match; name one by its ``tool_call_id`` or ``run_id``.
    """

    def __init__(self, message: str, candidates: Sequence[Any] = ()) -> None:
        super().__init__(message)
        self.candidates = list(candidates)


class AlreadyDecided(HitlError):
    """Somebody was first.

    Parameters
    ----------
    message
        Who, what, when, in words.
    by, at, state
        The reviewer, the time (UTC) and the state that stands.
    """

    def __init__(
        self,
        message: str,
        *,
        by: str | None = None,
        at: datetime | None = None,
        state: str | None = None,
    ) -> None:
        super().__init__(message)
        self.by = by
        self.at = at
        self.state = state


class NotAsked(HitlError):
    """The decision answers nothing that was asked."""


class NotPermitted(HitlError):
    """The reviewer or the edit is not allowed."""


class StaleFingerprint(HitlError):
    """The call is not the one that was shown.

    Parameters
    ----------
    message
        What differs, in words.
    diff
        ``{"added": [...], "removed": [...], "changed": [...]}``: JSON Pointers.
    """

    def __init__(self, message: str, diff: Mapping[str, list[str]] | None = None) -> None:
        super().__init__(message)
        self.diff = dict(diff or {})


class ToolChanged(HitlError):
    """The tool's input schema is not the one that was approved."""


class InvalidAnswer(HitlError):
    """The data does not fit its schema; nothing was decided.

    Parameters
    ----------
    errors
        One ``{"path": [...], "message": str, "type": str}`` per fault; `path` holds keys and
        indices into the data.
    message
        Leading words; the faults are appended.
    """

    def __init__(
        self, errors: Sequence[Mapping[str, Any]], message: str = "The answer is not valid"
    ) -> None:
        self.errors = [dict(e) for e in errors]
        lines = [f"  {_dotted(e.get('path', ()))}: {e.get('message', '')}" for e in self.errors]
        super().__init__("\n".join([message + ":", *lines]) if lines else message)


def _dotted(path: Sequence[Any]) -> str:
    return ".".join(str(p) for p in path) or "(whole answer)"


class Declined(HitlError):
    """A human said no.

    Parameters
    ----------
    reason
        What the reviewer typed, or None.
    receipt
        The `Receipt` of the decision.
    """

    def __init__(self, reason: str | None = None, receipt: Any = None) -> None:
        super().__init__(f"Declined by a human: {reason}" if reason else "Declined by a human.")
        self.reason = reason
        self.receipt = receipt


class Expired(HitlError):
    """The time to decide is over; nothing ran."""


class Withdrawn(HitlError):
    """The request was taken back before it took effect; nothing ran."""


class RunSuspended(HitlError):
    """The run waits for a human.

    Parameters
    ----------
    message
        Names the command that decides.
    requests
        The pending requests.
    """

    def __init__(self, message: str, requests: Sequence[Any] = ()) -> None:
        super().__init__(message)
        self.requests = list(requests)


class NoReviewer(HitlError):
    """Nobody here can be asked, and the question cannot wait."""


class SnapshotNotFound(HitlError):
    """Nothing to resume under this run id."""


class SnapshotVersion(HitlError):
    """The snapshot was written by a newer version; it is kept."""


class UnknownAgent(HitlError):
    """No agent with this id is defined in this process; the snapshot is kept."""


class UnknownTool(HitlError):
    """The agent has no tool of this name any more; the snapshot is kept."""


class ReplayMismatch(HitlError):
    """A replayed tool body asked its questions in another order than before the restart."""


class OutcomeUnknown(HitlError):
    """A call started and nobody knows how it ended; a human has to settle it."""


class ToolDefinitionError(HitlError):
    """A tool cannot be made from this function."""


class AgentDefinitionError(HitlError):
    """An agent or a run cannot be made from these arguments."""


class NotDescribable(HitlError):
    """An argument has no exact form that could be shown, compared and approved."""


class ModelFailed(HitlError):
    """The model's reply was broken off or malformed."""


class LeaseLost(HitlError):
    """Another process drives this run now, or a human settled this call meanwhile."""


class StoreError(HitlError):
    """The store could not do what was asked; nothing was changed."""


class StoreFull(StoreError):
    """No space left on the store's disk."""


class StoreCorrupt(StoreError):
    """Not a store file, or damaged."""


class StoreBusy(StoreError):
    """Another process held the file longer than the limit."""


class StoreReadOnly(StoreError):
    """The file or its folder cannot be written."""


class StoreTooNew(StoreError):
    """The file was written by a newer version of this package; it is left as it is."""
