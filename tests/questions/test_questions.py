"""Verbs without an agent: ask, confirm, gated functions."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel, SecretStr

import hitl_widgets as hitl
from hitl_widgets.screen.views import request_view
from hitl_widgets.testing import scripted

ROOT = Path(__file__).resolve().parents[2]


class City(BaseModel):
    city: str
    days: int = 3


class Login(BaseModel):
    user: str
    password: SecretStr


async def first_pending(n: int = 1) -> hitl.Request:
    """The n-th request, as soon as it is there."""
    while True:
        waiting = await hitl.pending()
        if len(waiting) >= n:
            return waiting[n - 1]
        await asyncio.sleep(0)


def passing() -> Any:
    """A reviewer that leaves every request to another decider."""
    return hitl.reviewer(lambda _request: None)


class TestAsk:
    async def test_gives_an_instance_of_the_model(self) -> None:
        with hitl.reviewer(scripted(hitl.Answer({"city": "Oslo"}))):
            assert await hitl.ask(City, "Which city?") == City(city="Oslo", days=3)

    @pytest.mark.parametrize(
        ("kind", "data"),
        [(bool, False), (int, 0), (str, ""), (list[str], []), (Literal["a", "b"], "b"), (dict, {})],
    )
    async def test_falsy_answers_are_answers(self, kind: Any, data: Any) -> None:
        """R4, F4."""
        with hitl.reviewer(scripted(hitl.Answer(data))):
            assert await hitl.ask(kind, "?") == data

    async def test_gives_json_for_a_json_schema(self) -> None:
        schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
        with hitl.reviewer(scripted(hitl.Answer({"n": 2**53 + 1}))):
            assert await hitl.ask(schema, "?") == {"n": 2**53 + 1}

    async def test_what_is_given_before_stands_in_the_form(self) -> None:
        with passing():
            asking = asyncio.create_task(hitl.ask(City, initial={"city": "Oslo", "days": 2}))
            request = await first_pending()
            form = request_view(request)["form"]
            assert json.loads(form["data"])["city"] == "Oslo"
            await hitl.decide(request, hitl.Answer({"city": "Bern"}))
            assert await asking == City(city="Bern")

    async def test_a_bad_answer_burns_nothing(self) -> None:
        """R4, F3: errors per field, still pending; a good one afterwards counts."""
        with passing():
            asking = asyncio.create_task(hitl.ask(City, "Which city?"))
            request = await first_pending()
            with pytest.raises(hitl.InvalidAnswer) as refused:
                await hitl.decide(request, hitl.Answer({"days": "many"}))
            assert {tuple(e["path"]) for e in refused.value.errors} == {("city",), ("days",)}
            assert (await hitl.pending())[0].state == "pending"
            await hitl.decide(request, hitl.Answer({"city": "Oslo", "days": 1}))
            assert (await asking).days == 1

    @pytest.mark.parametrize("verdict", [None, "no", 0, 1, True, {"approved": True}])
    async def test_what_is_no_decision_is_an_error_never_a_yes(self, verdict: Any) -> None:
        """R4, F7, F8."""
        with passing():
            asking = asyncio.create_task(hitl.confirm("Go?"))
            request = await first_pending()
            with pytest.raises(hitl.InvalidAnswer):
                await hitl.decide(request, verdict)
            await hitl.decide(request, hitl.Decline())
            assert await asking is False

    async def test_secrets_of_an_answer_reach_the_caller_and_nobody_else(self) -> None:
        """R17."""
        with hitl.reviewer(scripted(hitl.Answer({"user": "u", "password": "hunter2-xyz"}))):
            login = await hitl.ask(Login, "Log in")
        assert login.password.get_secret_value() == "hunter2-xyz"
        store = Path(os.environ["HITL_STORE"])
        assert "hunter2-xyz" not in str(hitl.history())
        for file in store.parent.rglob(store.name + "*"):
            if file.is_file():
                assert b"hunter2-xyz" not in file.read_bytes(), file

    async def test_declined_says_why_and_by_whom(self) -> None:
        with (
            hitl.reviewer(scripted(hitl.Decline("not today"))),
            pytest.raises(hitl.Declined) as declined,
        ):
            await hitl.ask(City, "Which city?")
        assert declined.value.reason == "not today"
        assert declined.value.receipt.reviewer == "rule:ScriptedReviewer"


class TestConfirm:
    async def test_true_and_false(self) -> None:
        with hitl.reviewer(scripted(hitl.Approve(), hitl.Decline())):
            assert await hitl.confirm("Go?") is True
            assert await hitl.confirm("Go?") is False

    async def test_two_deciders_at_once_and_one_counts(self) -> None:
        """R1, F1."""
        with passing():
            asking = asyncio.create_task(hitl.confirm("Go?"))
            request = await first_pending()
            both = await asyncio.gather(
                hitl.decide(request, hitl.Approve(), reviewer="ada"),
                hitl.decide(request, hitl.Decline(), reviewer="bob"),
                return_exceptions=True,
            )
            lost = [x for x in both if isinstance(x, hitl.AlreadyDecided)]
            (won,) = [x for x in both if isinstance(x, hitl.Receipt)]
            assert len(lost) == 1
            assert lost[0].by == won.reviewer
            assert await asking is (won.state == "approved")

    async def test_expires_without_ever_being_a_yes(self) -> None:
        """R5, F24."""
        with passing(), pytest.raises(hitl.Expired):
            await hitl.confirm("Go?", expires=0.05)
        assert hitl.history()[0]["state"] == "expired"

    async def test_a_late_decision_loses(self) -> None:
        with passing():
            asking = asyncio.create_task(hitl.confirm("Go?", expires=0.05))
            request = await first_pending()
            with pytest.raises(hitl.Expired):
                await asking
            with pytest.raises((hitl.Expired, hitl.AlreadyDecided)):
                await hitl.decide(request, hitl.Approve())

    async def test_nobody_there_withdraws_it_and_says_so(self) -> None:
        """R5, F25."""
        with pytest.raises(hitl.NoReviewer, match="nothing ran"):
            await hitl.confirm("Go?")
        assert hitl.history()[0]["state"] == "withdrawn"

    async def test_an_interrupted_one_without_a_key_is_withdrawn(self) -> None:
        """R16, F29."""
        with passing():
            asking = asyncio.create_task(hitl.confirm("Go?"))
            request = await first_pending()
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            assert not request.resumable, "said on its card while it waits"
            with pytest.raises(hitl.AlreadyDecided, match="withdrawn"):
                await hitl.decide(request, hitl.Approve())


begun = asyncio.Event()


@hitl.require_approval(key=lambda name: f"do-{name}")
async def keyed(name: str) -> str:
    if name == "slow":
        begun.set()
        await asyncio.Event().wait()
    if name == "bad":
        raise ValueError("not that")
    return f"did {name}"


class TestKey:
    """R22."""

    async def test_waits_when_nobody_is_there_and_is_answered_once(self) -> None:
        with pytest.raises(hitl.RunSuspended, match="hitl-widgets inbox approve r_"):
            await hitl.confirm("Go?", key="go")
        (request,) = await hitl.pending()
        with pytest.raises(hitl.RunSuspended):
            await hitl.confirm("Go?", key="go")
        assert len(await hitl.pending()) == 1, "the same key attaches"
        await hitl.decide(request, hitl.Approve())
        with passing():
            assert await hitl.confirm("Go?", key="go") is True
        with pytest.raises(hitl.RunSuspended):
            await hitl.confirm("Go?", key="go")
        assert len(await hitl.pending()) == 1, "handed out once, then asked again"

    async def test_another_question_under_the_same_key_is_an_error(self) -> None:
        with pytest.raises(hitl.RunSuspended):
            await hitl.confirm("Go?", key="go")
        with pytest.raises(hitl.AgentDefinitionError, match="'go' already names"):
            await hitl.confirm("Stop?", key="go")

    async def test_decided_from_elsewhere_it_goes_on_with_nobody_here(self) -> None:
        with pytest.raises(hitl.RunSuspended):
            await keyed("a")
        (request,) = await hitl.pending()
        await hitl.decide(request, hitl.Approve())
        assert await keyed("a") == "did a"
        with pytest.raises(hitl.RunSuspended):
            await keyed("b")
        (request,) = await hitl.pending()
        await hitl.decide(request, hitl.Decline("no"))
        with pytest.raises(hitl.Declined, match="no"):
            await keyed("b")

    async def test_what_a_human_gave_up_is_no_result(self) -> None:
        """R13."""
        with passing():
            doing = asyncio.create_task(keyed("slow"))
            request = await first_pending()
            await hitl.decide(request, hitl.Approve())
            await begun.wait()
            doing.cancel()
            with pytest.raises(asyncio.CancelledError):
                await doing
        (unknown,) = await hitl.pending()
        assert unknown.state == "outcome_unknown"
        with pytest.raises(hitl.OutcomeUnknown):
            await keyed("slow")
        await hitl.settle(unknown, "give_up")
        with pytest.raises(hitl.OutcomeUnknown, match="failed"):
            await keyed("slow")

    async def test_an_outcome_that_nobody_received_is_handed_out_once(self) -> None:
        """The process ended it and died before its caller had it."""
        with pytest.raises(hitl.RunSuspended):
            await keyed("a")
        (request,) = await hitl.pending()
        await hitl.decide(request, hitl.Approve())
        store = request.store
        assert store is not None
        store.adopt(request.run_id, "the dead")
        store.claim(
            request.id, "the dead", "t", fingerprint=request.fingerprint, schema_digest=None
        )
        store.finish(request.tool_call_id, "t", "done", {"type": "result", "value": "did a"})
        outcome = {"request_state": "done", "text": "", "value": "did a, before"}
        store.end_run(request.run_id, "the dead", "completed", outcome)
        assert await keyed("a") == "did a, before"
        with pytest.raises(hitl.RunSuspended):
            await keyed("a")

    async def test_what_the_function_raised_was_received(self) -> None:
        """Its caller had the error: the next one is asked, not told of it again."""
        raised = hitl.Approve(), hitl.Approve()
        with hitl.reviewer(scripted(*raised)):
            for _ in raised:
                with pytest.raises(ValueError, match="not that"):
                    await keyed("bad")
        assert [row["state"] for row in hitl.history()] == ["failed", "failed"]

    @pytest.mark.parametrize(
        ("setting", "error"), [("decline", hitl.Declined), ("error", hitl.NoReviewer)]
    )
    async def test_the_declared_headless_behaviour_applies(
        self, setting: Any, error: type[Exception]
    ) -> None:
        """R5."""
        hitl.configure(headless=setting)
        try:
            with pytest.raises(error):
                await keyed("a")
        finally:
            hitl.configure(headless="suspend")
        assert await hitl.pending() == []

    async def test_an_interrupted_one_stays_pending(self) -> None:
        with passing():
            asking = asyncio.create_task(hitl.confirm("Go?", key="go"))
            request = await first_pending()
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            assert request.resumable
            await hitl.decide(request, hitl.Approve())
            assert await hitl.confirm("Go?", key="go") is True

    async def test_two_callers_have_one_question_and_the_later_is_told_of_the_other(self) -> None:
        with passing():
            asking = asyncio.create_task(hitl.confirm("Go?", key="go"))
            request = await first_pending()
            with pytest.raises(hitl.RunSuspended, match="waited for elsewhere"):
                await hitl.confirm("Go?", key="go")
            assert [r.id for r in await hitl.pending()] == [request.id]
            await hitl.decide(request, hitl.Approve())
            assert await asking is True


ran: list[Any] = []


@hitl.require_approval(effect="destructive", secret=("/token",))
async def drop_table(name: str, token: str = "t0ken-secret") -> str:  # noqa: S107
    """Drop a table."""
    ran.append((name, token))
    return f"dropped {name}"


@hitl.require_approval
def shrink(factor: float = 0.5) -> float:
    """Shrink it."""
    ran.append(factor)
    return factor


@pytest.fixture(autouse=True)
def _forget() -> None:
    ran.clear()


class TestGatedFunctions:
    def test_keep_signature_annotations_docstring_and_kind(self) -> None:
        assert str(inspect.signature(drop_table)) == (
            "(name: 'str', token: 'str' = 't0ken-secret') -> 'str'"
        )
        assert drop_table.__doc__ == "Drop a table."
        assert inspect.iscoroutinefunction(drop_table)
        assert not inspect.iscoroutinefunction(shrink)
        assert inspect.iscoroutinefunction(shrink.aio)  # type: ignore[attr-defined]

    async def test_run_once_when_approved_with_secrets_unseen(self) -> None:
        seen = scripted(hitl.Approve())
        with hitl.reviewer(seen):
            assert await drop_table("orders") == "dropped orders"
        assert ran == [("orders", "t0ken-secret")]
        assert seen.seen[0].args == {"name": "orders", "token": "••••"}
        assert seen.seen[0].effect == "destructive"

    async def test_do_not_run_when_declined(self) -> None:
        with hitl.reviewer(scripted(hitl.Decline("keep it"))), pytest.raises(hitl.Declined):
            await drop_table("orders")
        assert ran == []

    async def test_only_its_reviewers_count_and_as_many_as_it_needs(self) -> None:
        """F30."""

        @hitl.require_approval(reviewers=["ada", "bob"], quorum=2)
        async def drop() -> str:
            return ran.append("drop") or "dropped"

        with passing():
            dropping = asyncio.create_task(drop())
            request = await first_pending()
            with pytest.raises(hitl.NotPermitted, match="ada"):
                await hitl.decide(request, hitl.Approve(), reviewer="eve")
            first = await hitl.decide(request, hitl.Approve(), reviewer="ada")
            assert (first.state, first.votes, first.quorum) == ("pending", 1, 2)
            with pytest.raises(hitl.AlreadyDecided):
                await hitl.decide(request, hitl.Approve(), reviewer="ada")
            assert ran == []
            await hitl.decide(request, hitl.Approve(), reviewer="bob")
            assert await dropping == "dropped"
        assert ran == ["drop"]

    @pytest.mark.parametrize("on_expire", ["decline", "withdraw"])
    async def test_do_not_run_when_the_time_is_over(self, on_expire: Any) -> None:
        """R5, F24: what then happens is what stands on the card."""

        @hitl.require_approval(expires=0.05, on_expire=on_expire)
        async def drop() -> None:
            ran.append("drop")

        seen = scripted()
        with hitl.reviewer(seen), pytest.raises(hitl.Expired, match="nothing ran"):
            await drop()
        assert ran == []
        assert seen.seen[0].on_expire == on_expire
        assert hitl.history()[0]["state"] == "expired"

    async def test_respond_gives_the_result_instead(self) -> None:
        with hitl.reviewer(scripted(hitl.Respond("pretend"))):
            assert await drop_table("orders") == "pretend"
        assert ran == []

    async def test_what_the_function_raises_is_raised_and_recorded(self) -> None:
        @hitl.require_approval
        async def broken() -> None:
            raise ValueError("really")

        with hitl.reviewer(scripted(hitl.Approve())), pytest.raises(ValueError, match="really"):
            await broken()
        assert hitl.history()[0]["state"] == "failed"

    async def test_an_error_that_quotes_a_secret_is_kept_without_it(self) -> None:
        """R17: its caller has all of it."""

        @hitl.require_approval(secret=("/pin",), key="login")
        async def login(user: str, pin: int) -> None:
            raise ValueError(f"{user} may not log in with {pin}")

        with hitl.reviewer(scripted(hitl.Approve())), pytest.raises(ValueError, match="4711"):
            await login("ada", 4711)
        (failed,) = await hitl.pending(state="failed")
        store = failed.store
        assert store is not None
        kept = repr([store.calls(failed.run_id), store.run(failed.run_id), store.events()])
        assert "ada may not log in with ••••" in kept
        assert b"4711" not in Path(store.location).read_bytes()

    async def test_an_error_without_words_has_failed_all_the_same(self) -> None:
        class Mute(Exception):
            def __str__(self) -> str:
                raise RuntimeError("no words")

        @hitl.require_approval
        async def broken() -> None:
            raise Mute

        with hitl.reviewer(scripted(hitl.Approve())), pytest.raises(Mute):
            await broken()
        assert hitl.history()[0]["state"] == "failed"

    def test_a_sync_one_blocks_without_a_loop(self) -> None:
        with hitl.reviewer(hitl.testing.AutoApprove()):
            assert shrink(0.25) == 0.25

    async def test_a_sync_one_in_a_worker_thread(self) -> None:
        with hitl.reviewer(hitl.testing.AutoApprove()):
            assert await asyncio.to_thread(shrink, 0.25) == 0.25

    async def test_a_sync_one_on_a_running_loop_with_nobody_says_what_to_await(self) -> None:
        with pytest.raises(hitl.NoReviewer, match=r"await fn\.aio"):
            shrink()

    async def test_methods_say_on_which_object(self) -> None:
        """F2: an approval for one account is none for another."""

        class Account:
            def __init__(self, owner: str) -> None:
                self.owner = owner

            @hitl.require_approval
            async def close(self, why: str) -> str:
                return f"{self.owner}: {why}"

        seen = scripted(hitl.Approve(), hitl.Approve())
        with hitl.reviewer(seen):
            assert await Account("ada").close("x") == "ada: x"
            assert await Account("bob").close("x") == "bob: x"
        first, second = seen.seen
        assert first.args["self"]["value"] == {"owner": "ada"}
        assert first.fingerprint != second.fingerprint

    async def test_a_secret_of_the_object_is_unseen_and_tells_it_from_others(self) -> None:
        """R17."""

        class Account:
            def __init__(self, token: str) -> None:
                self.owner, self.token = "ada", SecretStr(token)

            @hitl.require_approval
            async def close(self) -> str:
                return self.owner

        seen = scripted(hitl.Approve(), hitl.Approve(), hitl.Approve())
        with hitl.reviewer(seen):
            await Account("hunter2").close()
            await Account("hunter2").close()
            await Account("hunter3").close()
        first, same, other = seen.seen
        assert first.args["self"]["value"] == {"owner": "ada", "token": "••••"}
        assert first.fingerprint == same.fingerprint != other.fingerprint
        (ended, *_) = await hitl.pending(state="done")
        assert ended.store is not None
        assert b"hunter" not in Path(ended.store.location).read_bytes()

    async def test_a_method_of_an_object_that_nothing_tells_apart_has_to_be_described(self) -> None:
        class Opaque:
            def __init__(self) -> None:
                self.lock = object()

            @hitl.require_approval
            async def go(self) -> int:
                return 1

        with pytest.raises(hitl.NotDescribable, match="__repr__"):
            await Opaque().go()

    def test_a_sync_body_runs_on_the_callers_thread(self) -> None:
        @hitl.require_approval
        def where() -> int:
            return threading.get_ident()

        with hitl.reviewer(hitl.testing.AutoApprove()):
            assert where() == threading.get_ident()

    async def test_a_sync_body_runs_on_the_callers_thread_under_a_running_loop(self) -> None:
        @hitl.require_approval
        def where() -> int:
            return threading.get_ident()

        with hitl.reviewer(hitl.testing.AutoApprove()):
            assert where() == threading.get_ident()

    async def test_edited_arguments_are_refused_at_once(self) -> None:
        with passing():
            dropping = asyncio.create_task(drop_table("orders"))
            request = await first_pending()
            with pytest.raises(hitl.NotAsked, match="cannot be edited"):
                await hitl.decide(request, hitl.Approve(args={"name": "x", "token": "y"}))
            await hitl.decide(request, hitl.Approve())
            assert await dropping == "dropped orders"

    @pytest.mark.parametrize("thing", ["iterator", "file", "generator"])
    async def test_what_is_used_up_by_looking_at_it_is_refused(
        self, thing: str, tmp_path: Path
    ) -> None:
        """F19: what is shown is what runs."""

        @hitl.require_approval
        async def use(thing: Any) -> None: ...

        (tmp_path / "x").write_text("content")
        with (
            (tmp_path / "x").open() as file,
            pytest.raises(hitl.NotDescribable, match="used up"),
        ):
            await use({"iterator": iter([1]), "file": file, "generator": (i for i in [1])}[thing])

    async def test_values_of_other_types_are_other_calls(self) -> None:
        @hitl.require_approval
        async def use(x: Any) -> None: ...

        seen = scripted(lambda _: hitl.Approve())
        values = [b"1", "1", Decimal(1), 1, {1}, date(2026, 1, 1), "2026-01-01"]
        with hitl.reviewer(seen):
            for value in values:
                await use(value)
        assert len({r.fingerprint for r in seen.seen}) == len(values)

    @pytest.mark.parametrize(
        "options",
        [
            {"effect": "boom"},
            {"quorum": 0},
            {"secret": "/x"},
            {"secret": ("x",)},
            {"reviewers": "bob"},
            {"on_expire": "approve"},
            {"expires": "1"},
            {"key": 5},
        ],
        ids=str,
    )
    def test_impossible_options_are_refused_where_they_are_given(self, options: Any) -> None:
        async def f() -> None: ...

        with pytest.raises(hitl.AgentDefinitionError, match="require_approval on f"):
            hitl.require_approval(**options)(f)
        with pytest.raises(TypeError, match="efect"):
            hitl.require_approval(efect="write")(f)  # type: ignore[call-overload]

    async def test_inside_another_frameworks_tool(self) -> None:
        """The real pydantic-ai agent calls it as its own tool; the schema is the function's."""
        from pydantic_ai import Agent
        from pydantic_ai.models.test import TestModel

        agent = Agent(TestModel(), tools=[drop_table])
        seen = scripted(hitl.Approve())
        with hitl.reviewer(seen):
            done = await agent.run("drop something")
        assert "dropped" in done.output
        assert len(ran) == 1

    async def test_an_argument_without_an_exact_form_says_how_to_describe_it(self) -> None:
        @hitl.require_approval
        async def use(thing: object) -> None: ...

        with pytest.raises(hitl.NotDescribable, match=r"describe=\{name: function\}"):
            await use(object())

        @hitl.require_approval(describe={"thing": lambda _: "a thing"})
        async def use_described(thing: object) -> int:
            return 1

        with hitl.reviewer(scripted(hitl.Approve())):
            assert await use_described(object()) == 1


