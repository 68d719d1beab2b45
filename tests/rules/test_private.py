"""R17, R18, F14: small, private, and on the record."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pydantic
import pytest

import hitl_widgets as hitl

from .making import agent_on, chunks_of, last_told, store_at

SECRET = "hunter2-and-more"


def login(saw: list[Any]) -> hitl.Tool:
    @hitl.tool(require_approval=True, secret=("/password",))
    async def login(user: str, password: str) -> str:
        "Log in."
        saw.append(password)
        return "in"

    return login


GO = [[hitl.call("login", user="ada", password=SECRET)], lambda m: str(last_told(m))]


async def test_a_secret_runs_and_is_seen_nowhere(tmp_path: Path) -> None:
    """R17: not in chunks, requests, messages, memory, events; erased from the file at the end."""
    saw: list[Any] = []
    store = store_at(tmp_path)
    agent = agent_on(store, GO, [login(saw)], memory=hitl.Memory())
    stream = await agent.stream("go", thread_id="t")
    heard = await chunks_of(stream)
    run = await stream.result()
    done_stream = await agent.approve_tool_call(run_id=run.run_id)
    heard += await chunks_of(done_stream)
    done = await done_stream.result()
    assert saw == [SECRET]
    shown = repr([heard, run, done, done.messages, store.requests(), store.events()])
    shown += repr([store.calls(run.run_id), store.document("thread/-/t")])
    shown += json.dumps(hitl.history(store), default=str)
    assert SECRET not in shown
    assert "••••" in shown
    store.close()
    for path in tmp_path.rglob("*"):
        if path.is_file():
            assert SECRET.encode() not in path.read_bytes(), path


@pytest.mark.parametrize("gated", [True, False])
async def test_an_error_that_quotes_a_secret_tells_it_to_nobody(
    tmp_path: Path, *, gated: bool
) -> None:
    """R17: chunks, records and the model are told the rest of its words."""

    @hitl.tool(require_approval=gated, secret=("/password",))
    async def login(user: str, password: str) -> str:
        "Log in."
        raise ValueError(f"{user} may not log in with {password!r}")

    store = store_at(tmp_path)
    agent = agent_on(store, GO, [login], memory=hitl.Memory())
    stream = await agent.stream("go", thread_id="t")
    heard = await chunks_of(stream)
    if gated:
        stream = await agent.approve_tool_call(run_id=(await stream.result()).run_id)
        heard += await chunks_of(stream)
    done = await stream.result()
    shown = repr([heard, done, done.messages, store.events(), store.document("thread/-/t")])
    shown += repr(store.calls(done.run_id))
    assert SECRET not in shown
    assert "ada may not log in with '••••'" in done.text
    store.close()
    for path in tmp_path.rglob("*"):
        if path.is_file():
            assert SECRET.encode() not in path.read_bytes(), path


async def test_a_secret_left_as_it_is_in_an_edit_keeps_its_value(tmp_path: Path) -> None:
    saw: list[Any] = []
    agent = agent_on(store_at(tmp_path), GO, [login(saw)])
    run = await agent.generate("go")
    edited = {**run.requests[0].args, "user": "bob"}
    assert edited["password"] == "••••"
    done = await agent.approve_tool_call_generate(run_id=run.run_id, args=edited)
    assert saw == [SECRET]
    assert SECRET not in repr(done.messages)
    assert "bob" in repr(done.messages)


async def test_a_secret_answer_reaches_the_tool_only(tmp_path: Path) -> None:
    class Key(pydantic.BaseModel):
        key: pydantic.SecretStr

    saw: list[Any] = []

    @hitl.tool(resume_schema=Key)
    async def ask(ctx: hitl.ToolContext) -> Any:
        "Ask."
        if ctx.resume_data is None:
            return await ctx.suspend("key?")
        saw.append(ctx.resume_data.key.get_secret_value())
        return "ok"

    store = store_at(tmp_path)
    agent = agent_on(store, [[hitl.call("ask")], "end"], [ask])
    run = await agent.generate("go")
    await agent.resume_generate({"key": SECRET}, run_id=run.run_id)
    assert saw == [SECRET]
    assert SECRET not in repr([store.requests(), store.events()])
    store.close()
    assert not any(SECRET.encode() in p.read_bytes() for p in tmp_path.rglob("*") if p.is_file())


async def test_fingerprints_of_secrets_differ_from_store_to_store(tmp_path: Path) -> None:
    found = set()
    for name in "ab":
        (tmp_path / name).mkdir()
        agent = agent_on(store_at(tmp_path / name), GO, [login([])])
        found.add((await agent.generate("go")).requests[0].fingerprint)
    assert len(found) == 2


async def test_a_snapshot_holds_one_copy_of_the_history(tmp_path: Path) -> None:
    """F14: flat over many pauses."""

    @hitl.tool(require_approval=True)
    async def step(n: int) -> str:
        "Step."
        return "x" * 100

    turns = [[hitl.call("step", n=i)] for i in range(12)]
    agent = agent_on(store_at(tmp_path), [*turns, "end"], [step])
    run = await agent.generate("go")
    sizes = []
    for _ in range(11):
        run = await agent.approve_tool_call_generate(run_id=run.run_id)
        sizes.append(len(json.dumps(agent.store.frame(run.run_id))))
    growth = [b - a for a, b in itertools.pairwise(sizes)]
    assert max(growth) - min(growth) < 60, "each pause adds its own messages and no more"


async def test_the_trail_says_who_what_when_and_why(tmp_path: Path) -> None:
    """R18."""

    @hitl.tool(require_approval=True)
    async def act(n: int) -> int:
        "Act."
        return n

    agent = agent_on(store_at(tmp_path), [[hitl.call("act", n=1)], "end"], [act])
    run = await agent.generate("go")
    await agent.approve_tool_call_generate(
        run_id=run.run_id, args={"n": 2}, reviewer="ada", fingerprint=run.requests[0].fingerprint
    )
    (told,) = [e for e in agent.store.events() if e.kind == "approved"]
    assert told.doc["reviewer"] == "ada"
    assert told.doc["identity_source"] == "claimed"
    assert told.doc["via"] == "api", "a decision through the API is never shown as a click"
    assert told.doc["shown"] == run.requests[0].fingerprint
    assert told.doc["args"] == {"n": 1}
    assert told.doc["decision"]["args"] == {"n": 2}
    assert told.doc["evaluation"] == {"type": "tool"}
    assert told.doc["seconds"] >= 0
    assert told.at.tzinfo is not None
    assert agent.store.check() == []


async def test_a_scripted_reviewer_is_recorded_as_a_rule(tmp_path: Path) -> None:
    """R18."""

    @hitl.tool(require_approval=True)
    async def act() -> None:
        "Act."

    def house_rule(_: hitl.Request) -> hitl.Approve:
        return hitl.Approve()

    agent = agent_on(store_at(tmp_path), [[hitl.call("act")], "end"], [act])
    with hitl.reviewer(house_rule):
        await agent.run("go")
    (request,) = agent.store.requests()
    assert "house_rule" in request.reviewer
    assert (request.identity_source, request.via) == ("rule", "rule")


class TestClientTools:
    """R19: no body here; the result is given by `Answer`."""

    def agent(self, tmp_path: Path) -> hitl.Agent:
        schema = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
        tool = hitl.client_tool("look_up", schema, "Look it up on the client.")
        turns = [[hitl.call("look_up", q="x")], lambda m: f"told {last_told(m)!r}"]
        return agent_on(store_at(tmp_path), turns, [tool])

    @pytest.mark.parametrize("result", [{"found": [1, None]}, "text", 0, False, None], ids=repr)
    async def test_the_result_is_given_to_the_model(self, tmp_path: Path, result: Any) -> None:
        agent = self.agent(tmp_path)
        stream = await agent.stream("go")
        heard = await chunks_of(stream)
        (asked,) = [c for c in heard if c.type == "tool-call-suspended"]
        assert asked.payload.args == {"q": "x"}
        (request,) = await hitl.pending(agent.store)
        assert (request.kind, request.allowed) == ("input", ("answer", "decline"))
        later = self.agent(tmp_path)
        done = await later.resume_generate(result, run_id=stream.run_id)
        assert done.text == f"told {result!r}"
        assert later.store.request(request.id).state == "done"

    async def test_it_is_outside_the_policy(self, tmp_path: Path) -> None:
        agent = self.agent(tmp_path)
        run = await agent.generate("go", require_tool_approval=True)
        assert run.requests[0].kind == "input"
        with pytest.raises(hitl.RequestNotFound):
            await agent.approve_tool_call(run_id=run.run_id)

    async def test_declined(self, tmp_path: Path) -> None:
        agent = self.agent(tmp_path)
        run = await agent.generate("go")
        done = await agent.decline_tool_call_generate(run_id=run.run_id, reason="offline")
        assert "offline" in done.text


class TestOutput:
    """`output_type`: an object at the end, validated; JSON after a restart."""

    class Report(pydantic.BaseModel):
        title: str
        score: int

    async def test_through_the_final_tool(self, tmp_path: Path) -> None:
        turns = [[hitl.call("final_result", title="a", score="7")]]
        agent = agent_on(store_at(tmp_path), turns)
        result = await agent.generate("go", output_type=self.Report)
        assert result.output == self.Report(title="a", score=7)
        assert result.finish_reason == "stop"
        assert (await agent.attach(result.run_id)).output == {"title": "a", "score": 7}

    async def test_a_wrong_one_is_told_and_tried_again(self, tmp_path: Path) -> None:
        turns = [
            [hitl.call("final_result", title="a")],
            lambda m: [hitl.call("final_result", title=str("score" in last_told(m)), score=1)],
        ]
        result = await agent_on(store_at(tmp_path), turns).generate("go", output_type=self.Report)
        assert result.output == self.Report(title="True", score=1)

    async def test_words_are_no_object_and_asked_for_again(self, tmp_path: Path) -> None:
        turns = ["Here it is.", [hitl.call("final_result", title="a", score=1)]]
        result = await agent_on(store_at(tmp_path), turns).generate("go", output_type=self.Report)
        assert result.output == self.Report(title="a", score=1)
        with pytest.raises(hitl.ModelFailed, match="3 times"):
            await agent_on(store_at(tmp_path), ["no"] * 9).generate("go", output_type=self.Report)

    @pytest.mark.parametrize(
        ("kind", "turn", "output"),
        [
            (int, "42", 42),
            (str, "plain", "plain"),
            (list[int], [hitl.call("final_result", result=[1, 2])], [1, 2]),
            ({"type": "object", "required": ["a"]}, '{"a": 1}', {"a": 1}),
        ],
        ids=["number in words", "text", "list", "JSON Schema"],
    )
    async def test_other_kinds(self, tmp_path: Path, kind: Any, turn: Any, output: Any) -> None:
        result = await agent_on(store_at(tmp_path), [turn]).generate("go", output_type=kind)
        assert result.output == output

    async def test_after_a_pause_and_a_restart(self, tmp_path: Path) -> None:
        turns = [
            [hitl.call("login", user="a", password="b")],
            [hitl.call("final_result", title="t", score=2)],
        ]
        agent = agent_on(store_at(tmp_path), turns, [login([])])
        run = await agent.generate("go", output_type=self.Report)
        same = await agent.approve_tool_call_generate(run_id=run.run_id)
        assert same.output == self.Report(title="t", score=2)
        run = await agent.generate("go", output_type=self.Report)
        later = agent_on(store_at(tmp_path), turns, [login([])])
        done = await later.approve_tool_call_generate(run_id=run.run_id)
        assert done.output == {"title": "t", "score": 2}

    async def test_calls_beside_the_final_answer_are_not_made(self, tmp_path: Path) -> None:
        saw: list[Any] = []
        turns = [
            [
                hitl.call("final_result", title="t", score=2),
                hitl.call("login", user="a", password="b"),
            ]
        ]
        agent = agent_on(store_at(tmp_path), turns, [login(saw)])
        result = await agent.generate("go", output_type=self.Report)
        assert result.finish_reason == "stop"
        assert [p.content[:7] for p in result.messages[-1].parts] == ["The fin", "Not run"]
        assert saw == []
