"""R11, F22: declines end well."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import hitl_widgets as hitl
from hitl_widgets.store import requests

from .making import Witness, agent_on, chunks_of, kinds, last_told, store_at, tell_back

GO = [[hitl.call("delete_record", id="abc")], tell_back]


async def test_the_model_is_told_why_and_not_to_try_again(tmp_path: Path) -> None:
    saw = Witness()
    agent = agent_on(store_at(tmp_path), GO, [saw.deleting()])
    run = await agent.generate("go")
    stream = await agent.decline_tool_call(run_id=run.run_id, reason="it is in use")
    heard = await chunks_of(stream)
    assert kinds(heard) == ["tool-output-denied", "finish"]
    text = (await stream.result()).text
    assert "human declined" in text
    assert "it is in use" in text
    assert "again with the same arguments" in text
    assert saw.did == []


async def test_the_same_call_again_says_how_often_it_was_declined_and_ends_the_run(
    tmp_path: Path,
) -> None:
    """F22: after `max_declines` of one fingerprint; others do not count; a restart forgets none."""
    saw = Witness()
    same, other = hitl.call("delete_record", id="a"), hitl.call("delete_record", id="b")
    turns = [[same], [other], [same], [same], "never"]

    def agent() -> hitl.Agent:
        return agent_on(store_at(tmp_path), turns, [saw.deleting()])

    result = await agent().generate("go")
    seen = []
    for _ in range(4):
        seen.append((result.requests[0].args["id"], result.requests[0].declined_before))
        result = await agent().decline_tool_call_generate(run_id=result.run_id)
    assert seen == [("a", 0), ("b", 0), ("a", 1), ("a", 2)]
    assert result.finish_reason == "declined"
    assert result.text != "never"
    clerk = agent()
    assert clerk.store.run(result.run_id).state == "declined"
    assert (await clerk.attach(result.run_id)).finish_reason == "declined"
    assert saw.did == []


async def test_declining_with_stop_ends_the_run_and_withdraws_its_siblings(tmp_path: Path) -> None:
    saw = Witness()
    turn = [hitl.call("delete_record", id=i) for i in "ab"]
    agent = agent_on(store_at(tmp_path), [turn, "never"], [saw.deleting()])
    run = await agent.generate("go")
    done = await agent.decline_tool_call_generate(run_id=run.run_id, stop=True)
    assert done.finish_reason == "declined"
    states = sorted(r.state for r in agent.store.requests(run_id=run.run_id))
    assert states == ["declined", "withdrawn"]
    with pytest.raises(hitl.AlreadyDecided):
        await agent.approve_tool_call(run_id=run.run_id, tool_call_id=run.requests[0].tool_call_id)
    assert saw.did == []
    with pytest.raises(hitl.SnapshotNotFound):
        agent.store.frame(run.run_id)


async def test_declining_an_input_ends_the_call_and_the_body_is_not_entered_again(
    tmp_path: Path,
) -> None:
    entered: list[Any] = []

    @hitl.tool(resume_schema=str)
    async def ask(ctx: hitl.ToolContext) -> Any:
        "Ask."
        entered.append(1)
        return await ctx.suspend("?")

    agent = agent_on(store_at(tmp_path), [[hitl.call("ask")], tell_back], [ask])
    run = await agent.generate("go")
    done = await agent.decline_tool_call_generate(run_id=run.run_id, reason="none of yours")
    assert "declined to answer" in done.text
    assert "none of yours" in done.text
    assert entered == [1]


async def test_a_note_reaches_the_model(tmp_path: Path) -> None:
    told: list[Any] = []

    def end(messages: Any) -> str:
        told.append(last_told(messages))
        return "end"

    agent = agent_on(store_at(tmp_path), [GO[0], end], [Witness().deleting()])
    run = await agent.generate("go")
    await agent.approve_tool_call_generate(run_id=run.run_id, note="only this once")
    assert told == [{"result": {"deleted": "abc"}, "note_from_human": "only this once"}]


class TestExpiry:
    """R5: nothing is approved by time; the model is told, or the run ends."""

    @pytest.mark.parametrize("given", ["tool", "run"])
    async def test_decline(self, tmp_path: Path, given: str) -> None:
        saw = Witness()
        tool = saw.deleting(**({"expires": 0.05} if given == "tool" else {}))
        agent = agent_on(store_at(tmp_path), GO, [tool])
        options = {"expires": 0.05} if given == "run" else {}
        with hitl.reviewer(lambda _: None):
            result = await agent.run("go", **options)
        assert result.finish_reason == "stop"
        assert "in time" in result.text
        assert agent.store.requests(run_id=result.run_id)[0].state == "expired"
        assert saw.did == []

    async def test_withdraw(self, tmp_path: Path) -> None:
        saw = Witness()
        agent = agent_on(store_at(tmp_path), GO, [saw.deleting(expires=0.05, on_expire="withdraw")])
        with hitl.reviewer(lambda _: None):
            result = await agent.run("go")
        assert result.finish_reason == "aborted"
        assert saw.did == []

    async def test_a_late_decision_is_expired(self, tmp_path: Path) -> None:
        saw = Witness()
        agent = agent_on(store_at(tmp_path), GO, [saw.deleting(expires=0.01)])
        run = await agent.generate("go")
        store = agent.store
        await asyncio.sleep(0.05)
        for _ in range(2):  # before and after anybody swept
            with pytest.raises(hitl.Expired):
                await agent.approve_tool_call(run_id=run.run_id)
        assert saw.did == []
        (done,) = await agent.resume_decided()
        assert "in time" in done.text
        assert store.run(run.run_id).state == "completed"

    @pytest.mark.parametrize("on_expire", ["decline", "withdraw"])
    async def test_an_approval_that_nobody_acted_on_in_time_expires_at_the_claim(
        self, tmp_path: Path, on_expire: Any
    ) -> None:
        """The claim finds it first, without a sweep: the run ends as it says, and is not broken."""
        saw = Witness()
        tool = saw.deleting(expires=0.3, on_expire=on_expire)
        agent = agent_on(store_at(tmp_path), GO, [tool])
        run = await agent.generate("go")
        await agent.desk.decide(run.requests[0], hitl.Approve(), drive=False)
        await asyncio.sleep(0.4)
        done = await agent.attach(run.run_id)
        assert (done.finish_reason, saw.did) == (
            "stop" if on_expire == "decline" else "aborted",
            [],
        )
        assert agent.store.request(run.requests[0].id).state == "expired"

    @pytest.mark.parametrize("how", ["ask", "confirm"])
    async def test_an_answer_that_a_body_took_too_late_is_none(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
    ) -> None:
        """A body that waits in place hears of no `Expired`: it ends, or is told no."""
        heard: list[Any] = []

        @hitl.tool(expires=30)
        async def ask(ctx: hitl.ToolContext) -> str:
            "Ask."
            try:
                heard.append(await (ctx.confirm("?") if how == "confirm" else ctx.ask(str, "?")))
            except Exception as e:  # noqa: BLE001
                heard.append(e)
            return "went on"

        agent = agent_on(store_at(tmp_path), [[hitl.call("ask")], tell_back], [ask])

        def late(_: Any, request: hitl.Request) -> bool:
            return request.state in ("approved", "answered")

        monkeypatch.setattr(requests, "is_due", late)
        decision = hitl.Approve() if how == "confirm" else hitl.Answer("here")
        with hitl.reviewer(lambda _: decision):
            done = await agent.run("go")
        assert heard == ([False] if how == "confirm" else [])
        assert ("went on" if how == "confirm" else "in time") in done.text


async def test_a_decline_ends_well_though_its_tool_is_gone(tmp_path: Path) -> None:
    """R14: what was declined needs no tool any more."""
    agent = agent_on(store_at(tmp_path), GO, [Witness().deleting()])
    run = await agent.generate("go")
    await agent.desk.decide(run.requests[0], hitl.Decline("no"), drive=False)
    (done,) = await agent_on(store_at(tmp_path), GO, []).resume_decided()
    assert "no" in done.text
    assert done.finish_reason == "stop"
