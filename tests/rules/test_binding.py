"""R3, R6: what runs is what was approved; checked at the decision and again at the claim."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import hitl_widgets as hitl

from .making import Witness, agent_on, chunks_of, last_told, store_at, tell_back

GO = [[hitl.call("delete_record", id="abc")], tell_back]


async def test_a_fingerprint_that_is_not_the_stored_one_is_refused(tmp_path: Path) -> None:
    """R3, F2: nothing is changed; malformed text too."""
    saw = Witness()
    agent = agent_on(store_at(tmp_path), GO, [saw.deleting()])
    run = await agent.generate("go")
    for other in ("hf1:" + "a" * 52, "nonsense", ""):
        with pytest.raises(hitl.StaleFingerprint):
            await agent.approve_tool_call(run_id=run.run_id, fingerprint=other)
    assert run.requests[0].state == "pending"
    shown = run.requests[0].fingerprint
    done = await agent.approve_tool_call_generate(run_id=run.run_id, fingerprint=shown)
    assert done.finish_reason == "stop"
    assert saw.did == ["abc"]


async def test_a_decision_without_a_fingerprint_is_recorded_as_not_shown(tmp_path: Path) -> None:
    """R3, R18."""
    agent = agent_on(store_at(tmp_path), GO, [Witness().deleting()])
    run = await agent.generate("go")
    await agent.approve_tool_call_generate(run_id=run.run_id)
    decided = [e for e in agent.store.events() if e.kind == "approved"]
    assert [e.doc["shown"] for e in decided] == ["not shown"]


def _tamper(agent: hitl.Agent, run_id: str, change: Any) -> None:
    """Change what is stored, behind the product's back."""
    frame = agent.store.frame(run_id)
    change(frame)
    agent.store._db.write(lambda tx: tx.snapshots.__setitem__(run_id, frame))


async def test_arguments_changed_after_the_approval_are_asked_for_again(tmp_path: Path) -> None:
    """R3, F11: stale; a new request with the diff; the decider hears of it; nothing ran."""
    saw = Witness()
    agent = agent_on(store_at(tmp_path), GO, [saw.deleting()])
    run = await agent.generate("go")
    agent.store._db.write(
        lambda tx: tx.rows(
            "UPDATE calls SET args = ?", (json.dumps({"id": "other", "force": False}),)
        )
    )
    with pytest.raises(hitl.StaleFingerprint) as caught:
        await agent.approve_tool_call(run_id=run.run_id)
    assert caught.value.diff == {"added": [], "removed": [], "changed": ["/id"]}
    assert saw.did == []
    assert agent.store.request(run.requests[0].id).state == "stale"
    (again,) = await hitl.pending(agent.store)
    assert again.args["id"] == "other"
    assert again.scope["diff"]["changed"] == ["/id"]
    assert (await agent.list_suspended_runs())[0].tool_calls[0].id == again.id
    done = await agent.approve_tool_call_generate(run_id=run.run_id)
    assert saw.did == ["other"]
    assert done.finish_reason == "stop"


async def test_a_tool_whose_schema_changed_is_asked_for_again(tmp_path: Path) -> None:
    """R3, F16: ToolChanged, the snapshot is kept, a new approval of the new tool runs it."""
    saw = Witness()
    run = await agent_on(store_at(tmp_path), GO, [saw.deleting()]).generate("go")

    @hitl.tool(require_approval=True)
    async def delete_record(id: str, force: bool = False, really: bool = True) -> str:  # noqa: A002
        "Delete."
        saw.did.append((id, really))
        return "gone"

    changed = agent_on(store_at(tmp_path), GO, [delete_record])
    with pytest.raises(hitl.ToolChanged, match="delete_record"):
        await changed.approve_tool_call(run_id=run.run_id)
    assert saw.did == []
    (again,) = await hitl.pending(changed.store)
    assert again.id != run.requests[0].id
    done = await changed.approve_tool_call_generate(run_id=run.run_id)
    assert saw.did == [("abc", True)]
    assert done.text == "told: gone"


