"""Edited arguments and standing grants on a card, on a real agent, desk and store."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hitl_widgets as hitl
from hitl_widgets.desk import desk_of
from hitl_widgets.errors import InvalidAnswer, NotAsked, NotPermitted, RequestNotFound
from hitl_widgets.screen.deskport import answer
from hitl_widgets.screen.messages import page_message
from hitl_widgets.screen.views import request_view
from hitl_widgets.store.sqlite import SqliteStore
from tests.rules.making import tell_back

BIG = 2**53 + 1


class Here:
    """An agent that stopped at a call, and a card's way to the desk."""

    def __init__(
        self, store: SqliteStore, around: Callable[[Any], Any] = lambda tool: tool, **options: Any
    ) -> None:
        self.store = store
        self.ran: list[dict[str, Any]] = []

        @hitl.tool(**{"require_approval": True, "secret": ("/token",), **options})
        async def pay(to: str, cents: int, token: str, memo: str = "") -> str:
            "Pay somebody."
            self.ran.append({"to": to, "cents": cents, "token": token, "memo": memo})
            return "paid"

        turns = [[hitl.call("pay", to="ada", cents=BIG, token="t0p")], tell_back]
        self.agent = hitl.Agent(
            "clerk", model=hitl.ScriptedModel(turns), tools=[around(pay)], store=store
        )

    async def stop(self) -> Here:
        result = await self.agent.generate("go")
        (self.request,) = result.requests
        return self

    async def send(self, kind: str, **fields: Any) -> Any:
        message = {"type": kind, "id": "m1", "request_id": self.request.id, **fields}
        told, _ = await answer(
            desk_of(self.store), page_message.validate_python(message), via="card"
        )
        return told

    async def prepare(self, **draft: Any) -> Any:
        return await self.send("prepare", locale="en", draft=draft)

    async def approve(self, key: str, note: str | None = None) -> Any:
        return await self.send(
            "decide",
            fingerprint=self.request.fingerprint,
            decision={"verdict": "approve", "prepared": key, "note": note},
            visible_ms=900,
        )

    async def form(self) -> dict[str, Any]:
        return json.loads((await self.prepare(kind="open-edit")).form.data)

    async def grant(self, **rule: Any) -> Any:
        return (await self.prepare(kind="always", **rule)).prepared


@pytest.fixture
async def here(store: SqliteStore) -> Here:
    return await Here(store).stop()


