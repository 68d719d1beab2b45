"""A random walk over the table of states: the store does what `ARROWS` says, and nothing else.

The model below knows only the table and which call a request belongs to. Every verb is tried on
requests in every state; one that the table does not allow must raise and change nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from hitl_widgets.errors import AlreadyDecided, Expired, HitlError, LeaseLost, NotPermitted
from hitl_widgets.request import ARROWS, TERMINAL, sources
from hitl_widgets.store.sqlite import SqliteStore

from .making import RESULT, a_call, a_request, a_run, a_vote, again, gated

TABLE = {arrow.verb: arrow for arrow in ARROWS}
DECISIONS = TABLE["decide"].targets
MOVES = ("expire", "withdraw", "make_stale", "block", "refuse")
BY = {"reviewer": "ada", "identity_source": "os", "via": "test"}

which = st.integers(0, 1000)


@dataclass
class ModelRequest:
    id: str
    call: ModelCall
    state: str = "pending"


@dataclass
class ModelCall:
    id: str
    state: str = "waiting"
    token: str = ""
    requests: list[ModelRequest] = field(default_factory=list)

    def shift(self, verb: str, target: str) -> None:
        """Take every request of the call along that the arrow allows."""
        for request in self.requests:
            if request.state in sources(verb):
                request.state = target


class Walk(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.store = SqliteStore(":memory:")
        self.store.open_run(a_run("run_1"))
        self.calls: list[ModelCall] = []
        self.count = 0

    def teardown(self) -> None:
        self._every_change_was_an_arrow()
        self.store.close()

    def _new(self, call: ModelCall) -> ModelRequest:
        self.count += 1
        request = ModelRequest(f"req_{self.count}", call)
        call.requests.append(request)
        return request

    def _request(self, n: int) -> ModelRequest:
        every = [r for c in self.calls for r in c.requests]
        return every[n % len(every)]

    def _call(self, n: int) -> ModelCall:
        return self.calls[n % len(self.calls)]

    def _try(self, allowed: bool, act: Callable[[], object]) -> bool:
        """Act; refused exactly when it is not allowed, and then nothing happened."""
        before = self.store.last_seq()
        try:
            act()
        except (AlreadyDecided, Expired, LeaseLost, NotPermitted):
            done = False
            assert self.store.last_seq() == before
        else:
            done = True
        assert done == allowed, "the table says otherwise"
        return done

    # -- the verbs ---------------------------------------------------------------------------

    @rule()
    def open(self) -> None:
        call = ModelCall(f"call_{len(self.calls) + 1}")
        request = self._new(call)
        self.calls.append(call)
        new = gated(a_call(call.id, index=len(self.calls)), request.id)
        self.store.save("run_1", "lease", calls=[new])

    @precondition(lambda self: self.calls)
    @rule(n=which, to=st.sampled_from(DECISIONS))
    def decide(self, n: int, to: str) -> None:
        request = self._request(n)
        vote = a_vote(request.id, to)  # type: ignore[arg-type]
        if self._try(request.state == "pending", lambda: self.store.decide([vote])):
            request.state = to

    @precondition(lambda self: self.calls)
    @rule(n=which, shown=st.booleans())
    def claim(self, n: int, *, shown: bool) -> None:
        request = self._request(n)
        call = request.call
        fingerprint = "hf1:asshown" if shown else "hf1:another"
        allowed = request.state in sources("claim") and call.state in ("waiting", "parked")
        token = f"token_{self.store.last_seq()}"

        def act() -> None:
            self.store.claim(
                request.id, "lease", token, fingerprint=fingerprint, schema_digest="sd"
            )

        if not shown:
            try:
                act()
            except HitlError:
                return
            raise AssertionError("claimed something else than was approved")
        if self._try(allowed, act):
            request.state = "executing"
            call.shift("unpark", "executing")
            call.state, call.token = "executing", token

    @precondition(lambda self: self.calls)
    @rule(n=which, verb=st.sampled_from(MOVES))
    def move(self, n: int, verb: str) -> None:
        request = self._request(n)
        target = TABLE[verb].targets[0]
        allowed = request.state in sources(verb)
        if self._try(allowed, lambda: self.store.move(request.id, verb, target)):
            request.state = target

    @precondition(lambda self: self.calls)
    @rule(n=which)
    def park(self, n: int) -> None:
        call = self._call(n)
        opens = a_request(f"req_{self.count + 1}", a_call(call.id), ordinal=len(call.requests))
        allowed = call.state == "executing"
        if self._try(allowed, lambda: self.store.park(call.id, call.token, opens)):
            call.shift("park", "parked")
            call.state = "parked"
            self._new(call)

    @precondition(lambda self: self.calls)
    @rule(n=which)
    def resume(self, n: int) -> None:
        call = self._call(n)
        token = f"token_{self.store.last_seq()}"
        allowed = call.state == "parked" and call.requests[-1].state == "parked"
        if self._try(allowed, lambda: self.store.resume_call(call.id, "lease", token)):
            call.shift("unpark", "executing")
            call.state, call.token = "executing", token

    @precondition(lambda self: self.calls)
    @rule(n=which, to=st.sampled_from(["done", "failed"]), zombie=st.booleans())
    def finish(self, n: int, to: str, *, zombie: bool) -> None:
        call = self._call(n)
        if call.state == to:
            return  # saying it again is allowed
        token = "zombie" if zombie else call.token
        allowed = call.state in sources("finish") and not zombie
        if self._try(allowed, lambda: self.store.finish(call.id, token, to, RESULT)):
            call.shift("finish", to)
            call.shift("withdraw", "withdrawn")
            call.state = to

    @precondition(lambda self: self.calls)
    @rule(n=which)
    def lose(self, n: int) -> None:
        call = self._call(n)
        self.store.lose(call.id, call.token, "timeout")
        if call.state == "executing":
            call.shift("lose", "outcome_unknown")
            call.state, call.token = "outcome_unknown", ""

    @precondition(lambda self: self.calls)
    @rule(n=which, how=st.sampled_from(["happened", "give_up", "run_again"]))
    def settle(self, n: int, how: str) -> None:
        request = self._request(n)
        call = request.call
        fresh = again(
            a_request(f"req_{self.count + 1}", a_call(call.id)),
            id=f"req_{self.count + 1}",
            ordinal=len(call.requests),
        )
        allowed = request.state == "outcome_unknown"
        if self._try(allowed, lambda: self.store.settle(request.id, how, opens=fresh, **BY)):
            target = {"happened": "done", "give_up": "failed", "run_again": "withdrawn"}[how]
            call.shift("settle", target)
            call.state = {"run_again": "waiting"}.get(how, target)
            if how == "run_again":
                self._new(call)

    @rule()
    def sweep(self) -> None:
        self.store.sweep()

    # -- what must hold ----------------------------------------------------------------------

    @invariant()
    def the_store_agrees_with_the_model(self) -> None:
        kept = {r.id: r.state for r in self.store.requests()}
        assert kept == {r.id: r.state for c in self.calls for r in c.requests}
        assert {c.id: c.state for c in self.store.calls("run_1")} == {
            c.id: c.state for c in self.calls
        }

    @invariant()
    def at_most_one_hand_holds_a_call(self) -> None:
        for call in self.store.calls("run_1"):
            assert (call.owner is not None) == (call.state == "executing")

    def _every_change_was_an_arrow(self) -> None:
        assert self.store.check() == []
        states: dict[str, str] = {}
        for event in self.store.events(limit=100_000):
            if event.request_id is None:
                continue
            if event.kind == "opened":
                assert event.request_id not in states
                states[event.request_id] = "pending"
                continue
            verb = "decide" if event.kind in DECISIONS else event.kind
            assert event.doc["from"] == states[event.request_id]
            assert event.doc["from"] in TABLE[verb].sources
            assert event.doc["from"] not in TERMINAL
            assert event.doc["to"] in TABLE[verb].targets
            states[event.request_id] = event.doc["to"]


TestWalk = Walk.TestCase
TestWalk.settings = settings(
    max_examples=400 if os.environ.get("HITL_TEST_ALL") else 40,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
