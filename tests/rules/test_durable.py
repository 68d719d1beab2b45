"""R2, F12, F13: stored before it is shown or run; a save that fails shows and runs nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

import hitl_widgets as hitl

from .making import FailingStore, Witness, agent_on, chunks_of, kinds, tell_back

GO = [[hitl.call("delete_record", id="abc")], tell_back]


async def test_a_request_that_cannot_be_saved_is_not_shown(tmp_path: Path) -> None:
    """R2, F12: the error says so, no chunk of the call was emitted; once there is room it runs."""
    saw, store = Witness(), FailingStore(tmp_path / "a.db")
    agent = agent_on(store, GO, [saw.deleting()])
    store.when = lambda *_, calls=(), **__: bool(calls)
    store.fails = frozenset({"save"})
    stream = await agent.stream("go")
    heard = []
    with pytest.raises(hitl.StoreFull):  # noqa: PT012
        async for chunk in stream.full_stream:
            heard.append(chunk)  # noqa: PERF401
    assert kinds(heard) == ["start", "error", "finish"]
    store.fails = frozenset()
    assert await hitl.pending(store) == []
    with pytest.raises(hitl.RunSuspended):
        await agent.attach(stream.run_id)
    (request,) = await hitl.pending(store)
    assert request.args["id"] == "abc"


async def test_every_shown_request_was_in_the_store_first(tmp_path: Path) -> None:
    """R2, F12: looked up at the moment its chunk arrives."""
    saw, store = Witness(), FailingStore(tmp_path / "a.db")
    agent = agent_on(store, GO, [saw.deleting()])
    stream = await agent.stream("go")
    async for chunk in stream.full_stream:
        if chunk.type == "tool-call-approval":
            assert store.request(chunk.payload.request_id).state == "pending"
            assert store.frame(stream.run_id)["messages"]


async def test_a_decision_that_cannot_be_saved_runs_nothing_and_can_be_made_again(
    tmp_path: Path,
) -> None:
    """R2."""
    saw, store = Witness(), FailingStore(tmp_path / "a.db")
    agent = agent_on(store, GO, [saw.deleting()])
    run = await agent.generate("go")
    store.fails = frozenset({"decide"})
    with pytest.raises(hitl.StoreFull):
        await agent.approve_tool_call(run_id=run.run_id)
    store.fails = frozenset()
    assert saw.did == []
    result = await agent.approve_tool_call_generate(run_id=run.run_id)
    assert result.finish_reason == "stop"
    assert saw.did == ["abc"]


async def test_a_claim_that_cannot_be_saved_runs_nothing_and_keeps_the_approval(
    tmp_path: Path,
) -> None:
    """R2, F13."""
    saw, store = Witness(), FailingStore(tmp_path / "a.db")
    agent = agent_on(store, GO, [saw.deleting()])
    run = await agent.generate("go")
    store.fails = frozenset({"claim"})
    with pytest.raises(hitl.StoreFull):
        await agent.approve_tool_call_generate(run_id=run.run_id)
    assert saw.did == []
    store.fails = frozenset()
    (done,) = await agent.resume_decided()
    assert done.finish_reason == "stop"
    assert saw.did == ["abc"]


@pytest.mark.parametrize("gated", [True, False], ids=["gated", "free"])
async def test_a_result_that_cannot_be_saved_is_kept_and_the_call_not_run_again(
    tmp_path: Path, gated: bool
) -> None:
    """R2, R13, F13: while this process lives, the true result is saved as soon as it can be."""
    saw, store = Witness(), FailingStore(tmp_path / "a.db")
    agent = agent_on(store, GO, [saw.deleting(require_approval=gated)])
    store.fails = frozenset({"finish"})
    with pytest.raises(hitl.StoreFull) as caught:  # noqa: PT012
        if gated:
            run = await agent.generate("go")
            await agent.approve_tool_call_generate(run_id=run.run_id)
        else:
            await agent.generate("go")
    assert "attach" in "".join(caught.value.__notes__)
    store.fails = frozenset()
    (stored,) = store.runs()
    result = await agent.attach(stored.id)
    assert result.text == "told: {'deleted': 'abc'}"
    assert saw.did == ["abc"]


async def test_a_suspension_that_cannot_be_saved_is_not_shown(tmp_path: Path) -> None:
    """R2, R8: a body that catches everything cannot go on without the answer either."""
    store, went_on = FailingStore(tmp_path / "a.db"), []

    @hitl.tool
    async def ask(ctx: hitl.ToolContext) -> str:
        "Ask."
        try:
            return await ctx.ask(str, "Which?")
        except BaseException:  # noqa: BLE001
            went_on.append(True)
            return "made up"

    agent = agent_on(store, [[hitl.call("ask")], tell_back], [ask])
    store.fails = frozenset({"park"})
    stream = await agent.stream("go")
    heard = []
    with pytest.raises(hitl.StoreFull):  # noqa: PT012
        async for chunk in stream.full_stream:
            heard.append(chunk)  # noqa: PERF401
    assert "tool-call-suspended" not in kinds(heard)
    assert "tool-result" not in kinds(heard)
    store.fails = frozenset()
    assert [r.state for r in await hitl.pending(store)] in ([], ["outcome_unknown"])


async def test_chunks_of_a_turn_come_in_the_models_order(tmp_path: Path) -> None:
    saw = Witness()
    calls = [hitl.call("delete_record", id=str(i)) for i in range(4)]
    agent = agent_on(FailingStore(tmp_path / "a.db"), [calls, "done"], [saw.deleting()])
    heard = await chunks_of(await agent.stream("go"))
    proposed = [c.payload.args["id"] for c in heard if c.type == "tool-call"]
    asked = [c.payload.args["id"] for c in heard if c.type == "tool-call-approval"]
    assert proposed == asked == ["0", "1", "2", "3"]