class TestAnEdit:
    async def test_is_previewed_with_the_arguments_that_would_run(self, store: SqliteStore) -> None:
        """R10: before anybody says yes to them; nothing is decided by it."""
        here = await Here(store, preview=lambda to, token: f"pays {to} with {token}").stop()
        assert here.request.preview["parts"][0]["text"] == "pays ada with ••••"
        data = await here.form()
        edit = (await here.prepare(kind="edit", data={**data, "to": "bob"})).prepared
        assert edit.preview is None
        told = (await here.prepare(kind="preview", key=edit.key)).prepared
        assert told.key == edit.key
        assert told.preview.parts[0].text == "pays bob with ••••"
        assert here.store.request(here.request.id).state == "pending"
        assert not here.ran

    async def test_is_previewed_as_the_tool_would_get_it(self, store: SqliteStore) -> None:
        """With the secret that was left as it is, and with what stands for what is left out."""

        def show(to: str, token: str, memo: str) -> str:
            return f"{to}, {len(token)} characters, {memo!r}"

        here = await Here(store, preview=show).stop()
        edited = {**here.request.args, "to": "bob"}
        edited.pop("memo", None)
        told = await desk_of(store).preview_edit(here.request, edited)
        assert told is not None
        assert told["parts"][0]["text"] == "bob, 3 characters, ''"
        with pytest.raises(hitl.InvalidAnswer):
            await desk_of(store).preview_edit(here.request, {**edited, "cents": "many"})

    async def test_whose_preview_fails_or_is_too_slow_can_be_approved(
        self, store: SqliteStore
    ) -> None:
        def slow(to: str) -> str:
            if to == "bob":
                gone.wait()
            return to

        gone = threading.Event()
        here = await Here(store, preview=slow, preview_timeout=0.05).stop()
        data = await here.form()
        edit = (await here.prepare(kind="edit", data={**data, "to": "bob"})).prepared
        told = (await here.prepare(kind="preview", key=edit.key)).prepared
        gone.set()
        assert told.preview.failed == "it was not ready within 0.05 s"
        await here.approve(edit.key)
        await here.agent.attach(here.request.run_id)
        assert [call["to"] for call in here.ran] == ["bob"]

    async def test_has_no_preview_where_the_agent_is_not_defined(self, store: SqliteStore) -> None:
        here = await Here(store, preview=lambda to: to).stop()
        data = await here.form()
        edit = (await here.prepare(kind="edit", data=data)).prepared
        desk_of(store).experts.clear()
        assert (await here.prepare(kind="preview", key=edit.key)).prepared.preview is None

    async def test_runs_what_was_shown_and_keeps_what_was_not_touched(self, here: Here) -> None:
        """R10, R17, F19: the old secret and 2**53 + 1 survive the page."""
        data = await here.form()
        assert "t0p" not in json.dumps(data)
        told = (await here.prepare(kind="edit", data={**data, "to": "bob"})).prepared
        shown = json.loads(told.args)
        assert shown == {"to": "bob", "cents": BIG, "token": "••••", "memo": ""}
        assert told.secrets == request_view(here.request)["secrets"]
        assert here.store.request(here.request.id).state == "pending"
        await here.approve(told.key, note="bob it is")
        await here.agent.attach(here.request.run_id)
        assert here.ran == [{"to": "bob", "cents": BIG, "token": "t0p", "memo": ""}]
        now = here.store.request(here.request.id)
        assert (now.decision or {})["note"] == "bob it is"
        decided = request_view(now)["decided"]
        assert json.loads(decided["edited"]) == shown
        assert decided["edited_fingerprint"] != here.request.fingerprint
        assert decided["edited_secrets"] == told.secrets

    async def test_types_a_secret_into_a_box_that_does_not_show_it(self, here: Here) -> None:
        """R17: also one that only the tool calls a secret."""
        layout = json.loads((await here.prepare(kind="open-edit")).form.layout)
        assert "password" in json.dumps(layout["properties"]["token"])
        assert "password" not in json.dumps(layout["properties"]["to"])

    async def test_a_retyped_secret_is_a_change_that_is_not_shown(self, here: Here) -> None:
        data = await here.form()
        told = (await here.prepare(kind="edit", data={**data, "token": "new"})).prepared
        assert "new" not in told.args
        assert told.secrets != request_view(here.request)["secrets"]
        await here.approve(told.key)
        await here.agent.attach(here.request.run_id)
        assert here.ran[0]["token"] == "new"

    async def test_is_refused_at_its_field_by_the_tools_own_model(self, here: Here) -> None:
        """R4."""
        data = await here.form()
        with pytest.raises(InvalidAnswer) as refused:
            await here.prepare(kind="edit", data={**data, "cents": "many"})
        assert refused.value.errors[0]["path"] == ["cents"]

    async def test_that_the_policy_denies_can_not_be_prepared(self, store: SqliteStore) -> None:
        """R10: a deny refuses the edit, and the request stays pending."""

        def judge(context: hitl.ApprovalContext) -> hitl.Verdict:
            return hitl.Verdict("deny" if context.args["to"] == "eve" else "ask")

        guard = hitl.auto(judge)
        here = Here(store, lambda tool: hitl.Toolset([tool], policy=guard), require_approval=None)
        await here.stop()
        data = await here.form()
        with pytest.raises(NotPermitted):
            await here.prepare(kind="edit", data={**data, "to": "eve"})
        assert store.request(here.request.id).state == "pending"

    async def test_of_another_request_or_none_is_not_approved(self, here: Here) -> None:
        data = await here.form()
        told = (await here.prepare(kind="edit", data=data)).prepared
        with pytest.raises(RequestNotFound):
            await here.approve("p_unknown")
        other = Here(here.store)
        await other.stop()
        with pytest.raises(RequestNotFound):
            await other.approve(told.key)
        assert here.store.request(other.request.id).state == "pending"

    async def test_is_not_offered_for_a_question_without_arguments_of_its_own(
        self, store: SqliteStore
    ) -> None:
        @hitl.require_approval(store=store)
        async def drop(name: str) -> None:
            raise AssertionError(name)

        seen: list[dict[str, Any]] = []

        def look(request: hitl.Request) -> hitl.Decline:
            seen.append(request_view(request))
            return hitl.Decline()

        with hitl.reviewer(look), pytest.raises(hitl.Declined):
            await drop("orders")
        assert (seen[0]["editable"], seen[0]["always"]) == (False, [])


