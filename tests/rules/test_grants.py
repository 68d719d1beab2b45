"""R20 and F26: a standing grant lets through what was shown and fixed, and nothing wider."""

from __future__ import annotations

import json
import math
import time
from pathlib import Path
from typing import Any

import pytest

import hitl_widgets as hitl
from hitl_widgets.errors import InvalidAnswer, NotAsked, NotPermitted, RequestNotFound
from hitl_widgets.standing import Rule

from .making import Witness, agent_on, chunks_of, store_at, tell_back

EXACT = Rule("exact", "until", until=time.time() + 3600, words="this very call")
FIXED = Rule("fixed", "until", fixed=("id",), until=time.time() + 3600, words="this id")
TOOL = Rule("tool", "until", until=time.time() + 3600, words="this tool")


def turn(**args: Any) -> list[Any]:
    return [[hitl.call("delete_record", **args)], tell_back]


async def asked(agent: hitl.Agent, **options: Any) -> Any:
    """The request that a run stops at; None when nothing is asked."""
    result = await agent.generate("go", **options)
    return result.requests[-1] if result.finish_reason == "suspended" else None


async def grant(agent: hitl.Agent, rule: Rule, **options: Any) -> Any:
    """Stop at a call, grant it on its card, and let the run end."""
    request = await asked(agent, **options)
    await agent.desk.decide(
        request, hitl.Approve(), fingerprint=request.fingerprint, via="card", always=rule
    )
    await agent.attach(request.run_id)
    return request


async def later(store: Any, tools: Any, turns: Any, **options: Any) -> Any:
    """What another run of the same agent is asked."""
    return await asked(agent_on(store, turns, tools), **options)