class TestTables:
    async def test_a_frame_is_described_by_shape_and_content(self) -> None:
        pd = pytest.importorskip("pandas")
        frame = pd.DataFrame({"id": [1, 2, 3], "name": ["a", "b", "c"]})

        @hitl.require_approval
        async def delete(rows: Any) -> int:
            return len(rows)

        seen = scripted(hitl.Approve())
        with hitl.reviewer(seen):
            assert await delete(frame) == 3
        told = seen.seen[0].args["rows"]
        assert told["$described"] == "table"
        assert told["shape"] == [3, 2]
        assert told["columns"] == {"id": "int64", "name": told["columns"]["name"]}
        assert told["rows"][0] == [1, "a"]

    async def test_a_digest_over_a_masked_column_takes_part_unseen(self) -> None:
        """R17: an open one would be searched for what is masked."""
        pd = pytest.importorskip("pandas")
        one, other = (pd.DataFrame({"id": [1], "pin": [pin]}) for pin in (1234, 9876))

        @hitl.require_approval(secret=("/users/*/rows/*/1",))
        async def store(users: Any, plain: Any) -> None: ...

        seen = scripted(hitl.Approve(), hitl.Approve())
        with hitl.reviewer(seen):
            await store([one], one)
            await store([other], one)
        first, second = seen.seen
        assert first.args["users"][0]["rows"] == [[1, "••••"]]
        assert first.args == second.args
        assert first.args["users"][0]["sha256"] == "••••"
        assert len(first.args["plain"]["sha256"]) == 64
        assert first.fingerprint != second.fingerprint
        assert first.digests["/users/0/sha256"] != second.digests["/users/0/sha256"]

    async def test_columns_of_one_name_are_all_shown(self) -> None:
        pd = pytest.importorskip("pandas")

        @hitl.require_approval
        async def drop(rows: Any) -> None: ...

        seen = scripted(hitl.Approve())
        with hitl.reviewer(seen):
            await drop(pd.DataFrame([[1, "a", 2.0]], columns=["x", "x", "x (2)"]))
        told = seen.seen[0].args["rows"]
        assert list(told["columns"]) == ["x", "x (2)", "x (2) (2)"]
        assert len(told["rows"][0]) == 3

    async def test_data_that_changes_while_waiting_is_asked_again(self) -> None:
        """R3: the approval was for what was seen; the changed frame does not run on it."""
        pd = pytest.importorskip("pandas")
        frame = pd.DataFrame({"id": [1, 2, 3]})

        @hitl.require_approval
        async def delete(rows: Any) -> int:
            return int(rows["id"].sum())

        with passing():
            deleting = asyncio.create_task(delete(frame))
            request = await first_pending()
            frame.loc[0, "id"] = 100
            await hitl.decide(request, hitl.Approve())
            again = await first_pending()
            assert again.id != request.id
            assert again.fingerprint != request.fingerprint
            assert again.scope["stale"].startswith("delete (r_")
            await hitl.decide(again, hitl.Approve())
            assert await deleting == 105
        states = [row["state"] for row in hitl.history()]
        assert states == ["stale", "done"]

    async def test_files_are_described_by_content(self, tmp_path: Path) -> None:
        file = tmp_path / "data.csv"
        file.write_text("1,2")

        @hitl.require_approval
        async def load(path: Path) -> str:
            return path.read_text()

        seen = scripted(hitl.Approve())
        with hitl.reviewer(seen):
            assert await load(file) == "1,2"
        assert seen.seen[0].args["path"]["bytes"] == 3