class TestAStandingGrant:
    async def test_is_kept_in_the_words_that_were_shown_with_the_approval(self, here: Here) -> None:
        """R20."""
        told = await here.grant(covers="fixed", fixed=["to"], reach="run")
        assert told.words == (
            'From now on, without asking: pay of clerk whenever to = "ada"; its other arguments '
            "may be anything, in this run only. It ends when the tool changes, or when somebody "
            "revokes it (hitl.grants() lists all)."
        )
        assert hitl.grants(here.store) == []
        await here.approve(told.key)
        (kept,) = hitl.grants(here.store)
        assert (kept["words"], kept["covers"], kept["via"]) == (told.words, "fixed", "card")
        await here.agent.attach(here.request.run_id)
        assert len(here.ran) == 1

    async def test_says_secrets_masked_and_long_values_with_their_length(self, here: Here) -> None:
        """R17, F26."""
        told = await here.grant(covers="exact", reach="run")
        assert "t0p" not in told.words
        assert 'token = "••••"' in told.words
        assert str(BIG) in told.words

    async def test_speaks_the_language_of_the_page(self, here: Here) -> None:
        draft = {"kind": "always", "covers": "tool", "reach": "run"}
        told = await here.send("prepare", locale="ja-JP", draft=draft)
        assert told.prepared.words.startswith("今後は")

    async def test_ends_at_the_time_that_was_said(self, here: Here) -> None:
        until = "2999-01-02T03:04:00+00:00"
        told = await here.grant(covers="tool", reach="until", until=until)
        assert "2999-01-0" in told.words
        await here.approve(told.key)
        (kept,) = hitl.grants(here.store)
        assert kept["expires_at"].isoformat() == until

    @pytest.mark.parametrize(
        "rule",
        [
            {"covers": "fixed", "reach": "run"},
            {"covers": "exact", "reach": "thread"},
            {"covers": "exact", "reach": "until", "until": "soon"},
        ],
    )
    async def test_that_says_too_little_is_refused(self, here: Here, rule: Any) -> None:
        with pytest.raises(InvalidAnswer):
            await here.grant(**rule)

    async def test_is_not_offered_where_it_would_do_nothing(self, store: SqliteStore) -> None:
        here = Here(store)
        result = await here.agent.generate("go", require_tool_approval=True)
        (here.request,) = result.requests
        assert request_view(here.request)["always"] == []
        with pytest.raises(NotAsked):
            await here.grant(covers="exact", reach="run")

    async def test_is_not_offered_where_the_administrator_forbids_it(
        self, here: Here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert request_view(here.request)["always"] == ["run", "until"]
        (tmp_path / "policy.json").write_text('{"grants": false}')
        monkeypatch.setenv("HITL_POLICY", str(tmp_path / "policy.json"))
        assert request_view(here.request)["always"] == []
        with pytest.raises(NotPermitted):
            await here.grant(covers="exact", reach="run")