class TestAGrantLetsThroughWhatItSays:
    @pytest.mark.parametrize(
        ("rule", "call", "asks"),
        [
            (EXACT, {"id": "abc"}, False),
            (EXACT, {"id": "abd"}, True),
            (EXACT, {"id": "abc", "force": True}, True),
            (FIXED, {"id": "abc", "force": True}, False),
            (FIXED, {"id": "abc "}, True),
            (TOOL, {"id": "anything", "force": True}, False),
        ],
    )
    async def test_and_nothing_wider(
        self, tmp_path: Path, rule: Rule, call: dict[str, Any], asks: bool
    ) -> None:
        """F26."""
        store, did = store_at(tmp_path), Witness()
        tools = [did.deleting()]
        await grant(agent_on(store, turn(id="abc"), tools), rule)
        assert did.did == ["abc"]
        again = await later(store, tools, turn(**call))
        assert (again is not None) == asks
        assert len(did.did) == (1 if asks else 2)

    async def test_and_no_other_tool_of_the_same_arguments(self, tmp_path: Path) -> None:
        """F26: not even one that "this tool with any arguments" would fit."""
        store, did = store_at(tmp_path), Witness()
        named = [did.deleting(), did.deleting(id="drop_record")]
        await grant(agent_on(store, turn(id="abc"), named), TOOL)
        again = await later(store, named, [[hitl.call("drop_record", id="abc")], tell_back])
        assert again is not None
        assert again.tool_name == "drop_record"

    @pytest.mark.parametrize("call", [{"id": "abc"}, {"id": "abd"}])
    async def test_explain_knows_of_it(self, tmp_path: Path, call: dict[str, Any]) -> None:
        store, tools = store_at(tmp_path), [Witness().deleting()]
        agent = agent_on(store, turn(id="abc"), tools)
        await grant(agent, EXACT)
        told = await hitl.explain(agent, "delete_record", call)
        granted = "a standing grant lets it through: this very call"
        assert told.permission == ("allow" if call["id"] == "abc" else "ask")
        assert (told.because == granted) == (told.permission == "allow")
        hitl.revoke(hitl.grants(store)[0]["id"], store=store)
        assert (await hitl.explain(agent, "delete_record", call)).permission == "ask"

    async def test_explain_counts_a_conversations_grant_in_it_alone(self, tmp_path: Path) -> None:
        store, tools = store_at(tmp_path), [Witness().deleting()]
        agent = agent_on(store, turn(id="x"), tools, memory=hitl.Memory())
        here = {"thread_id": "t1", "resource_id": "u"}
        await grant(agent, Rule("tool", "thread", words="in this thread"), **here)
        for options, permission in ((here, "allow"), ({}, "ask")):
            told = await hitl.explain(agent, "delete_record", {"id": "y"}, **options)
            assert told.permission == permission
        every = {**here, "require_tool_approval": True}
        told = await hitl.explain(agent, "delete_record", {"id": "y"}, **every)
        assert told.permission == "ask"

    async def test_the_call_says_so_on_its_chunk_and_in_the_audit(self, tmp_path: Path) -> None:
        store, tools = store_at(tmp_path), [Witness().deleting()]
        await grant(agent_on(store, turn(id="abc"), tools), EXACT)
        (kept,) = hitl.grants(store)
        chunks = await chunks_of(await agent_on(store, turn(id="abc"), tools).stream("go"))
        (call,) = [c for c in chunks if c.type == "tool-call"]
        said = {"type": "grant", "grant": kept["id"], "words": "this very call"}
        assert (call.payload.evaluated_permission, call.payload.evaluation) == ("allow", said)
        started = [e for e in store.events() if e.kind == "call-started"]
        assert started[-1].doc["evaluation"] == said

    async def test_a_run_and_a_thread_end_where_they_end(self, tmp_path: Path) -> None:
        store, tools = store_at(tmp_path), [Witness().deleting()]
        twice = [*turn(id="abc")[:1], [hitl.call("delete_record", id="abc")], tell_back]
        await grant(agent_on(store, twice, tools), Rule("exact", "run", words="in this run"))
        assert await later(store, tools, turn(id="abc")) is not None
        here = {"thread_id": "t1", "resource_id": "u"}
        rule = Rule("tool", "thread", words="in this thread")
        await grant(agent_on(store, turn(id="x"), tools, memory=hitl.Memory()), rule, **here)
        for ids, asks in (
            (here, False),
            ({**here, "thread_id": "t2"}, True),
            ({**here, "resource_id": "v"}, True),
        ):
            agent = agent_on(store, turn(id="y"), tools, memory=hitl.Memory())
            assert (await asked(agent, **ids) is not None) == asks

    async def test_a_secret_takes_part_unseen(self, tmp_path: Path) -> None:
        store, did = store_at(tmp_path), Witness()
        tools = [did.deleting(secret=("/id",))]
        await grant(agent_on(store, turn(id="pass-1"), tools), FIXED)
        assert "pass-1" not in json.dumps(store.grants())
        assert await later(store, tools, turn(id="pass-1")) is None
        assert await later(store, tools, turn(id="pass-2")) is not None


