"""Runs and their frames: what happens to their rows inside a transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast, get_args

from hitl_widgets.errors import LeaseLost, SnapshotNotFound, StoreError
from hitl_widgets.request import Request, Run, RunState

from . import arrows, audit, calls
from .base import NewCall
from .connection import Tx
from .listing import Filters, select
from .rows import RUN_COLUMNS, dumps, run_values, to_run

UNFINISHED: tuple[RunState, ...] = ("running", "suspended", "budget-paused")

STATES: tuple[RunState, ...] = get_args(RunState)


def get(tx: Tx, run_id: str) -> Run:
    """Read a run; `SnapshotNotFound` when there is none."""
    rows = tx.rows("SELECT * FROM runs WHERE id = ?", (run_id,))
    if not rows:
        raise SnapshotNotFound(
            f"There is no run {run_id} in {tx.database.path}. hitl.pending() lists what waits "
            "there, with its run_id; agent.list_suspended_runs() the runs of one agent."
        )
    return to_run(rows[0])


def held(tx: Tx, run_id: str, token: str) -> Run:
    """The run, when `token` drives it; else `LeaseLost`."""
    run = get(tx, run_id)
    if run.state not in UNFINISHED:
        raise LeaseLost(f"The run {run_id} has ended ({run.state}): nothing was changed.")
    if run.token != token:
        who = f"process {run.owner} drives it" if run.owner else "nobody drives it"
        raise LeaseLost(
            f"The run {run_id} is no longer driven from here: {who}. Nothing was changed; "
            "attach to it to see how it goes on."
        )
    return run


def find(tx: Tx, states: Sequence[RunState] | None, filters: Filters, limit: int) -> list[Run]:
    """Runs that match, oldest first."""
    rows = select(tx, "runs", states or STATES, filters, limit=limit)
    return [to_run(row) for row in rows]


def open_run(
    tx: Tx,
    owner: str,
    run: Run,
    frames: Mapping[str, Any] | None,
    new_calls: Sequence[NewCall],
) -> Run:
    """Insert a run, unless its key already names one that somebody still waits for (R22)."""
    earlier = None if run.key is None else _named(tx, run.agent_id, run.key)
    if earlier is not None:
        return earlier
    values = {**run_values(run), "owner": owner}
    names = ", ".join(RUN_COLUMNS)
    marks = ", ".join("?" * len(RUN_COLUMNS))
    tx.rows(
        f"INSERT INTO runs({names}) VALUES({marks})",
        tuple(values[name] for name in RUN_COLUMNS),
    )
    doc = {"agent_id": run.agent_id, "run_kind": run.kind, "key": run.key, "origin": run.origin}
    _event(tx, "run-started", run.id, **doc, owner=owner)
    _keep(tx, run.id, frames or {})
    for new in new_calls:
        calls.insert(tx, owner, new)
    return get(tx, run.id)


def _named(tx: Tx, agent_id: str, key: str) -> Run | None:
    rows = tx.rows(
        "SELECT * FROM runs WHERE agent_id = ? AND key = ? ORDER BY seq DESC LIMIT 1",
        (agent_id, key),
    )
    if not rows:
        return None
    run = to_run(rows[0])
    received = run.kind != "verb" or rows[0]["delivered"] or run.state == "cancelled"
    return run if run.state in UNFINISHED or not received else None


def adopt(
    tx: Tx, owner: str, run_id: str, token: str, liveness: Callable[[str], str], *, force: bool
) -> Run:
    """Take the lease of a run that nobody living drives."""
    run = get(tx, run_id)
    if run.state not in UNFINISHED:
        raise SnapshotNotFound(
            f"The run {run_id} has ended ({run.state}); there is nothing to resume."
        )
    if run.owner is not None:
        _refuse_living(run, liveness(run.owner), force=force)
        _orphan_calls(tx, run)
    _lease(tx, owner, run, token)
    return get(tx, run_id)


def take_free(tx: Tx, owner: str, run_id: str, token: str) -> None:
    """Take the lease of a run, if nobody has it; one that ended, or is driven, stays as it is."""
    rows = tx.rows("SELECT * FROM runs WHERE id = ?", (run_id,))
    run = to_run(rows[0]) if rows else None
    if run is not None and run.state in UNFINISHED and run.owner is None:
        _lease(tx, owner, run, token)


def _lease(tx: Tx, owner: str, run: Run, token: str) -> None:
    tx.rows(
        "UPDATE runs SET owner = ?, token = ?, updated_at = ? WHERE id = ?",
        (owner, token, tx.now, run.id),
    )
    _event(tx, "run-adopted", run.id, owner=owner, before=run.owner)


def moving(tx: Tx, run: Run) -> None:
    """A driver acts on a decision: its run waits no more."""
    if run.state == "suspended":
        tx.rows("UPDATE runs SET state = 'running' WHERE id = ?", (run.id,))


def _refuse_living(run: Run, state: str, *, force: bool) -> None:
    if state == "alive":
        raise LeaseLost(
            f"The run {run.id} is driven by a living process ({run.owner}). Decide there, or "
            "attach to the run."
        )
    if state == "unknown" and not force:
        raise LeaseLost(
            f"The run {run.id} is driven by {run.owner}, and it cannot be told from here whether "
            "that process lives. If it is gone, say so: store.declare_dead(owner)."
        )


def _orphan_calls(tx: Tx, run: Run) -> None:
    """Calls of the dead driver; those that another process claimed are its own affair."""
    rows = tx.rows(
        "SELECT * FROM calls WHERE run_id = ? AND state = 'executing' AND owner = ?",
        (run.id, run.owner),
    )
    for row in rows:
        calls.orphan(tx, row, "its process died")


def release(tx: Tx, run_id: str, token: str, state: RunState) -> None:
    """Give the lease back, if it is still held."""
    if state not in UNFINISHED:
        raise StoreError(f"A run is released unfinished, not {state}: use end_run.")
    changed = tx.change(
        "UPDATE runs SET owner = NULL, token = NULL, state = ?, updated_at = ? "
        "WHERE id = ? AND token = ? AND outcome IS NULL",
        (state, tx.now, run_id, token),
    )
    if changed:
        _event(tx, "run-released", run_id, state=state)


def save(
    tx: Tx,
    owner: str,
    run_id: str,
    token: str,
    *,
    state: RunState | None,
    frames: Mapping[str, Any],
    drop_frames: Iterable[str],
    new_calls: Sequence[NewCall],
) -> None:
    """Keep a run's frames and new calls."""
    run = held(tx, run_id, token)
    tx.rows(
        "UPDATE runs SET state = ?, updated_at = ? WHERE id = ?",
        (state or run.state, tx.now, run_id),
    )
    dropped = list(drop_frames)
    _keep(tx, run_id, frames)
    _drop(tx, dropped)
    _event(tx, "run-saved", run_id, state=state or run.state, frames=list(frames))
    for new in new_calls:
        calls.insert(tx, owner, new)


