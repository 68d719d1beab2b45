"""A run's beginning: checked, stored, and given a driver."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from .. import deciders, surface
from ..errors import AgentDefinitionError
from ..fingerprint import digest
from ..policy import Policy, administrator
from ..request import Run, new_id, utc
from . import conversation, models
from .drive import Driver, Local
from .finding import OPEN
from .options import RunOptions
from .output import Output
from .results import RunStream
from .snapshot import Frame

if TYPE_CHECKING:
    from .agent import Agent


async def begin(
    agent: Agent, run_id: str, prompt: str, key: str | None, options: RunOptions
) -> Driver | RunStream | str:
    """A driver for a new run, or what stands in its place.

    That is the id of the unfinished run of the same key; or, when the message filled in what
    waited on its thread, a stream of that.
    """
    if not isinstance(prompt, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise AgentDefinitionError(f"The prompt is a {type(prompt).__name__}: give text.")
    administrator()
    agent.loop = asyncio.get_running_loop()
    await agent.prepare()
    if options.output_type is not None:
        Output.check(agent.entries)
    run = _new_run(agent, run_id, prompt, key, options)
    if key is not None:
        earlier = await _named(agent, run)
        if earlier is not None:
            return earlier
    filled = await conversation.receive(agent, prompt, options)
    if filled is not None:
        return filled
    root = await _root(agent, run_id, prompt, options)
    try:
        stored = await agent.desk.write(agent.store.open_run, run, durable=key is not None)
    except asyncio.CancelledError:  # it may be in the store, and nobody will drive it
        agent.desk.write_now(agent.store.release, run.id, run.token or "", "suspended")
        raise
    if stored.id != run.id:
        _check_key(stored, run)
        return stored.id
    local = Local(
        workspace=options.workspace,
        predicate=options.predicate,
        output=Output.of(options.output_type),
        reviewer=deciders.in_force(),
    )
    agent.locals[run_id] = local
    driver = Driver(agent, agent.desk, stored, root, local, saved=False)
    driver.say("start")
    return driver


async def _named(agent: Agent, run: Run) -> str | None:
    """The unfinished run of the same key; the dead are told first (R22)."""
    await agent.desk.write(agent.store.sweep)
    mine = await agent.desk.read(agent.store.runs, states=OPEN, agent_id=agent.id, limit=1_000_000)
    for stored in mine:
        if stored.key == run.key:
            _check_key(stored, run)
            return stored.id
    return None


async def _root(agent: Agent, run_id: str, prompt: str, options: RunOptions) -> Frame:
    history = list(options.message_history or ())
    if not history and agent.memory is not None and options.thread_id is not None:
        history = await agent.memory.messages(agent.desk, options.thread_id, options.resource_id)
    kept = options.to_json()
    kept["own_rule"] = options.predicate is agent.defaults.predicate
    return Frame(
        key=run_id,
        agent_id=agent.id,
        agent_path=(agent.id,),
        messages=[*history, models.user_message(prompt, agent.instructions)],
        policy=_policy(agent, options),
        options=kept,
        begins=len(history),
    )


def _policy(agent: Agent, options: RunOptions) -> Policy:
    return Policy(options.run_rule, {n: e.rule for n, e in agent.entries.items()})


def _new_run(agent: Agent, run_id: str, prompt: str, key: str | None, options: RunOptions) -> Run:
    shown = surface.current()
    origin = shown.origin() if shown is not None else {}
    now = utc(time.time())
    about = [prompt, _policy(agent, options).version]
    return Run(
        id=run_id,
        kind="agent",
        agent_id=agent.id,
        state="running",
        created_at=now,
        updated_at=now,
        key=key,
        key_digest=None if key is None else digest(about),
        thread_id=options.thread_id,
        resource_id=options.resource_id,
        notebook=origin.get("notebook"),
        owner=agent.store.owner,
        token=new_id("l"),
        origin={**origin, "prompt": prompt[:200]},
    )


def _check_key(stored: Run, new: Run) -> None:
    if stored.key_digest != new.key_digest:
        raise AgentDefinitionError(
            f"key={new.key!r} already names the unfinished run {stored.id} "
            f"({stored.origin.get('prompt')!r}), and this call differs "
            f"({new.origin.get('prompt')!r}, or its tools). Decide that run, or use another "
            "key."
        )