WAIT = """
import asyncio, hitl_widgets as hitl
async def main():
    with hitl.reviewer(lambda r: print("asked", flush=True)):
        print(await hitl.confirm("Go?", **{options}))
asyncio.run(main())
"""


@contextlib.contextmanager
def asking_process(**options: Any) -> Iterator[subprocess.Popen[str]]:
    """A process that waits for an answer."""
    code = WAIT.replace("{options}", repr(options))
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "asked\n"
        yield process


class TestDeadProcess:
    async def test_without_a_key_it_is_lost_never_approvable(self) -> None:
        """R14."""
        with asking_process() as process:
            (request,) = await hitl.pending()
            process.send_signal(signal.SIGKILL)
        assert await hitl.pending() == []
        with pytest.raises(hitl.AlreadyDecided, match="withdrawn"):
            await hitl.decide(request, hitl.Approve())

    async def test_with_a_key_it_waits_for_the_next_process(self) -> None:
        """R14, R22."""
        with asking_process(key="go") as process:
            (request,) = await hitl.pending()
            process.send_signal(signal.SIGKILL)
        await hitl.decide(request, hitl.Approve())
        with passing():
            assert await hitl.confirm("Go?", key="go") is True

    async def test_a_decision_made_here_wakes_the_process_that_waits(self) -> None:
        with asking_process() as process:
            (request,) = await hitl.pending()
            await hitl.decide(request, hitl.Approve())
            out, _ = process.communicate(timeout=30)
        assert out == "True\n"
