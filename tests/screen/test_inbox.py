"""The inbox, with a real desk on a real store, spoken to as a page speaks to it."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

import hitl_widgets as hitl
from hitl_widgets import surface
from hitl_widgets.desk import Desk, desk_of
from hitl_widgets.request import Approve, Decline, Request, utc
from hitl_widgets.screen import inbox as inbox_module
from hitl_widgets.screen.inbox import Inbox
from hitl_widgets.screen.surface import WidgetSurface
from hitl_widgets.store.sqlite import SqliteStore
from tests.rules.making import Witness, agent_on
from tests.store.making import OUTCOME, a_call, a_run, a_vote, claim, gated, waiting

from .fakes import answers, say, sent, updates

_ids = (f"m{n}" for n in itertools.count())


@pytest.fixture
def desk(store: SqliteStore) -> Desk:
    return desk_of(store)


def asked(store: SqliteStore, n: int, tool: str = "pay", args: Any = None, **more: Any) -> Request:
    """Request ``req_<n>``, in a run of its own."""
    call = a_call(f"call_{n}", f"run_{n}", tool_name=tool, args=args or {"to": f"user-{n}"})
    run = a_run(f"run_{n}")
    store.open_run(run, frames={f"run_{n}": {}}, calls=[gated(call, f"req_{n}", **more)])
    store.release(f"run_{n}", "lease", "suspended")
    return store.request(f"req_{n}")


async def ask(inbox: Inbox, type_: str, **content: Any) -> dict[str, Any]:
    """The answer to a page's message."""
    id_ = next(_ids)
    say(inbox, {"type": type_, "id": id_, **content})
    found: list[dict[str, Any]] = []

    def answered() -> bool:
        found[:] = [a for a in answers(inbox) if a.get("id") == id_]
        return bool(found)

    await sent(inbox, answered)
    return found[0]


async def rows(inbox: Inbox, offset: int = 0, limit: int = 50, **search: Any) -> dict[str, Any]:
    """One page of what waits."""
    doc = {"among": "waiting", **search}
    told = await ask(inbox, "rows", search=doc, offset=offset, limit=limit, tally=True)
    assert told["type"] == "ack", told
    return told["rows"]


def each(verdict: str, *requests: Request) -> dict[str, Any]:
    """A batch as the page sends it."""
    return {
        "requests": [{"request_id": r.id, "fingerprint": r.fingerprint} for r in requests],
        "decision": {"verdict": verdict},
        "visible_ms": 900,
    }


@contextmanager
def shown() -> Iterator[WidgetSurface]:
    """Where runs are shown, for a while."""
    made, before = WidgetSurface(can_ask=lambda _background: True, origin=dict), surface._factory
    surface.provide(lambda: made)
    try:
        yield made
    finally:
        surface._factory = before
        surface.reset()


