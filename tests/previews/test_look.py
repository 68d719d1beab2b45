"""A preview runs before the card; what it shows, and what a call reads, can be bound (R3)."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest
from pydantic import SecretStr

import hitl_widgets as hitl
from hitl_widgets.previews.kinds import LONGEST
from hitl_widgets.screen.preview_views import preview_doc
from tests.rules.making import agent_on, store_at, tell_back

GO = [[hitl.call("delete", customer="Ada")], tell_back]
DID: list[str] = []
orders = pd.DataFrame()


@pytest.fixture(autouse=True)
def _orders() -> Iterator[None]:
    global orders  # noqa: PLW0603  # a notebook's variable
    orders = pd.DataFrame({"order": [101, 102, 103], "customer": ["Ada", "Bob", "Ada"]})
    DID.clear()
    yield
    globals().setdefault("orders", pd.DataFrame())


def rows(customer: str) -> pd.DataFrame:
    return orders[orders["customer"] == customer]


def deleting(**options: Any) -> hitl.Tool:
    @hitl.tool(require_approval=True, **options)
    async def delete(customer: str, force: bool = False) -> int:
        "Delete all orders of a customer."
        DID.append(customer)
        return 1

    return delete


def change() -> None:
    global orders  # noqa: PLW0603  # a notebook's variable
    orders = orders.assign(paid=True)


async def asked(path: Path, **options: Any) -> tuple[hitl.Agent, hitl.RunResult, hitl.Request]:
    path.mkdir(exist_ok=True)
    agent = agent_on(store_at(path), GO, [deleting(**options)])
    run = await agent.generate("go")
    return agent, run, run.requests[0]


def preview_of(request: hitl.Request) -> dict[str, Any]:
    assert request.preview is not None
    return request.preview


class TestAPreview:
    async def test_is_made_of_the_arguments_it_takes_before_anybody_is_asked(
        self, tmp_path: Path
    ) -> None:
        _, _, request = await asked(tmp_path, preview=rows)
        (part,) = preview_of(request)["parts"]
        assert part["shape"] == [2, 2]
        assert [row[0] for row in part["rows"]] == [101, 103]

    async def test_may_be_asynchronous_and_take_everything(self, tmp_path: Path) -> None:
        async def told(**args: Any) -> str:
            return str(sorted(args))

        _, _, request = await asked(tmp_path, preview=told)
        assert preview_of(request)["parts"][0]["text"] == "['customer', 'force']"

    async def test_that_fails_says_so_and_blocks_nothing(self, tmp_path: Path) -> None:
        def broken(customer: str) -> str:
            raise LookupError(f"no table for {customer}")

        agent, run, request = await asked(tmp_path, preview=broken)
        assert preview_of(request)["failed"] == "LookupError: no table for Ada"
        await agent.approve_tool_call_generate(run_id=run.run_id)
        assert DID == ["Ada"]

    async def test_that_fails_without_words_or_ends_itself_while_awaited_says_so(
        self, tmp_path: Path
    ) -> None:
        class Speechless(Exception):
            def __str__(self) -> str:
                raise RuntimeError("no words")

        def broken(customer: str) -> str:
            raise Speechless(customer)

        async def parse(customer: str) -> str:
            raise SystemExit(customer)

        _, _, request = await asked(tmp_path, preview=broken)
        assert preview_of(request)["failed"] == "Speechless"
        (tmp_path / "other").mkdir()
        _, _, request = await asked(tmp_path / "other", preview=parse)
        assert "SystemExit" in preview_of(request)["failed"]

    @pytest.mark.parametrize(
        "error", [SystemExit, KeyboardInterrupt, StopIteration, asyncio.CancelledError]
    )
    async def test_that_raises_what_ends_programs_ends_nothing(
        self, tmp_path: Path, error: type[BaseException]
    ) -> None:
        def broken(customer: str) -> str:
            raise error(customer)

        _, _, request = await asked(tmp_path, preview=broken)
        assert error.__name__ in preview_of(request)["failed"]

    @pytest.mark.parametrize("asynchronous", [True, False])
    async def test_that_takes_too_long_is_left(self, tmp_path: Path, asynchronous: bool) -> None:
        over = threading.Event()

        async def never(customer: str) -> str:
            await asyncio.Event().wait()
            return customer

        def stuck(customer: str) -> str:
            over.wait()
            return customer

        began = time.monotonic()
        preview = never if asynchronous else stuck
        _, _, request = await asked(tmp_path, preview=preview, preview_timeout=0.2)
        over.set()
        assert time.monotonic() - began < 5
        assert preview_of(request)["failed"] == "it was not ready within 0.2 s"

    async def test_is_not_made_for_a_call_that_is_not_asked(self, tmp_path: Path) -> None:
        made: list[str] = []
        free = deleting(preview=lambda customer: made.append(customer))  # noqa: PLW0108  # by name
        free.require_approval = False
        await agent_on(store_at(tmp_path), GO, [free]).generate("go")
        assert (made, DID) == ([], ["Ada"])

    async def test_shows_no_secret(self, tmp_path: Path) -> None:
        """R17: not in what it returns, not in why it failed."""

        @hitl.tool(require_approval=True, preview=lambda key: ["with " + key.get_secret_value()])
        async def publish(key: SecretStr) -> str:
            "Publish."
            return "done"

        @hitl.tool(require_approval=True, preview=lambda keys: {}[keys[0]], secret=("/keys/*",))
        async def send(keys: list[str]) -> str:
            "Send."
            return "done"

        @hitl.tool(
            require_approval=True,
            preview=lambda pin: pd.DataFrame({"pin": [pin]}),
            secret=("/pin",),
        )
        async def unlock(pin: int) -> str:
            "Unlock."
            return "done"

        calls = [
            hitl.call("publish", key="s3cret-1"),
            hitl.call("send", keys=["s3cret-2"]),
            hitl.call("unlock", pin=48_151),
        ]
        store = store_at(tmp_path)
        run = await agent_on(store, [calls, "."], [publish, send, unlock]).generate("go")
        shown = [preview_of(request) for request in run.requests]
        assert shown[0]["parts"][0]["text"] == "with ••••"
        assert shown[2]["parts"][0]["rows"] == [["••••"]]
        assert "s3cret" not in str(shown)

    @pytest.mark.parametrize("pins", [("1234", "9876"), (1234, 9876)])
    async def test_tells_no_digest_that_could_be_searched_for_a_secret(
        self, tmp_path: Path, pins: tuple[Any, Any]
    ) -> None:
        """R17: of tables that differ in what is masked alone, the digests are one."""

        def show(pin: Any) -> Any:
            now = pd.DataFrame(
                {"who": ["Ada", "Bob"], "pin": [pin, type(pin)("5555")], f"of {pin}": 1},
                index=[pin, 0],
            )
            return [now, pl.DataFrame({"pin": [pin]}), hitl.previews.changes(now.iloc[:0], now)]

        @hitl.tool(require_approval=True, preview=show, secret=("/pin",))
        async def publish(pin: str | int) -> None:
            "Publish."

        told: list[Any] = []
        for n, pin in enumerate(pins):
            turns = [[hitl.call("publish", pin=pin)], "."]
            (tmp_path / str(n)).mkdir()
            run = await agent_on(store_at(tmp_path / str(n)), turns, [publish]).generate("go")
            told.append(run.requests[0].preview)
        assert [part["sha256"] for part in told[0]["parts"]] == [
            part["sha256"] for part in told[1]["parts"]
        ]
        assert told[0]["digest"] == told[1]["digest"]
        assert str(pins[0]) not in str(told[0]["parts"])

    @pytest.mark.parametrize(
        ("secret", "show"),
        [
            ("s3cret" * 50, lambda key: pd.DataFrame({key: [key]}, index=[key])),
            ("s3cret", lambda key: "y" * (LONGEST - 3) + key),
            ("s3cret&<more>", lambda key: [hitl.previews.markdown(key), hitl.previews.html(key)]),
            ("s3*cr*et", lambda key: hitl.previews.markdown(f"with {key}")),
            ("s3cret-1\ns3cret-2\n", lambda key: hitl.previews.diff("", key)),
            ('s3"cret"\\é', lambda key: {"key": key}),
            ("s3cret" * 100, lambda key: {}[key]),
            ("s3cret\t'1'\"2\"", lambda key: {}[key]),
        ],
        ids=["cell", "cut", "escaped", "formatted", "lines", "json", "error", "quoted"],
    )
    async def test_shows_no_part_of_a_secret_however_it_is_written(
        self, tmp_path: Path, secret: str, show: Callable[[str], Any]
    ) -> None:
        """R17: not the half of it that stands before a cut, not as HTML, not line by line."""

        @hitl.tool(require_approval=True, preview=lambda key: show(key), secret=("/key",))  # noqa: PLW0108  # by name
        async def publish(key: str) -> str:
            "Publish."
            return "done"

        turns = [[hitl.call("publish", key=secret)], "."]
        run = await agent_on(store_at(tmp_path), turns, [publish]).generate("go")
        told = str(preview_of(run.requests[0]))
        assert "s3" not in told
        assert "•••" in told

    async def test_whose_secret_is_one_of_our_own_words_is_drawn_all_the_same(
        self, tmp_path: Path
    ) -> None:
        """R17, R12: what it is made of is not masked."""

        def show(key: str) -> list[Any]:
            before = pd.DataFrame({"x": [1]})
            return [hitl.previews.changes(before, before.assign(x=2)), f"is {key}"]

        @hitl.tool(require_approval=True, preview=show, secret=("/key",))
        async def publish(key: str) -> str:
            "Publish."
            return "done"

        turns = [[hitl.call("publish", key="changed")], "."]
        run = await agent_on(store_at(tmp_path), turns, [publish]).generate("go")
        made = preview_doc(run.requests[0])
        assert made is not None
        assert [part.kind for part in made.parts] == ["changes", "text"]

    async def test_is_outside_of_the_fingerprint_unless_it_is_bound(self, tmp_path: Path) -> None:
        agent, run, request = await asked(tmp_path, preview=rows)
        other = await asked(tmp_path / "b", preview=lambda customer: f"{customer}?")
        assert request.fingerprint == other[2].fingerprint
        change()
        await agent.approve_tool_call_generate(run_id=run.run_id)
        assert DID == ["Ada"]

    async def test_that_is_bound_and_changes_is_asked_again(self, tmp_path: Path) -> None:
        """R3."""
        agent, run, request = await asked(tmp_path, preview=rows, bind_preview=True)
        change()
        with pytest.raises(hitl.StaleFingerprint, match="preview is another"):
            await agent.approve_tool_call(run_id=run.run_id)
        assert DID == []
        (again,) = await hitl.pending(agent.store)
        assert again.fingerprint != request.fingerprint
        assert preview_of(again)["parts"][0]["shape"] == [2, 3]
        await agent.approve_tool_call_generate(run_id=run.run_id)
        assert DID == ["Ada"]

    async def test_that_is_bound_is_bound_with_what_was_cut(self, tmp_path: Path) -> None:
        """R3: the end of a long text counts, though only its beginning is shown."""
        ends = iter(["old", "new", "new", "new"])

        def long() -> list[Any]:
            text = "y" * LONGEST + next(ends)
            return [text, hitl.previews.markdown(text), hitl.previews.sql(text)]

        agent, run, request = await asked(tmp_path, preview=long, bind_preview=True)
        made = preview_doc(request)
        assert made is not None
        assert [part.kind for part in made.parts] == ["text", "markdown", "sql"]
        with pytest.raises(hitl.StaleFingerprint):
            await agent.approve_tool_call(run_id=run.run_id)
        assert DID == []

    async def test_that_is_bound_and_the_same_runs(self, tmp_path: Path) -> None:
        agent, run, _ = await asked(tmp_path, preview=rows, bind_preview=True)
        await agent.approve_tool_call_generate(run_id=run.run_id)
        assert DID == ["Ada"]

    async def test_that_is_bound_and_fails_both_times_runs(self, tmp_path: Path) -> None:
        """A failing preview blocks nothing, whatever it says each time."""

        def broken(customer: str) -> str:
            raise LookupError(f"{customer} {object()}")

        agent, run, _ = await asked(tmp_path, preview=broken, bind_preview=True)
        await agent.approve_tool_call_generate(run_id=run.run_id)
        assert DID == ["Ada"]

    async def test_that_is_bound_is_shown_anew_for_edited_arguments(self, tmp_path: Path) -> None:
        """What a person has seen was the preview of other arguments (R3, R10)."""
        agent, run, _ = await asked(tmp_path, preview=rows, bind_preview=True)
        with pytest.raises(hitl.StaleFingerprint):
            await agent.approve_tool_call(run_id=run.run_id, args={"customer": "Bob"})
        (again,) = await hitl.pending(agent.store)
        assert preview_of(again)["parts"][0]["rows"] == [[102, "Bob"]]
        assert DID == []


class TestWhatACallReads:
    async def test_is_told_by_type_shape_columns_and_digest(self, tmp_path: Path) -> None:
        _, _, request = await asked(tmp_path, reads=("orders",))
        told = request.reads["orders"]
        assert told["shape"] == [3, 2]
        assert list(told["columns"]) == ["order", "customer"]
        assert "rows" not in told

    async def test_and_that_changed_is_asked_again_with_what_changed(self, tmp_path: Path) -> None:
        """R3."""
        agent, run, _ = await asked(tmp_path, reads=("orders",))
        change()
        with pytest.raises(
            hitl.StaleFingerprint,
            match=r"orders changed since this was asked: it was .*3 rows . 2 columns, now it is "
            r".*3 rows . 3 columns; columns added: paid\. delete did not run",
        ):
            await agent.approve_tool_call(run_id=run.run_id)
        assert DID == []
        (again,) = await hitl.pending(agent.store)
        assert again.scope["changed"]["reads"]["orders"]["added"] == ["paid"]
        await agent.approve_tool_call_generate(run_id=run.run_id)
        assert DID == ["Ada"]

    async def test_and_only_its_content_changed_is_asked_again(self, tmp_path: Path) -> None:
        agent, run, _ = await asked(tmp_path, reads=("orders",))
        orders.loc[0, "customer"] = "Eve"
        with pytest.raises(hitl.StaleFingerprint, match="other content in the same shape"):
            await agent.approve_tool_call(run_id=run.run_id)

    async def test_and_is_the_same_again_runs(self, tmp_path: Path) -> None:
        """Equal content is enough: a notebook that was run again has other objects."""
        global orders  # noqa: PLW0603  # a notebook's variable
        agent, run, _ = await asked(tmp_path, reads=("orders",))
        orders = orders.copy()
        await agent.approve_tool_call_generate(run_id=run.run_id)
        assert DID == ["Ada"]

    async def test_and_has_gone_is_asked_again(self, tmp_path: Path) -> None:
        agent, run, _ = await asked(tmp_path, reads=("orders",))
        del globals()["orders"]
        with pytest.raises(hitl.StaleFingerprint, match="now it is not defined here"):
            await agent.approve_tool_call(run_id=run.run_id)

    async def test_stays_bound_when_the_arguments_are_edited(self, tmp_path: Path) -> None:
        agent, run, _ = await asked(tmp_path, reads=("orders",))
        await agent.approve_tool_call_generate(run_id=run.run_id, args={"customer": "Bob"})
        assert DID == ["Bob"]
        agent, run, _ = await asked(tmp_path / "b", reads=("orders",))
        change()
        with pytest.raises(hitl.StaleFingerprint, match="orders changed"):
            await agent.approve_tool_call(run_id=run.run_id, args={"customer": "Bob"})
        assert DID == ["Bob"]

    async def test_and_has_no_exact_form_is_an_error(self, tmp_path: Path) -> None:
        globals()["orders"] = object()
        with pytest.raises(hitl.NotDescribable, match="orders"):
            await asked(tmp_path, reads=("orders",))

    async def test_and_holds_a_secret_is_an_error(self, tmp_path: Path) -> None:
        """R17: its digest is open, and could be searched for."""
        globals()["orders"] = {"key": SecretStr("s3cret")}
        with pytest.raises(hitl.NotDescribable, match="holds a secret") as caught:
            await asked(tmp_path, reads=("orders",))
        assert "s3cret" not in str(caught.value)

    async def test_and_is_a_short_plain_value_is_shown(self, tmp_path: Path) -> None:
        globals()["orders"] = 0.5
        agent, run, request = await asked(tmp_path, reads=("orders",))
        assert request.reads["orders"]["value"] == "0.5"
        globals()["orders"] = 0.75
        with pytest.raises(hitl.StaleFingerprint, match=r"was float 0\.5, now it is float 0\.75"):
            await agent.approve_tool_call(run_id=run.run_id)


class TestAGatedFunction:
    async def test_shows_its_preview_and_binds_what_it_reads(self) -> None:
        @hitl.require_approval(preview=rows, reads=("orders",))
        async def delete(customer: str) -> int:
            DID.append(customer)
            return len(rows(customer))

        seen: list[hitl.Request] = []

        def once_changed(request: hitl.Request) -> hitl.Approve:
            seen.append(request)
            if len(seen) == 1:
                change()
            return hitl.Approve()

        with hitl.reviewer(once_changed):
            assert await delete("Ada") == 2
        first, second = seen
        assert preview_of(first)["parts"][0]["shape"] == [2, 2]
        assert preview_of(second)["parts"][0]["shape"] == [2, 3]
        assert second.scope["changed"]["reads"]["orders"]["added"] == ["paid"]
        assert DID == ["Ada"]

    async def test_gives_its_preview_the_very_objects(self) -> None:
        @hitl.require_approval(preview=lambda frame: frame.head(1))
        async def drop(frame: pd.DataFrame) -> int:
            return len(frame)

        seen: list[hitl.Request] = []

        def yes(request: hitl.Request) -> hitl.Approve:
            seen.append(request)
            return hitl.Approve()

        with hitl.reviewer(yes):
            assert await drop(orders) == 3
        assert preview_of(seen[0])["parts"][0]["rows"] == [[101, "Ada"]]

    @pytest.mark.parametrize("bind", [True, False])
    async def test_that_changes_them_at_the_last_moment_is_asked_again(self, bind: bool) -> None:
        """R3: what runs was shown, whatever a preview did that should only read."""
        looks: list[int] = []
        seen: list[str] = []
        ran: list[list[str]] = []

        def meddle(ids: list[str]) -> str:
            looks.append(1)
            if len(looks) == (2 if bind else 1):
                ids.append("other")
            return "one row"

        @hitl.require_approval(preview=meddle, bind_preview=bind)
        async def drop(ids: list[str]) -> None:
            ran.append(list(ids))

        def yes(request: hitl.Request) -> hitl.Approve:
            seen.append(str(request.args))
            return hitl.Approve()

        with hitl.reviewer(yes):
            await drop(["one"])
        assert seen == ["{'ids': ['one']}", "{'ids': ['one', 'other']}"]
        assert ran == [["one", "other"]]

    async def test_with_a_key_is_found_again_though_what_it_reads_changed(self) -> None:
        """R22: the key names the call; what changed meanwhile is told at the claim."""

        @hitl.require_approval(key="once", reads=("orders",))
        async def delete(customer: str) -> str:
            DID.append(customer)
            return "gone"

        with pytest.raises(hitl.RunSuspended):
            await delete("Ada")
        change()
        with hitl.reviewer(lambda _request: hitl.Approve()):
            assert await delete("Ada") == "gone"
        assert DID == ["Ada"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"preview": "rows"}, "give a function"),
        ({"preview": lambda id: id}, "takes id, and the call has customer, force"),  # noqa: A006
        ({"preview": rows, "preview_timeout": 0}, "more than 0|above 0"),
        ({"bind_preview": True}, "nothing to bind"),
        ({"reads": "orders"}, r'reads=\("orders",\)'),
        ({"reads": ("my orders",)}, "names of variables"),
    ],
)
def test_what_could_only_fail_at_a_call_fails_at_the_definition(
    options: dict[str, Any], words: str
) -> None:
    with pytest.raises(hitl.ToolDefinitionError, match=words):
        deleting(**options)

    def gate(**more: Any) -> Callable[..., Any]:
        async def delete(customer: str, force: bool = False) -> None: ...

        return hitl.require_approval(**more)(delete)

    with pytest.raises(hitl.AgentDefinitionError, match=words):
        gate(**options)