def saved(tx: Tx, run_id: str, frames: Sequence[str]) -> None:
    """Tell of a `save` that was made, without its calls and frames, at the time of `tx`."""
    run = get(tx, run_id)
    tx.rows("UPDATE runs SET updated_at = ? WHERE id = ?", (tx.now, run_id))
    _event(tx, "run-saved", run_id, state=run.state, frames=list(frames))


def keep_text(tx: Tx, run_id: str, key: str, text: str) -> None:
    """Keep a frame that is JSON text already."""
    tx.snapshots.put(key, text)
    _note(tx, run_id, key)


def keep_frames(tx: Tx, run_id: str, frames: Mapping[str, Any]) -> None:
    """Keep frames of a run, whoever drives it."""
    _keep(tx, run_id, frames)


def _keep(tx: Tx, run_id: str, frames: Mapping[str, Any]) -> None:
    for key, value in frames.items():
        tx.snapshots[key] = value
        _note(tx, run_id, key)


def _note(tx: Tx, run_id: str, key: str) -> None:
    """Keep whose frame it is; that never changes, so that nothing is written again."""
    tx.rows("INSERT OR IGNORE INTO frames(key, run_id) VALUES(?, ?)", (key, run_id))


def _drop(tx: Tx, keys: Iterable[str]) -> None:
    for key in keys:
        tx.rows("DELETE FROM snapshots WHERE key = ?", (key,))
        tx.rows("DELETE FROM frames WHERE key = ?", (key,))


def frame(tx: Tx, key: str) -> Any:
    """A snapshot."""
    try:
        value = cast("Any", tx.snapshots)[key]
    except KeyError:
        raise SnapshotNotFound(
            f"There is no snapshot {key} in {tx.database.path}: its run has ended, or was never "
            "saved."
        ) from None
    return value


def end_run(tx: Tx, run_id: str, token: str, state: RunState, outcome: Mapping[str, Any]) -> None:
    """End a run that `token` drives."""
    if state in UNFINISHED:
        raise StoreError(f"A run ends completed, failed, cancelled or declined, not {state}.")
    held(tx, run_id, token)
    end(tx, run_id, state, outcome)


def end(tx: Tx, run_id: str, state: RunState, outcome: Mapping[str, Any]) -> None:
    """Write a run's end: nothing of it waits any more, snapshots and secrets are gone (R17)."""
    tx.rows(
        "UPDATE runs SET state = ?, outcome = ?, owner = NULL, token = NULL, updated_at = ? "
        "WHERE id = ?",
        (state, dumps(dict(outcome)), tx.now, run_id),
    )
    rows = tx.rows("SELECT * FROM calls WHERE run_id = ? ORDER BY seq", (run_id,))
    for row in rows:
        if row["state"] in ("waiting", "parked"):
            error = {"type": "error", "value": "The run ended before this call did."}
            calls.end(tx, row, "failed", error)
        elif row["state"] != "executing":  # its secrets go when it ends
            calls.erase(tx, row)
    for request in requests_waiting(tx, run_id):
        arrows.shift(tx, request, "withdraw", "withdrawn", detail={"why": "its run ended"})
    _drop(tx, [r["key"] for r in tx.rows("SELECT key FROM frames WHERE run_id = ?", (run_id,))])
    _event(tx, "run-ended", run_id, state=state, finish_reason=outcome.get("finish_reason"))


def requests_waiting(tx: Tx, run_id: str) -> list[Request]:
    """Requests of a run that wait for somebody."""
    marks = ", ".join("?" * len(arrows.OPEN))
    rows = tx.rows(
        f"SELECT id FROM requests WHERE run_id = ? AND +state IN ({marks}) ORDER BY seq",
        (run_id, *arrows.OPEN),
    )
    return [arrows.get(tx, row["id"]) for row in rows]


def deliver(tx: Tx, run_id: str) -> bool:
    """Hand an ended run's outcome to one caller."""
    changed = tx.change(
        "UPDATE runs SET delivered = 1 WHERE id = ? AND delivered = 0 AND outcome IS NOT NULL",
        (run_id,),
    )
    return changed == 1


def _event(tx: Tx, kind: str, run_id: str, **doc: Any) -> None:
    audit.append(tx, kind, run_id=run_id, doc={k: v for k, v in doc.items() if v is not None})
