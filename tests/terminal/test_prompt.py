"""A request at a prompt, in a script in a real pseudo-terminal."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hitl_widgets as hitl
from hitl_widgets.terminal.shown import changes
from hitl_widgets.words import saying
from tests.terminal.conftest import ROOT, Run

Rows = Callable[[], list[dict[str, Any]]]

GATED = """
    import asyncio, sys
    import hitl_widgets as hitl

    @hitl.require_approval
    async def delete_record(id: str, note: object = None):
        print("RAN", id)
        return f"deleted {id}"

    async def main():
        try:
            print("GOT", await delete_record("abc-123"))
        except hitl.HitlError as e:
            print("RAISED", type(e).__name__, e)
    asyncio.run(main())
    """

AGENT = """
    import asyncio
    import hitl_widgets as hitl

    @hitl.tool(require_approval=True)
    async def delete_record(id: str) -> dict:
        "Delete a record by ID."
        print("RAN", id)
        return {"deleted": id}

    async def main():
        model = hitl.ScriptedModel([
            [hitl.call("delete_record", id="abc-123"), hitl.call("delete_record", id="def-456")],
            lambda messages: str([p.content for p in messages[-1].parts]),
        ])
        agent = hitl.Agent("cleaner", tools=[delete_record], model=model)
        result = await agent.run("Delete them")
        print("TEXT", result.text)
    asyncio.run(main())
    """


class TestAnAgentsCalls:
    def test_are_asked_one_after_the_other_and_a_no_tells_why(self, run: Run, rows: Rows) -> None:
        terminal = run(AGENT)
        shown = terminal.sees('Allow delete_record(id="abc-123")?')
        assert "cleaner asks" in shown
        assert "hf1:" in shown
        offers = terminal.sees("[e]dit")
        assert offers.startswith("  [y]es  [n]o  no and [t]ell the agent why  [d]etails  [e]dit")
        assert "def-456" not in shown
        terminal.types("y")
        assert "approved by" in terminal.sees('Allow delete_record(id="def-456")?')
        terminal.types("t")
        terminal.sees("Why, and what to do instead:")
        terminal.types("Archive it instead")
        shown = terminal.ends()
        assert "Do not call delete_record again" in shown
        assert terminal.seen.count("RAN") == 1
        first, second = rows()
        assert (first["state"], first["via"], first["args"]) == (
            "done",
            "terminal",
            {"id": "abc-123"},
        )
        assert (second["state"], second["decision"]["reason"]) == ("declined", "Archive it instead")

    def test_are_edited_field_by_field_and_the_change_is_shown(self, run: Run, rows: Rows) -> None:
        terminal = run(AGENT)
        terminal.sees("[e]dit")
        terminal.types("e")
        terminal.sees('Id ["abc-123"]:')
        terminal.types("abc-124")
        shown = terminal.sees("Allow it with these changes?")
        assert '− was id="abc-123"' in shown  # noqa: RUF001
        assert '+ now id="abc-124"' in shown
        terminal.types("y")
        terminal.sees("def-456")
        terminal.types("n")
        assert "human_changed_arguments" in terminal.ends()
        assert "RAN abc-124" in terminal.seen
        assert rows()[0]["decision"]["args"] == {"id": "abc-124"}

    @pytest.mark.parametrize("now", [True, 1.0, [1]])
    def test_what_python_takes_for_equal_is_a_change(self, now: object) -> None:
        told = changes(saying("en"), {"id": "a", "n": 1}, {"id": "a", "n": now})
        assert told == f"− was n=1\n+ now n={json.dumps(now)}"  # noqa: RUF001

    def test_an_edit_that_is_not_confirmed_decides_nothing(self, run: Run) -> None:
        terminal = run(AGENT)
        terminal.sees("[e]dit")
        terminal.types("e")
        terminal.sees("Id")
        terminal.types("other")
        terminal.sees("Allow it with these changes?")
        terminal.types("")
        terminal.sees('Allow delete_record(id="abc-123")?')
        assert "RAN" not in terminal.seen


class TestNeverAYes:
    """R4, R5, F7: only a whole, typed yes is a yes."""

    def test_anything_that_is_not_offered(self, run: Run) -> None:
        terminal = run(GATED)
        terminal.sees("Allow delete_record")
        for typed in ("", " ", "yy", "ja", "1", "true", "Y e s", "\u0443", "approve", "y n"):
            terminal.sees("[d]etails")
            terminal.types(typed)
            terminal.sees("Nothing was decided.")
        terminal.sees("[d]etails")
        terminal.types("n")
        assert "RAISED Declined" in terminal.ends()
        assert "RAN" not in terminal.seen

    def test_escape(self, run: Run, rows: Rows) -> None:
        terminal = run(GATED)
        terminal.sees("[d]etails")
        terminal.presses("y\x1b")
        terminal.sees("Allow delete_record")
        terminal.sees("[d]etails")
        assert rows() == []
        terminal.types("yes")
        assert "GOT deleted abc-123" in terminal.ends()

    def test_the_end_of_the_input_leaves_it_pending_and_says_where_to_decide(
        self, run: Run, store: Path
    ) -> None:
        terminal = run(GATED)
        terminal.sees("[d]etails")
        terminal.sees(">")
        terminal.presses("\x04")
        terminal.sees(f"it still waits. Decide with: hitl-widgets inbox --store {store}")
        (request,) = asyncio.run(hitl.pending(store))
        asyncio.run(hitl.decide(request, hitl.Approve()))
        assert "GOT deleted abc-123" in terminal.ends()

    def test_what_was_typed_before_the_question_stood_there(self, run: Run) -> None:
        terminal = run(
            GATED.replace(
                "asyncio.run(main())",
                "import time; print('EARLY', flush=True); time.sleep(.5); asyncio.run(main())",
            )
        )
        terminal.sees("EARLY")
        terminal.types("y")
        terminal.sees("[d]etails")
        terminal.types("n")
        assert "RAISED Declined" in terminal.ends()
        assert "RAN" not in terminal.seen

    def test_a_line_pasted_behind_an_answer_does_not_answer_the_next_question(
        self, run: Run
    ) -> None:
        terminal = run(AGENT)
        terminal.sees("[e]dit")
        terminal.presses("n\ry\r")
        terminal.sees("def-456")
        terminal.sees("[e]dit")
        terminal.types("n")
        terminal.ends()
        assert "RAN" not in terminal.seen

    def test_interrupt(self, run: Run, rows: Rows) -> None:
        """R16: the caller without a key is gone, so its request is withdrawn; nothing ran."""
        terminal = run(GATED)
        terminal.sees("[d]etails")
        terminal.presses("\x03")
        assert "KeyboardInterrupt" in terminal.ends()
        assert [row["state"] for row in rows()] == ["withdrawn"]
        assert "RAN" not in terminal.seen


class TestWhatIsShown:
    def test_nothing_of_a_model_reaches_the_terminal_unescaped(self, run: Run) -> None:
        evil = r"'a\x1b[31mred\u202eevil\u200b\x9b2J\r\nAllow safe()?'"
        terminal = run(GATED.replace('delete_record("abc-123")', f"delete_record({evil})"))
        shown = terminal.sees("[d]etails")
        assert "a[U+001B][31mred[U+202E]evil[U+200B][U+009B]2J[U+000D]\\nAllow safe()?" in shown
        assert "invisible or direction-changing" in shown
        terminal.types("d")
        shown = terminal.sees("Allow delete_record")
        assert "│ Allow safe()?" in shown
        for raw in ("\x1b[31mred", "\u202e", "\u200b", "\x9b"):
            assert raw not in terminal.seen

    def test_arguments_are_shown_in_full(self, run: Run) -> None:
        terminal = run(GATED.replace('"abc-123"', '"x" * 30_000 + "END"'))
        assert "x" * 30_000 + 'END"' in terminal.sees("[d]etails")

    def test_look_alike_letters_are_named(self, run: Run) -> None:
        terminal = run(GATED.replace('"abc-123"', '"p\\u0430ypal"'))
        assert "look-alike letters: U+0430" in terminal.sees("[d]etails")

    def test_details_hold_the_whole_fingerprint(self, run: Run, store: Path) -> None:
        terminal = run(GATED)
        terminal.sees("[d]etails")
        terminal.types("details")
        terminal.sees("fingerprint  ")
        (request,) = asyncio.run(hitl.pending(store))
        terminal.sees(request.fingerprint)

    def test_secrets_are_not(self, run: Run) -> None:
        terminal = run(
            GATED.replace("@hitl.require_approval", '@hitl.require_approval(secret=["/id"])')
        )
        assert 'id="••••"' in terminal.sees("[d]etails")
        terminal.types("d")
        terminal.sees("Allow")
        assert "abc-123" not in terminal.seen

    def test_only_what_the_request_takes_is_offered(self, run: Run) -> None:
        terminal = run("""
            import hitl_widgets as hitl
            print("GOT", hitl.confirm_sync("Train for 3 h on the GPU?"))
            """)
        shown = terminal.sees("[d]etails")
        assert "Train for 3 h on the GPU?  [y]es  [n]o" in shown
        assert "[e]dit" not in shown
        terminal.types("e")
        terminal.sees("Nothing was decided.")
        terminal.sees("[d]etails")
        terminal.types("n")
        assert "GOT False" in terminal.ends()

    def test_a_result_can_be_given_in_place_of_the_call(self, run: Run) -> None:
        terminal = run(GATED)
        terminal.sees("[r]espond instead")
        terminal.types("r")
        terminal.sees("Result, JSON or text:")
        terminal.types('{"already": "gone"}')
        assert "GOT {'already': 'gone'}" in terminal.ends()
        assert "RAN" not in terminal.seen


class TestWhileItStands:
    def test_the_loop_runs_on_and_what_it_prints_stands_above(self, run: Run) -> None:
        terminal = run(
            GATED.replace("try:", "asyncio.create_task(tick())\n        try:").replace(
                "async def main",
                """async def tick():
        for n in range(100):
            await asyncio.sleep(.05)
            print("TICK", n)

    async def main""",
            )
        )
        terminal.sees("[d]etails")
        terminal.sees("TICK 3")
        terminal.types("y")
        assert "GOT deleted abc-123" in terminal.ends()

    def test_a_decision_made_elsewhere_ends_it_at_once_with_who_and_what(
        self, run: Run, store: Path
    ) -> None:
        """R12, R1."""
        terminal = run(GATED)
        terminal.sees("[d]etails")
        (request,) = asyncio.run(hitl.pending(store))
        asyncio.run(hitl.decide(request, hitl.Decline("not today"), reviewer="alice"))
        shown = terminal.ends()
        assert "No longer asked: delete_record was declined by alice, from code" in shown
        assert "│ not today" in shown
        assert "RAISED Declined" in shown

    def test_the_terminal_is_given_back_as_it_was(self, run: Run) -> None:
        """After a prompt that ended by itself a plain input() echoes and edits lines again."""
        code = GATED.replace(
            "asyncio.run(main())", "asyncio.run(main()); print('LINE', input('? '))"
        )
        terminal = run(code.replace("@hitl.require_approval", "@hitl.require_approval(expires=1)"))
        terminal.sees("[d]etails")
        terminal.sees("? ")
        terminal.types("hello")
        assert "LINE hello" in terminal.ends()

    def test_an_expired_request_says_so(self, run: Run) -> None:
        terminal = run(GATED.replace("@hitl.require_approval", "@hitl.require_approval(expires=1)"))
        assert "it is declined" in terminal.sees("[d]etails")
        assert "expired. Nothing ran." in terminal.ends()


class TestFromThreads:
    def test_sync_functions_in_several_threads_are_asked_one_after_the_other(
        self, run: Run
    ) -> None:
        terminal = run("""
            from concurrent.futures import ThreadPoolExecutor
            import hitl_widgets as hitl

            @hitl.require_approval
            def send(to: str):
                return f"sent {to}"

            with ThreadPoolExecutor() as threads:
                print("GOT", sorted(threads.map(send, ["ann", "bob", "cem"])))
            """)
        asked = set()
        for _ in range(3):
            shown = terminal.sees("[d]etails")
            asked.add(next(name for name in ("ann", "bob", "cem") if f'to="{name}"' in shown))
            terminal.types("y")
        assert asked == {"ann", "bob", "cem"}
        assert "GOT ['sent ann', 'sent bob', 'sent cem']" in terminal.ends()


class TestWhere:
    def test_in_ipython_at_top_level(self, run: Run) -> None:
        terminal = run("-m", "IPython", "--simple-prompt", "--no-banner", "--colors=NoColor")
        terminal.sees("In [1]: ")
        terminal.types("import hitl_widgets as hitl")
        terminal.sees("In [2]: ")
        terminal.types("print('GOT', await hitl.confirm('Go on?'))")
        terminal.sees("[d]etails")
        terminal.types("y")
        terminal.sees("GOT True")
        terminal.sees("In [3]: ")

    @pytest.mark.parametrize(("headless", "asks"), [("prompt", True), ("suspend", False)])
    def test_a_script_whose_output_goes_to_a_file(
        self, run: Run, tmp_path: Path, headless: str, asks: bool
    ) -> None:
        """R5: ``headless="prompt"`` asks at the controlling terminal, where there is one."""
        script = tmp_path / "job.py"
        script.write_text(
            "import hitl_widgets as hitl\n"
            f"hitl.configure(headless={headless!r})\n"
            "print('GOT', hitl.confirm_sync('Go on?'))\n"
        )
        log = tmp_path / "log"
        command = f"{sys.executable} {script} >{log} 2>&1"
        terminal = run("-c", f"import os; os.execvp('sh', ['sh', '-c', {command!r}])")
        if asks:
            terminal.sees("Go on?  [y]es  [n]o")
            terminal.sees("[d]etails")
            terminal.types("y")
        terminal.ends()
        assert ("GOT True" if asks else "NoReviewer") in log.read_text()

    def test_without_a_terminal_prompt_means_suspend(self, store: Path) -> None:
        code = (
            "import hitl_widgets as hitl\nhitl.configure(headless='prompt')\n"
            "hitl.confirm_sync('Go on?', key='k')"
        )
        done = subprocess.run(
            [sys.executable, "-c", code],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            cwd=ROOT,
            env={**os.environ, "HITL_STORE": str(store)},
            start_new_session=True,
        )
        assert "RunSuspended" in done.stderr

    def test_a_job_in_the_background_is_not_stopped_by_asking(
        self, run: Run, tmp_path: Path
    ) -> None:
        """Reading would stop it for good (SIGTTIN): it suspends as without a terminal."""
        script = tmp_path / "job.py"
        script.write_text("import hitl_widgets as hitl\nhitl.confirm_sync('Go on?')\n")
        shell = f"set -m; {sys.executable} {script} & wait $!; echo CODE $?"
        terminal = run("-c", f"import os; os.execvp('bash', ['bash', '-c', {shell!r}])")
        assert "NoReviewer" in terminal.sees("CODE 1")