async def test_a_policy_tampered_with_after_the_approval_blocks_the_call(tmp_path: Path) -> None:
    """R3, F5: the frozen policy must be the one under which it was asked."""
    saw = Witness()
    agent = agent_on(store_at(tmp_path), GO, [saw.deleting()])
    run = await agent.generate("go")

    def loosen(frame: Any) -> None:
        frame["policy"]["tools"]["delete_record"]["require_approval"] = False

    _tamper(agent, run.run_id, loosen)
    done = await agent.approve_tool_call_generate(run_id=run.run_id)
    assert saw.did == []
    assert done.text == "told: Tool call blocked: approval did not match delete_record arguments."
    assert agent.store.request(run.requests[0].id).state == "blocked"


@pytest.mark.parametrize("how", ["tool", "toolset", "administrator"])
async def test_a_tool_disabled_since_the_approval_is_blocked(
    tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R3, R6: on resume the only new answer can be a denial."""
    saw = Witness()
    run = await agent_on(store_at(tmp_path), GO, [saw.deleting()]).generate("go")
    tool: Any = saw.deleting(enabled=how != "tool")
    if how == "toolset":
        tool = hitl.Toolset([tool], configs={"delete_record": hitl.disabled})
    if how == "administrator":
        (tmp_path / "policy.json").write_text('{"forbid": ["delete_record"]}')
        monkeypatch.setenv("HITL_POLICY", str(tmp_path / "policy.json"))
    later = agent_on(store_at(tmp_path), GO, [tool])
    done = await later.approve_tool_call_generate(run_id=run.run_id)
    assert saw.did == []
    assert done.text == "told: Tool call blocked: delete_record is disabled."
    assert later.store.request(run.requests[0].id).state == "blocked"


async def test_what_resumes_is_the_recorded_decision_whatever_the_code_says_now(
    tmp_path: Path,
) -> None:
    """R6, F5: a decline stays one though the tool asks no more."""
    saw = Witness()
    run = await agent_on(store_at(tmp_path), GO, [saw.deleting()]).generate("go")
    lax = agent_on(store_at(tmp_path), GO, [saw.deleting(require_approval=False)])
    await hitl.decide(run.requests[0].id, hitl.Decline("no"), store=lax.store)
    (done,) = await lax.resume_decided() or [await lax.attach(run.run_id)]
    assert "declined" in done.text
    assert saw.did == []


async def test_changing_an_agent_changes_new_runs_only(tmp_path: Path) -> None:
    """R6: the frozen policy goes on judging the run that it was frozen into."""
    saw = Witness()
    turns = [
        [hitl.call("delete_record", id="1")],
        [hitl.call("delete_record", id="2")],
        "end",
    ]
    run = await agent_on(store_at(tmp_path), turns, [saw.deleting()]).generate("go")
    lax = agent_on(store_at(tmp_path), turns, [saw.deleting(require_approval=False)])
    again = await lax.approve_tool_call_generate(run_id=run.run_id)
    assert again.finish_reason == "suspended"
    assert saw.did == ["1"]
    assert (await lax.generate("go")).finish_reason == "stop"


# -- hooks ----------------------------------------------------------------------------------------


async def test_prepare_changes_arguments_before_the_gate(tmp_path: Path) -> None:
    """R3: shown, approved, run and told are the prepared ones, validated again."""
    saw = Witness()

    def prepare(call: Any) -> None:
        call.args["id"] = call.args["id"].upper()

    agent = agent_on(
        store_at(tmp_path), GO, [saw.deleting()], hooks=hitl.Hooks(prepare_tool_call=prepare)
    )
    run = await agent.generate("go")
    assert run.requests[0].args["id"] == "ABC"
    done = await agent.approve_tool_call_generate(run_id=run.run_id)
    assert saw.did == ["ABC"]
    assert done.messages[1].parts[0].args["id"] == "ABC"


@pytest.mark.parametrize(
    ("hook", "told"),
    [
        (lambda call: call.args.update(id="x"), "approval did not match delete_record arguments"),
        (lambda call: setattr(call, "args", {"id": "x"}), "approval did not match"),
        (lambda _: hitl.Block("Not on Fridays."), "Not on Fridays."),
        (lambda _: 1 / 0, "Tool call blocked: before_tool_call failed."),
        (lambda _: True, "Tool call blocked: before_tool_call failed."),
    ],
    ids=["changes arguments in place", "puts others", "blocks", "raises", "says nonsense"],
)
async def test_a_before_hook_can_only_stop_a_call(tmp_path: Path, hook: Any, told: str) -> None:
    """R3, F20: after the claim nothing else than what was approved runs."""
    saw = Witness()
    agent = agent_on(
        store_at(tmp_path), GO, [saw.deleting()], hooks=hitl.Hooks(before_tool_call=hook)
    )
    run = await agent.generate("go")
    heard = await chunks_of(await agent.approve_tool_call(run_id=run.run_id))
    assert saw.did == []
    (denied,) = [c for c in heard if c.type == "tool-output-denied"]
    assert told in denied.payload.reason


async def test_hooks_hear_of_requests_decisions_and_results(tmp_path: Path) -> None:
    """Sync and async hooks, for sync and async tools."""
    heard: list[Any] = []

    async def after(call: Any, result: Any) -> None:
        heard.append(("after", call.tool_name, result))

    @hitl.tool(require_approval=True)
    def sync_tool() -> int:
        "Do."
        return 7

    hooks = hitl.Hooks(
        before_tool_call=lambda call: heard.append(("before", call.tool_name)),
        after_tool_call=after,
        on_request=lambda r: heard.append(("request", r.tool_name)),
        on_decision=lambda r: heard.append(("decision", r.state)),
    )
    saw = Witness()
    turns = [[hitl.call("delete_record", id="a"), hitl.call("sync_tool")], "end"]
    agent = agent_on(store_at(tmp_path), turns, [saw.deleting(), sync_tool], hooks=hooks)
    with hitl.reviewer(lambda _: hitl.Approve()):
        await agent.run("go")
    assert sorted(map(str, heard)) == sorted(
        map(
            str,
            [
                ("request", "delete_record"),
                ("request", "sync_tool"),
                ("decision", "approved"),
                ("decision", "approved"),
                ("before", "delete_record"),
                ("before", "sync_tool"),
                ("after", "delete_record", {"deleted": "a"}),
                ("after", "sync_tool", 7),
            ],
        )
    )


async def test_a_failing_prepare_hook_refuses_the_call(tmp_path: Path) -> None:
    """R3."""
    saw, said = Witness(), []

    def second(messages: Any) -> str:
        said.append(last_told(messages))
        return "end"

    turns = [[hitl.call("delete_record", id="a")], second]
    hooks = hitl.Hooks(prepare_tool_call=lambda _: 1 / 0)
    agent = agent_on(store_at(tmp_path), turns, [saw.deleting()], hooks=hooks)
    assert (await agent.generate("go")).finish_reason == "stop"
    assert said == ["Tool call blocked: prepare_tool_call failed."]
    assert saw.did == []


@pytest.mark.parametrize("now", ["a body", "none"])
async def test_a_tool_that_got_or_lost_its_body_since_is_blocked(tmp_path: Path, now: str) -> None:
    """F5, F16: a result that a human gave is no consent to a body, nor the other way round."""
    saw = Witness()
    gated = saw.deleting()
    client = hitl.client_tool("delete_record", gated.shape.json_schema)
    before, after = (client, gated) if now == "a body" else (gated, client)
    run = await agent_on(store_at(tmp_path), GO, [before]).generate("go")
    again = agent_on(store_at(tmp_path), GO, [after])
    if now == "a body":
        done = await again.resume_generate({"deleted": "yes"}, run_id=run.run_id)
    else:
        done = await again.approve_tool_call_generate(run_id=run.run_id)
    assert done.text == (
        "told: Tool call blocked: delete_record is another tool now than when it was called."
    )
    assert saw.did == []
    assert again.store.requests(run_id=run.run_id)[0].state == "blocked"