class TestTheList:
    async def test_a_page_of_it_is_handed_out_not_all(self, desk: Desk, store: SqliteStore) -> None:
        for n in range(12):
            asked(store, n)
        inbox = Inbox(desk=desk)
        page = await rows(inbox, offset=5, limit=3)
        assert page["total"] == 12
        assert [row["id"] for row in page["rows"]] == ["req_5", "req_6", "req_7"]
        assert page["tally"]["tool"] == {"pay": 12}
        assert inbox.requests == []
        assert (inbox.view["waiting"], inbox.view["unknown"]) == (12, 0)

    async def test_its_store_is_named_as_people_name_what_is_in_their_home(
        self, desk: Desk, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert Inbox(desk=desk).view["store"] == store.location
        folder, _, name = store.location.rpartition("/")
        monkeypatch.setenv("HOME", folder)
        assert Inbox(desk=desk).view["store"] == f"~/{name}"

    async def test_it_is_filtered_and_sorted(self, desk: Desk, store: SqliteStore) -> None:
        asked(store, 1, "pay", agent_id="ada", origin={"notebook": "a.ipynb"}, thread_id="t")
        asked(store, 2, "drop", {"table": "orders"}, agent_id="bob")
        inbox = Inbox(desk=desk)

        async def ids(**search: Any) -> list[str]:
            return [row["id"] for row in (await rows(inbox, **search))["rows"]]

        assert await ids(agent="ada") == ["req_1"]
        assert await ids(thread="t") == ["req_1"]
        assert await ids(tool="drop") == ["req_2"]
        assert await ids(notebook="a.ipynb") == ["req_1"]
        assert await ids(text="ORDERS") == ["req_2"]
        assert await ids(youngest=3600) == []
        assert await ids(oldest=3600) == ["req_1", "req_2"]
        assert await ids(order="tool") == ["req_2", "req_1"]
        assert await ids(state="outcome_unknown") == []
        assert await ids(among="history") == []

    async def test_a_summary_says_that_it_is_cut_and_holds_no_secret(
        self, desk: Desk, store: SqliteStore
    ) -> None:
        asked(store, 1, args={"key": "••••", "text": "x" * 500}, secrets=("/key",))
        asked(store, 2, message="May I?")
        first, second = (await rows(Inbox(desk=desk)))["rows"]
        assert first["summary"].startswith('key="••••", text="xxx')
        assert (first["cut"], len(first["summary"])) == (True, 200)
        assert (second["cut"], second["summary"]) == (False, "May I?")

    async def test_what_was_decided_is_history(self, desk: Desk, store: SqliteStore) -> None:
        one = asked(store, 1)
        await desk.decide(one, Decline(), reviewer="ada")
        inbox = Inbox(desk=desk)
        assert (await rows(inbox))["total"] == 0
        [row] = (await rows(inbox, among="history", order="decided"))["rows"]
        assert (row["verdict"], row["reviewer"], row["state"]) == ("decline", "ada", "declined")


class TestFromTheStart:
    @pytest.mark.parametrize(("waiting", "opened"), [(3, ["req_0", "req_1", "req_2"]), (4, [])])
    def test_a_few_are_opened_and_many_are_not(
        self, desk: Desk, store: SqliteStore, waiting: int, opened: list[str]
    ) -> None:
        for n in range(waiting):
            asked(store, n)
        assert [view["id"] for view in Inbox(desk=desk).requests] == opened


class TestItIsLive:
    async def test_what_another_process_asks_appears_and_what_it_decides_vanishes(
        self, desk: Desk, store: SqliteStore
    ) -> None:
        """Another store object on the file is another process as far as the desk can tell."""
        inbox = Inbox(desk=desk)
        other = SqliteStore(store.location)
        one = asked(other, 1)
        await sent(inbox, lambda: inbox.view["waiting"] == 1)
        other.decide([a_vote(one.id, "declined")])
        await sent(inbox, lambda: inbox.view["waiting"] == 0)
        assert inbox.view["version"] >= 2
        other.close()

    async def test_an_opened_card_shows_what_was_decided_elsewhere(
        self, desk: Desk, store: SqliteStore
    ) -> None:
        """R12."""
        one = asked(store, 1)
        inbox = Inbox(desk=desk)
        await ask(inbox, "open", request_id=one.id, open=True)
        assert [r["state"] for r in inbox.requests] == ["pending"]
        await desk.decide(one, Decline(), reviewer="ada")
        await sent(inbox, lambda: inbox.requests[0]["state"] == "declined")
        assert inbox.requests[0]["decided"]["reviewer"] == "ada"
        await ask(inbox, "open", request_id=one.id, open=False)
        assert inbox.requests == []

    async def test_many_changes_are_one_message(self, desk: Desk, store: SqliteStore) -> None:
        inbox = Inbox(desk=desk)
        for n in range(30):
            asked(store, n)
        desk.look()
        await sent(inbox, lambda: inbox.view["waiting"] == 30)
        assert len(updates(inbox, "view")) <= 3

    async def test_time_that_is_over_is_noticed_without_anybody_asking(
        self, desk: Desk, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """R12, R13: an inbox looks for the dead while it is open."""
        monkeypatch.setattr(inbox_module, "SWEEP", 0.02)
        soon = utc(1000)
        asked(store, 1, expires_at=soon)
        inbox = Inbox(desk=desk)
        assert inbox.view["waiting"] == 1
        await sent(inbox, lambda: inbox.view["waiting"] == 0)
        assert store.request("req_1").state == "expired"


class TestDecidingTogether:
    async def test_each_is_decided_by_itself_and_what_was_lost_is_told(
        self, desk: Desk, store: SqliteStore
    ) -> None:
        """R1: one that somebody else was faster with stops no other."""
        one, two, three = (asked(store, n) for n in range(3))
        await desk.decide(two, Decline(), reviewer="ada")
        told = await ask(Inbox(desk=desk), "decide-each", **each("approve", one, two, three))
        outcomes = {o["request_id"]: (o["state"], o["code"]) for o in told["outcomes"]}
        assert outcomes == {
            "req_0": ("approved", None),
            "req_1": (None, "AlreadyDecided"),
            "req_2": ("approved", None),
        }
        assert "ada" in told["outcomes"][1]["words"]
        assert [store.request(r.id).via for r in (one, three)] == ["inbox", "inbox"]

    async def test_two_inboxes_at_once_decide_each_exactly_once(
        self, desk: Desk, store: SqliteStore
    ) -> None:
        """R1."""
        requests = [asked(store, n) for n in range(10)]
        mine, others = Inbox(desk=desk), Inbox(desk=desk_of(SqliteStore(store.location)))
        yes, no = await asyncio.gather(
            ask(mine, "decide-each", **each("approve", *requests)),
            ask(others, "decide-each", **each("decline", *requests)),
        )
        won = [o["request_id"] for told in (yes, no) for o in told["outcomes"] if o["state"]]
        assert sorted(won) == sorted(r.id for r in requests)

    async def test_what_was_shown_is_what_is_decided(self, desk: Desk, store: SqliteStore) -> None:
        """R3: a fingerprint that is not the stored one does not count."""
        one, two = asked(store, 1), asked(store, 2)
        content = each("approve", one, two)
        content["requests"][0]["fingerprint"] = "hf1:another"
        told = await ask(Inbox(desk=desk), "decide-each", **content)
        assert [o["code"] for o in told["outcomes"]] == ["StaleFingerprint", None]
        assert store.request(one.id).state == "pending"

    @pytest.mark.parametrize(
        "other",
        [
            {"tool": "drop"},
            {"args": {"to": "x", "amount": 1}},
            {"effect": "destructive"},
            {"agent_path": ("boss", "agent")},
            {"scope": {"schema_digest": "other"}},
            {"scope": {"schema_digest": "sd", "how": "confirm"}},
            {"scope": {"schema_digest": "sd", "portable": False}},
            {"allowed": ("approve",)},
            {"on_expire": "withdraw"},
            {"expires_at": datetime(2999, 1, 1, tzinfo=UTC)},
            {"quorum": 2},
            {"reviewers": ("ada",)},
            {"evaluation": {"type": "effect"}},
        ],
    )
    async def test_calls_that_are_not_alike_are_not_approved_together(
        self, desk: Desk, store: SqliteStore, other: dict[str, Any]
    ) -> None:
        one, two = asked(store, 1), asked(store, 2, **other)
        inbox = Inbox(desk=desk)
        looked = (await ask(inbox, "look", request_ids=[one.id, two.id]))["looked"]
        assert looked[0]["alike"] != looked[1]["alike"]
        told = await ask(inbox, "decide-each", **each("approve", one, two))
        assert told["code"] == "NotAsked"
        assert {store.request(r.id).state for r in (one, two)} == {"pending"}

    async def test_they_are_declined_together_all_the_same(
        self, desk: Desk, store: SqliteStore
    ) -> None:
        one, two = asked(store, 1), asked(store, 2, "drop")
        told = await ask(Inbox(desk=desk), "decide-each", **each("decline", one, two))
        assert [o["state"] for o in told["outcomes"]] == ["declined", "declined"]

    async def test_calls_that_differ_in_values_only_are_alike(
        self, desk: Desk, store: SqliteStore
    ) -> None:
        one, two = asked(store, 1), asked(store, 2)
        looked = (await ask(Inbox(desk=desk), "look", request_ids=[one.id, two.id, "gone"]))[
            "looked"
        ]
        assert len({each_["alike"] for each_ in looked}) == 1
        assert [each_["view"]["fingerprint"] for each_ in looked] == [
            one.fingerprint,
            two.fingerprint,
        ]
        assert all(each_["together"] for each_ in looked)

    async def test_an_input_is_never_approved_together(
        self, desk: Desk, store: SqliteStore
    ) -> None:
        """F9: an input takes data, and a yes is none."""
        one = asked(store, 1, kind="input", allowed=("answer", "decline"))
        inbox = Inbox(desk=desk)
        [looked] = (await ask(inbox, "look", request_ids=[one.id]))["looked"]
        assert looked["together"] is False
        assert (await ask(inbox, "decide-each", **each("approve", one)))["code"] == "NotAsked"

    async def test_one_that_asks_again_is_approved_on_its_card(
        self, desk: Desk, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """R3: what became another since a person approved it stands on no table."""
        monkeypatch.setitem(globals(), "stock", [1])

        @hitl.tool(require_approval=True, reads=("stock",))
        async def sell(n: int) -> str:
            "Sell."
            return f"sold {n}"

        turns = [[hitl.call("sell", n=1), hitl.call("sell", n=2)], "."]
        agent = agent_on(store, turns, [sell])
        run = await agent.generate("go")
        monkeypatch.setitem(globals(), "stock", [1, 2])
        with pytest.raises(hitl.StaleFingerprint):
            await agent.approve_tool_call(
                run_id=run.run_id, tool_call_id=run.requests[0].tool_call_id
            )
        found = store.requests(states=("pending",))
        again = next(r for r in found if r.ordinal > 0)
        other = next(r for r in found if r.ordinal == 0)
        inbox = Inbox(desk=desk)
        looked = (await ask(inbox, "look", request_ids=[again.id, other.id]))["looked"]
        assert [one["together"] for one in looked] == [False, True]
        assert looked[0]["alike"] != looked[1]["alike"]
        assert (await ask(inbox, "decide-each", **each("approve", again)))["code"] == "NotAsked"
        assert store.request(again.id).state == "pending"


class TestTheOtherTabs:
    async def test_an_unknown_outcome_is_settled(self, desk: Desk, store: SqliteStore) -> None:
        """R13."""
        call = a_call("call_1", "run_1")
        store.open_run(a_run("run_1"), frames={"run_1": {}}, calls=[gated(call, "req_1")])
        store.decide([a_vote("req_1")])
        claim(store, "req_1")
        store.lose("call_1", "call", "its task was cancelled")
        inbox = Inbox(desk=desk)
        assert (inbox.view["waiting"], inbox.view["unknown"]) == (0, 1)
        [row] = (await rows(inbox, state="outcome_unknown"))["rows"]
        await ask(inbox, "settle", request_id=row["id"], how="happened", text='{"rows": 3}')
        assert store.request("req_1").state == "done"
        await sent(inbox, lambda: inbox.view["unknown"] == 0)

    async def test_grants_are_listed_and_revoked(self, desk: Desk, store: SqliteStore) -> None:
        """R20."""
        grant = {"id": "g_1", "tool_name": "pay", "words": "pay with any arguments", "reach": "run"}
        store.add_grant(grant, reviewer="ada", via="card")
        inbox = Inbox(desk=desk)
        [told] = (await ask(inbox, "grants"))["grants"]
        assert (told["id"], told["words"], told["reviewer"]) == (
            "g_1",
            "pay with any arguments",
            "ada",
        )
        assert (await ask(inbox, "revoke", grant_id="g_1"))["type"] == "ack"
        assert (await ask(inbox, "grants"))["grants"] == []
        assert store.events()[-1].doc["via"] == "inbox"
        assert (await ask(inbox, "revoke", grant_id="g_1"))["code"] == "RequestNotFound"


class TestWhatStaysInTheNotebook:
    def test_the_first_of_them_and_how_many_more(self, desk: Desk, store: SqliteStore) -> None:
        for n in range(23):
            asked(store, n)
        said = Inbox(desk=desk).record()["text/plain"]
        assert said.count("Approval: pay") == 20
        assert "and 3 more" in said


class Knows:
    """Whoever could drive a run on here, and does not get to it."""

    title = "payer"

    def resume(self, run_id: str) -> None:
        """Somebody else is faster."""


class TestRunsThatGoOnFromHere:
    async def test_its_panel_stands_under_the_row_and_shows_the_run_to_its_end(
        self, store: SqliteStore
    ) -> None:
        """R14: decided in the inbox, it is driven on in the background."""
        witness = Witness()
        turns = [[hitl.call("delete_record", id="abc-123")], "It is gone."]
        agent = agent_on(store, turns, [witness.deleting()])
        stopped = await agent.generate("Delete it.")
        assert stopped.finish_reason == "suspended"
        with shown() as screens:
            inbox = Inbox(desk=desk_of(store), shown=screens)
            [request] = stopped.requests
            await ask(inbox, "open", request_id=request.id, open=True)
            told = await ask(
                inbox,
                "decide",
                request_id=request.id,
                fingerprint=request.fingerprint,
                decision={"verdict": "approve"},
                visible_ms=900,
            )
            assert told["receipt"]["via"] == "inbox"
            result = await agent.attach(stopped.run_id)
            assert (result.text, witness.did) == ("It is gone.", ["abc-123"])
            await sent(inbox, lambda: inbox.view["runs"])
            [ref] = inbox.view["runs"]
            panel = screens.screen_of(stopped.run_id)
            assert panel is not None
            assert ref == {"run_id": stopped.run_id, "panel": f"anywidget:{panel.model_id}"}
            await sent(panel, lambda: panel.view["state"] == "completed")
            assert [i["text"] for i in panel.view["items"] if i["kind"] == "text"] == [
                "It is gone."
            ]
            # It goes with its row.
            await ask(inbox, "open", request_id=request.id, open=False)
            assert panel.comm is None

    async def test_a_run_that_another_process_ended_is_over_here_too(
        self, store: SqliteStore, desk: Desk
    ) -> None:
        one = asked(store, 1)
        desk.experts["agent"] = Knows()  # type: ignore[assignment]
        screens = WidgetSurface(can_ask=lambda _background: True, origin=dict)
        inbox = Inbox(desk=desk, shown=screens)
        other = SqliteStore(store.location)
        other.adopt("run_1", "theirs")
        other.release("run_1", "theirs", "suspended")
        await ask(
            inbox,
            "decide",
            request_id=one.id,
            fingerprint=one.fingerprint,
            decision={"verdict": "decline"},
            visible_ms=900,
        )
        panel = screens.screen_of("run_1")
        assert panel is not None
        assert panel.view["state"] == "running"
        other.adopt("run_1", "theirs")
        other.end_run("run_1", "theirs", "completed", OUTCOME)
        await sent(panel, lambda: panel.view["state"] == "completed")
        other.close()

    async def test_a_decision_that_nobody_acts_on_says_who_has_to(
        self, store: SqliteStore, desk: Desk
    ) -> None:
        """R14, R21: a decision is always recorded, and runs nothing by itself."""
        witness = Witness()
        turns = [[hitl.call("delete_record", id="abc-123")], "It is gone."]
        agent = agent_on(store, turns, [witness.deleting()])
        [request] = (await agent.generate("Delete it.")).requests
        known = dict(desk.experts)
        desk.experts.clear()  # as in a kernel that does not define the agent
        inbox = Inbox(desk=desk)
        await ask(inbox, "open", request_id=request.id, open=True)
        assert inbox.view["idle"] == {}
        told = await ask(inbox, "decide-each", **each("approve", request))
        [outcome] = told["outcomes"]
        assert (outcome["state"], outcome["idle"], outcome["agent"]) == (
            "approved",
            "agent",
            agent.id,
        )
        await sent(inbox, lambda: inbox.view["idle"] == {request.id: "agent"})
        assert witness.did == []
        desk.experts.update(known)
        await agent.resume_decided()
        assert witness.did == ["abc-123"]
        await sent(inbox, lambda: inbox.view["idle"] == {})

    async def test_what_is_driven_here_is_not_said_to_wait_for_anybody(
        self, store: SqliteStore, desk: Desk
    ) -> None:
        witness = Witness()
        turns = [[hitl.call("delete_record", id="abc-123")], "It is gone."]
        agent = agent_on(store, turns, [witness.deleting()])
        [request] = (await agent.generate("Delete it.")).requests
        inbox = Inbox(desk=desk)
        await ask(inbox, "open", request_id=request.id, open=True)
        [outcome] = (await ask(inbox, "decide-each", **each("approve", request)))["outcomes"]
        assert outcome["idle"] is None
        await agent.attach(request.run_id)
        await sent(inbox, lambda: inbox.requests[0]["state"] == "done")
        assert inbox.view["idle"] == {}

    @pytest.mark.parametrize(
        ("kind", "driver", "ended", "idle"),
        [
            ("agent", None, False, "agent"),
            ("verb", None, False, "again"),
            ("agent", "here", False, None),
            ("agent", "alive", False, None),
            ("agent", None, True, None),
        ],
    )
    def test_somebody_has_to_act_where_a_run_is_open_and_nobody_drives_it(
        self,
        store: SqliteStore,
        desk: Desk,
        kind: Any,
        driver: str | None,
        *,
        ended: bool,
        idle: Any,
    ) -> None:
        waiting(store, run={"kind": kind})
        if driver == "here":  # between two leases
            desk.drivers["run_1"] = lambda: None
        if driver != "alive":
            store.release("run_1", "lease", "suspended")
        store.decide([a_vote(target="declined")])
        if ended:
            store.adopt("run_1", "again")
            store.end_run("run_1", "again", "completed", OUTCOME)
        assert inbox_module.idle_of(desk, store.request("req_1")) == idle

    async def test_a_decision_that_did_not_count_leaves_no_panel(
        self, store: SqliteStore, desk: Desk
    ) -> None:
        one = asked(store, 1)
        desk.experts["agent"] = Knows()  # type: ignore[assignment]
        screens = WidgetSurface(can_ask=lambda _background: True, origin=dict)
        inbox = Inbox(desk=desk, shown=screens)
        store.decide([a_vote(one.id, "declined")])
        told = await ask(
            inbox,
            "decide",
            request_id=one.id,
            fingerprint=one.fingerprint,
            decision={"verdict": "approve"},
            visible_ms=900,
        )
        assert told["code"] == "AlreadyDecided"
        assert screens.screen_of("run_1") is None or screens.screen_of("run_1").comm is None
        await inbox._refresh()
        assert inbox.view["runs"] == []


def test_an_approval_says_yes_to_nothing_but_itself() -> None:
    """The batch's decision is the plain one: no edit and no grant can ride along."""
    assert Approve() == inbox_module.deskport.decision_of(
        inbox_module.deskport.ApproveDoc(verdict="approve", prepared="x")
    )


def test_alone_it_is_the_inbox_of_the_configured_store(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HITL_STORE", store.location)
    asked(store, 1)
    inbox = Inbox()
    assert (inbox.view["store"], inbox.view["waiting"]) == (store.location, 1)