class TestAGrantEnds:
    async def test_when_it_is_revoked(self, tmp_path: Path) -> None:
        store, tools = store_at(tmp_path), [Witness().deleting()]
        await grant(agent_on(store, turn(id="abc"), tools), EXACT)
        (kept,) = hitl.grants(store)
        assert kept["id"] in hitl.grants(store)._repr_html_()
        hitl.revoke(kept["id"], store=store)
        assert hitl.grants(store) == []
        assert await later(store, tools, turn(id="abc")) is not None
        with pytest.raises(RequestNotFound, match=kept["id"]):
            hitl.revoke(kept["id"], store=store)

    async def test_when_its_time_is_over(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store, tools, now = store_at(tmp_path), [Witness().deleting()], time.time
        await grant(agent_on(store, turn(id="abc"), tools), EXACT)
        assert await later(store, tools, turn(id="abc")) is None
        monkeypatch.setattr(time, "time", lambda: now() + 3_601)
        assert hitl.grants(store) == []
        assert await later(store, tools, turn(id="abc")) is not None

    @pytest.mark.parametrize("changed", ["schema", "effect", "agent"])
    async def test_when_the_tool_is_another_one(self, tmp_path: Path, changed: str) -> None:
        """F26: stale after a change."""
        store = store_at(tmp_path)
        await grant(agent_on(store, turn(id="abc"), [Witness().deleting()]), TOOL)
        if changed == "schema":

            @hitl.tool(require_approval=True)
            async def delete_record(id: str, force: bool = False, everywhere: bool = False) -> None:  # noqa: A002
                "Delete a record by ID."

            again = await later(store, [delete_record], turn(id="abc"))
        elif changed == "effect":
            tools = [Witness().deleting(effect="destructive")]
            again = await later(store, tools, turn(id="abc"))
        else:
            other = agent_on(store, turn(id="abc"), [Witness().deleting()], id="other")
            again = await asked(other)
        assert again is not None


class TestAGrantIsNotGiven:
    async def test_where_the_whole_run_asks_and_it_lifts_no_such_question(
        self, tmp_path: Path
    ) -> None:
        """Row 3 of the table."""
        store, tools = store_at(tmp_path), [Witness().deleting()]
        await grant(agent_on(store, turn(id="abc"), tools), TOOL)
        request = await later(store, tools, turn(id="abc"), require_tool_approval=True)
        assert request.evaluation == {"type": "run"}
        desk = agent_on(store, turn(id="abc"), tools).desk
        with pytest.raises(NotAsked):
            await desk.decide(request, hitl.Approve(), via="card", always=TOOL)
        assert store.request(request.id).state == "pending"

    async def test_over_an_evaluator_that_denies(self, tmp_path: Path) -> None:
        """Row 2 of the table."""
        store, did = store_at(tmp_path), Witness()
        await grant(agent_on(store, turn(id="abc"), [did.deleting()]), TOOL)
        denies = hitl.auto(lambda _: hitl.Verdict("deny", "pii"))
        guarded = [hitl.Toolset([did.deleting()], policy=denies)]
        assert await later(store, guarded, turn(id="abc")) is None
        assert did.did == ["abc"]

    @pytest.mark.parametrize("decision", [hitl.Decline(), hitl.Approve(args={"id": "abc"})])
    async def test_with_anything_but_an_approval_as_shown(
        self, tmp_path: Path, decision: Any
    ) -> None:
        store, agent = store_at(tmp_path), None
        agent = agent_on(store, turn(id="abc"), [Witness().deleting()])
        request = await asked(agent)
        with pytest.raises(NotAsked):
            await agent.desk.decide(request, decision, always=TOOL)
        assert hitl.grants(store) == []

    @pytest.mark.parametrize(
        "rule",
        [
            Rule("fixed", "run"),
            Rule("fixed", "run", fixed=("nothing",)),
            Rule("exact", "run", fixed=("id",)),
            Rule("exact", "thread"),
            Rule("exact", "until"),
            Rule("exact", "until", until=time.time() - 1),
            Rule("exact", "until", until=math.nan),
            Rule("exact", "until", until=math.inf),
            Rule("everything", "run"),  # type: ignore[arg-type]
        ],
    )
    async def test_without_saying_what_and_for_how_long(self, tmp_path: Path, rule: Rule) -> None:
        store = store_at(tmp_path)
        agent = agent_on(store, turn(id="abc"), [Witness().deleting()])
        request = await asked(agent)
        with pytest.raises(InvalidAnswer):
            await agent.desk.decide(request, hitl.Approve(), always=rule)
        assert (store.request(request.id).state, store.grants()) == ("pending", [])

    async def test_where_several_must_agree(self, tmp_path: Path) -> None:
        store = store_at(tmp_path)
        agent = agent_on(store, turn(id="abc"), [Witness().deleting(quorum=2)])
        request = await asked(agent)
        with pytest.raises(NotAsked):
            await agent.desk.decide(request, hitl.Approve(), always=TOOL)

    async def test_where_the_administrator_forbids_them(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Those that exist let nothing through either."""
        store, tools = store_at(tmp_path), [Witness().deleting()]
        await grant(agent_on(store, turn(id="abc"), tools), TOOL)
        (tmp_path / "policy.json").write_text('{"grants": false}')
        monkeypatch.setenv("HITL_POLICY", str(tmp_path / "policy.json"))
        agent = agent_on(store, turn(id="abc"), tools)
        request = await asked(agent)
        assert request is not None
        with pytest.raises(NotPermitted, match="administrator"):
            await agent.desk.decide(request, hitl.Approve(), always=TOOL)
