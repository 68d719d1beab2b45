"""R17, F14: a secret stands where it is needed to run, and after the end nowhere at all.

The whole line with an agent: a gated call, a free call, an answer, an edit, a call that fails and
a run that is killed; everything that anybody could see is searched, and every file.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
from pathlib import Path
from typing import Any

import pydantic
import pytest

import hitl_widgets as hitl
from hitl_widgets import cli
from hitl_widgets.screen.record import record
from hitl_widgets.screen.views import request_view
from hitl_widgets.store import open_store, sinks

from .processes import ended, start

SECRETS = {n: f"hunter2-{n}" for n in ("gated", "free", "edited", "answered", "failing", "nested")}


class Login(pydantic.BaseModel):
    user: str
    pin: pydantic.SecretStr


def keeper(path: Path, saw: list[str], *, dies: bool = False) -> hitl.Agent:
    """An agent that is told secrets in every way there is."""

    @hitl.tool(require_approval=True, secret=("/password",))
    async def login(user: str, password: str) -> str:
        "Log in."
        saw.append(password)
        if dies:
            os._exit(9)
        return f"logged in {user}"

    @hitl.tool(secret=("/password",))
    async def look(password: str) -> str:
        "Look, freely."
        saw.append(password)
        return "looked"

    @hitl.tool(secret=("/password",))
    async def fail(password: str) -> str:
        "Fail."
        saw.append(password)
        raise ValueError("no such door")

    @hitl.tool(secret=("/doors/*/key",))
    async def open_all(doors: list[dict[str, str]]) -> str:
        "Open."
        saw.extend(door["key"] for door in doors)
        return "open"

    @hitl.tool(resume_schema=Login)
    async def ask(ctx: hitl.ToolContext) -> Any:
        "Ask for a login."
        if ctx.resume_data is None:
            return await ctx.suspend("who?")
        saw.append(ctx.resume_data.pin.get_secret_value())
        return "thanks"

    nested = [{"name": "front", "key": SECRETS["nested"]}]
    turns = [
        [hitl.call("look", password=SECRETS["free"]), hitl.call("open_all", doors=nested)],
        [hitl.call("fail", password=SECRETS["failing"])],
        [hitl.call("login", user="ada", password=SECRETS["gated"]), hitl.call("ask")],
        "done",
    ]
    tools = [login, look, fail, open_all, ask]
    memory = hitl.Memory()
    model = hitl.ScriptedModel(turns)
    return hitl.Agent("keeper", model=model, tools=tools, memory=memory, store=open_store(path))


def die(path: str) -> None:
    """Approve the gated call and die in its body."""

    async def line() -> None:
        agent = keeper(Path(path), [], dies=True)
        run = await agent.generate("go")
        await agent.approve_tool_call_generate(run_id=run.run_id)

    asyncio.run(line())


def in_files(folder: Path) -> list[str]:
    """Which secrets stand in any file."""
    everything = b"".join(p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file())
    return [name for name, secret in SECRETS.items() if secret.encode() in everything]


async def test_nobody_sees_one_and_no_file_keeps_one(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.DEBUG)
    path, saw, seen = tmp_path / "store.sqlite", list[str](), list[Any]()
    stop = sinks.add_sink(lambda _, event: seen.append(event))
    agent = keeper(path, saw)
    store = agent.store
    stream = await agent.stream("go", thread_id="t")
    seen += [repr(chunk) async for chunk in stream.full_stream]
    run = await stream.result()
    assert {r.tool_name for r in run.requests} == {"login", "ask"}
    assert in_files(tmp_path) == ["gated"]  # needed to run; the free ones ended
    await _look(seen, store, run, capsys)
    login, ask = sorted(run.requests, key=lambda r: r.tool_name, reverse=True)

    edit = {**login.args, "password": SECRETS["edited"]}
    run = await agent.approve_tool_call_generate(
        run_id=run.run_id, tool_call_id=login.tool_call_id, args=edit
    )
    await _look(seen, store, run, capsys)
    assert in_files(tmp_path) == []
    answer = {"user": "ada", "pin": SECRETS["answered"]}
    done = await agent.resume_generate(answer, run_id=run.run_id, tool_call_id=ask.tool_call_id)
    assert done.text == "done"
    await _look(seen, store, done, capsys)
    stop()
    assert sorted(saw) == sorted(SECRETS[n] for n in SECRETS if n != "gated")
    text = repr(seen) + caplog.text
    assert [name for name, secret in SECRETS.items() if secret in text] == []
    assert "••••" in text
    assert in_files(tmp_path) == []
    store.close()
    assert in_files(tmp_path) == []


async def _look(seen: list[Any], store: Any, run: hitl.RunResult, capsys: Any) -> None:
    """Everything that anybody can look at now."""
    requests = store.requests()
    seen += [run, run.messages, requests, store.events(), store.document("thread/-/t")]
    # A waiting call's own row has its secret: that is what will run.
    seen += [call for call in store.calls(run.run_id) if call.state != "waiting"]
    seen += [[request_view(r) for r in requests], record(requests), hitl.history(store)]
    seen.append(json.dumps(hitl.history(store), default=str))
    await asyncio.to_thread(cli.main, ["inbox", "list", "--json", "--store", store.location])
    seen.append(capsys.readouterr())


async def test_a_killed_run_keeps_one_only_until_it_is_settled(tmp_path: Path) -> None:
    """R13: what its outcome is nobody knows; that it must not run again by itself is sure."""
    path = tmp_path / "store.sqlite"
    assert ended(start(die, str(path))) == 9
    assert in_files(tmp_path) == ["gated"]
    saw: list[str] = []
    agent = keeper(path, saw)
    (unknown,) = await hitl.pending(agent.store, state="outcome_unknown")
    await hitl.settle(unknown, "happened", result="logged in")
    assert in_files(tmp_path) == []
    (ask,) = await hitl.pending(agent.store, state="pending")
    answer = {"user": "ada", "pin": SECRETS["answered"]}
    done = await agent.resume_generate(answer, run_id=ask.run_id)
    assert (done.text, saw) == ("done", [SECRETS["answered"]])
    assert in_files(tmp_path) == []
