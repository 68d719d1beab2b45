"""R8, F33, F34, R4: tools that ask, in every way, live, in `generate` mode and after a restart."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
from pathlib import Path
from typing import Any

import pydantic
import pytest

import hitl_widgets as hitl
from hitl_widgets.desk import Desk
from hitl_widgets.screen import formdata

from .making import agent_on, chunks_of, kinds, store_at, tell_back, until


class City(pydantic.BaseModel):
    city: str


class Question(pydantic.BaseModel):
    message: str


def weather(entered: list[Any], **options: Any) -> hitl.Tool:
    @hitl.tool(suspend_schema=Question, resume_schema=City, **options)
    async def get_weather(city: str | None = None, *, ctx: hitl.ToolContext) -> str:
        "Weather in a city."
        entered.append(ctx.resume_data)
        if city is None and ctx.resume_data is None:
            return await ctx.suspend(Question(message="Which city?"))  # type: ignore[return-value]
        return f"sunny in {city or ctx.resume_data.city}"

    return get_weather


ASK = [[hitl.call("get_weather")], tell_back]


async def test_suspend_opens_an_input_and_the_body_runs_again_with_the_answer(
    tmp_path: Path,
) -> None:
    entered: list[Any] = []
    agent = agent_on(store_at(tmp_path), ASK, [weather(entered)])
    stream = await agent.stream("go")
    heard = await chunks_of(stream)
    assert kinds(heard) == ["start", "tool-call", "tool-call-suspended", "finish"]
    asked = heard[-2].payload
    assert asked.suspend_payload == {"message": "Which city?"}
    assert asked.resume_schema["required"] == ["city"]
    resumed = await agent.resume_stream({"city": "Oslo"}, run_id=stream.run_id)
    assert kinds(await chunks_of(resumed)) == ["tool-result", "finish"]
    assert (await resumed.result()).text == "told: sunny in Oslo"
    assert entered == [None, City(city="Oslo")]


async def test_a_wrong_answer_burns_nothing(tmp_path: Path) -> None:
    """R4, F3: errors per field, still pending, a good answer afterwards works."""
    entered: list[Any] = []
    agent = agent_on(store_at(tmp_path), ASK, [weather(entered)])
    run = await agent.generate("go")
    for wrong in ({}, {"city": None}, {"town": "Oslo"}, "Oslo", None):
        with pytest.raises(hitl.InvalidAnswer) as caught:
            await agent.resume_generate(wrong, run_id=run.run_id)
        assert caught.value.errors
    with pytest.raises(hitl.RequestNotFound, match="answer"):
        await agent.approve_tool_call(run_id=run.run_id)
    assert entered == [None]
    done = await agent.resume_generate(City(city="Oslo"), run_id=run.run_id)
    assert done.text == "told: sunny in Oslo"


@pytest.mark.parametrize("falsy", [False, 0, "", [], {}], ids=repr)
async def test_falsy_answers_are_answers(tmp_path: Path, falsy: Any) -> None:
    """R4, F4."""

    @hitl.tool(resume_schema=type(falsy))
    async def ask(ctx: hitl.ToolContext) -> Any:
        "Ask."
        if not ctx.answers:
            return await ctx.suspend()
        return {"got": ctx.resume_data}

    agent = agent_on(store_at(tmp_path), [[hitl.call("ask")], tell_back], [ask])
    run = await agent.generate("go")
    done = await agent.resume_generate(falsy, run_id=run.run_id)
    assert done.text == f"told: {{'got': {falsy!r}}}"


async def test_a_payload_that_fails_its_schema_is_the_authors_error(tmp_path: Path) -> None:
    """R4: nothing is opened; the model is told of the tool's error."""

    @hitl.tool(suspend_schema=Question)
    async def ask(ctx: hitl.ToolContext) -> Any:
        "Ask."
        return await ctx.suspend({"text": "?"})

    agent = agent_on(store_at(tmp_path), [[hitl.call("ask")], tell_back], [ask])
    result = await agent.generate("go")
    assert result.finish_reason == "stop"
    assert "InvalidAnswer" in result.text
    assert await hitl.pending(agent.store) == []


@pytest.mark.parametrize("kind", ["async", "sync"])
async def test_only_the_first_suspension_of_a_pass_counts_and_what_follows_is_ignored(
    tmp_path: Path, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    """R8, F34: a value, an error or a second suspension after it, in both kinds of body."""

    async def coroutine(ctx: hitl.ToolContext) -> Any:
        "Ask."
        return body(ctx)

    def plain(ctx: hitl.ToolContext) -> Any:
        "Ask."
        return body(ctx)

    def body(ctx: hitl.ToolContext) -> Any:
        if ctx.resume_data is not None:
            return ctx.resume_data.city
        ctx.suspend({"message": "first"})
        ctx.suspend({"message": "second"})
        return "made up"

    tool = hitl.tool(id="ask", resume_schema=City)(coroutine if kind == "async" else plain)
    agent = agent_on(store_at(tmp_path), [[hitl.call("ask")], tell_back], [tool])
    with caplog.at_level(logging.WARNING, "hitl_widgets"):
        run = await agent.generate("go")
    (request,) = run.requests
    assert request.suspend_payload == {"message": "first"}
    assert "ignored" in caplog.text
    assert "first counts" in caplog.text
    done = await agent.resume_generate({"city": "Rome"}, run_id=run.run_id)
    assert done.text == "told: Rome"


@pytest.mark.parametrize("gone", [False, True], ids=["same process", "after a restart"])
async def test_several_suspensions_of_one_call_keep_all_answers(tmp_path: Path, gone: bool) -> None:
    @hitl.tool(resume_schema=int, require_approval=True)
    async def add(ctx: hitl.ToolContext) -> int:
        "Add three numbers."
        if len(ctx.answers) < 3:
            return await ctx.suspend({"nth": len(ctx.answers)})  # type: ignore[return-value]
        assert ctx.suspend_payload == {"nth": 2}
        return sum(ctx.answers)

    def agent() -> hitl.Agent:
        return agent_on(store_at(tmp_path), [[hitl.call("add")], tell_back], [add])

    clerk = agent()
    run = await clerk.generate("go")
    result = await clerk.approve_tool_call_generate(run_id=run.run_id)
    for number in (1, 2, 3):
        assert result.suspend_payload is not None
        assert result.suspend_payload.suspend_payload == {"nth": number - 1}
        clerk = agent() if gone else clerk
        result = await clerk.resume_generate(number, run_id=run.run_id)
    assert result.text == "told: 6"


async def test_without_a_resume_schema_any_json_is_taken(tmp_path: Path) -> None:
    @hitl.tool
    async def ask(ctx: hitl.ToolContext) -> Any:
        "Ask."
        return ctx.resume_data if ctx.answers else await ctx.suspend("?")

    agent = agent_on(store_at(tmp_path), [[hitl.call("ask")], tell_back], [ask])
    run = await agent.generate("go")
    assert run.requests[0].resume_schema == {}
    done = await agent.resume_generate([1, {"a": None}], run_id=run.run_id)
    assert done.text == "told: [1, {'a': None}]"


# -- ask and confirm ------------------------------------------------------------------------------


def booking(log: list[str]) -> hitl.Tool:
    @hitl.tool
    async def book(ctx: hitl.ToolContext) -> str:
        "Book."
        log.append("entered")
        number = await ctx.step("draw", lambda: log.append("drew") or 17)
        city = (await ctx.ask(City, "Which city?")).city
        nights = await ctx.ask(int, "How many nights?")
        if not await ctx.confirm(f"{nights} nights in {city}?"):
            return "not booked"
        log.append("booked")
        return f"{city} {nights} {number}"

    return book


BOOK = [[hitl.call("book")], tell_back]


@pytest.mark.parametrize("gone", [False, True], ids=["parked", "replayed"])
async def test_a_body_goes_on_in_place_or_is_replayed_up_to_its_question(
    tmp_path: Path, gone: bool
) -> None:
    """Parked bodies are used while they live; else the body runs again, and steps do not."""
    log: list[str] = []
    clerk = agent_on(store_at(tmp_path), BOOK, [booking(log)])
    run = await clerk.generate("go")
    for answer in ({"city": "Rome"}, 3):
        clerk = agent_on(store_at(tmp_path), BOOK, [booking(log)]) if gone else clerk
        result = await clerk.resume_generate(answer, run_id=run.run_id)
        assert result.finish_reason == "suspended"
    assert result.requests[0].message == "3 nights in Rome?"
    assert result.requests[0].kind == "approval"
    clerk = agent_on(store_at(tmp_path), BOOK, [booking(log)]) if gone else clerk
    done = await clerk.approve_tool_call_generate(run_id=run.run_id)
    assert done.text == "told: Rome 3 17"
    assert log.count("booked") == log.count("drew") == 1
    assert log.count("entered") == (4 if gone else 1)
    assert clerk.store.document(f"steps/{run.run_id}") is None


@pytest.mark.parametrize("gone", [False, True], ids=["parked", "replayed"])
async def test_a_declined_confirm_is_false_in_the_body(tmp_path: Path, gone: bool) -> None:
    log: list[str] = []
    clerk = agent_on(store_at(tmp_path), BOOK, [booking(log)])
    run = await clerk.generate("go")
    for answer in ({"city": "Rome"}, 3):
        await clerk.resume_generate(answer, run_id=run.run_id)
    clerk = agent_on(store_at(tmp_path), BOOK, [booking(log)]) if gone else clerk
    done = await clerk.decline_tool_call_generate(run_id=run.run_id)
    assert done.text == "told: not booked"
    assert "booked" not in log


async def test_a_live_question_is_judged_by_its_own_type_before_it_is_spent(
    tmp_path: Path,
) -> None:
    """R4: a validator that no schema can state."""

    class Even(pydantic.BaseModel):
        n: int

        @pydantic.field_validator("n")
        @classmethod
        def even(cls, n: int) -> int:
            if n % 2:
                raise ValueError("must be even")
            return n

    @hitl.tool
    async def ask(ctx: hitl.ToolContext) -> int:
        "Ask."
        return (await ctx.ask(Even, "An even number?")).n

    agent = agent_on(store_at(tmp_path), [[hitl.call("ask")], tell_back], [ask])
    run = await agent.generate("go")
    with pytest.raises(hitl.InvalidAnswer, match="even"):
        await agent.resume_generate({"n": 3}, run_id=run.run_id)
    # From where the type is not known: the schema lets it through, the body's side asks again.
    far = Desk(store_at(tmp_path))
    receipt = await far.decide(run.requests[0].id, hitl.Answer({"n": 3}))
    assert receipt.validated_by == "schema"
    await agent.resume_decided()
    (again,) = await hitl.pending(agent.store)
    assert again.id != run.requests[0].id
    assert again.scope["refused"][0]["path"] == ["n"]
    done = await agent.resume_generate({"n": 4}, run_id=run.run_id)
    assert done.text == "told: 4"


async def test_an_answer_that_only_the_schema_judged_is_asked_again_with_what_was_typed(
    tmp_path: Path,
) -> None:
    """R4: refused at the claim; the tool sees nothing."""
    entered: list[Any] = []

    class Big(City):
        @pydantic.field_validator("city")
        @classmethod
        def big(cls, city: str) -> str:
            if city == "Ulm":
                raise ValueError("too small")
            return city

    @hitl.tool(resume_schema=Big)
    async def get_weather(ctx: hitl.ToolContext) -> str:
        "Weather."
        entered.append(ctx.resume_data)
        return str(await ctx.suspend()) if ctx.resume_data is None else ctx.resume_data.city

    agent = agent_on(store_at(tmp_path), ASK, [get_weather])
    run = await agent.generate("go")
    await Desk(store_at(tmp_path)).decide(run.requests[0].id, hitl.Answer({"city": "Ulm"}))
    await agent.resume_decided()
    (again,) = await hitl.pending(agent.store)
    assert agent.store.request(run.requests[0].id).state == "refused"
    assert again.scope["initial"] == {"city": "Ulm"}
    assert "too small" in again.scope["refused"][0]["message"]
    assert len(entered) == 1
    done = await agent.resume_generate({"city": "Rome"}, run_id=run.run_id)
    assert done.text == "told: Rome"


async def test_a_secret_of_an_answer_that_is_asked_again_has_to_be_typed_again(
    tmp_path: Path,
) -> None:
    """R4, R17: the form that corrects another field must not send dots for it."""
    entered: list[str] = []

    class Login(pydantic.BaseModel):
        user: str
        password: pydantic.SecretStr
        codes: list[pydantic.SecretStr] = []

        @pydantic.field_validator("user")
        @classmethod
        def known(cls, user: str) -> str:
            if user == "nobody":
                raise ValueError("no such user")
            return user

    @hitl.tool(resume_schema=Login)
    async def login(ctx: hitl.ToolContext) -> str:
        "Log in."
        if ctx.resume_data is None:
            return str(await ctx.suspend())
        entered.append(ctx.resume_data.password.get_secret_value())
        return "in"

    agent = agent_on(store_at(tmp_path), [[hitl.call("login")], tell_back], [login])
    run = await agent.generate("go")
    typed = {"user": "nobody", "password": "hunter2", "codes": ["1234"]}
    await Desk(store_at(tmp_path)).decide(run.requests[0].id, hitl.Answer(typed))
    await agent.resume_decided()
    (again,) = await hitl.pending(agent.store)
    assert again.scope["initial"] == {"user": "nobody"}
    sent = {**json.loads(formdata.form_doc(again).data), "user": "ada"}
    with pytest.raises(hitl.InvalidAnswer) as refused:
        await agent.resume_generate(
            formdata.answer(again.id, sent, edited=True).data, run_id=run.run_id
        )
    assert [e["path"] for e in refused.value.errors] == [["password"]]
    await agent.resume_generate(
        formdata.answer(again.id, {**sent, "password": "hunter3"}, edited=True).data,
        run_id=run.run_id,
    )
    assert entered == ["hunter3"]


async def test_a_replay_in_another_order_is_an_error_and_acts_on_nothing(tmp_path: Path) -> None:
    """F18."""
    acted: list[Any] = []

    def tool(first: str) -> hitl.Tool:
        @hitl.tool
        async def ask(ctx: hitl.ToolContext) -> str:
            "Ask."
            answer = await ctx.ask(str, first)
            acted.append(answer)
            return answer

        return ask

    turns = [[hitl.call("ask")], tell_back]
    run = await agent_on(store_at(tmp_path), turns, [tool("Delete which?")]).generate("go")
    later = agent_on(store_at(tmp_path), turns, [tool("Keep which?")])
    done = await later.resume_generate("all", run_id=run.run_id)
    assert "ReplayMismatch" in done.text
    assert acted == []


async def test_two_questions_at_once_in_one_body_are_asked_one_after_the_other(
    tmp_path: Path,
) -> None:
    @hitl.tool
    async def ask(ctx: hitl.ToolContext) -> Any:
        "Ask."
        return await asyncio.gather(ctx.ask(int, "One?"), ctx.ask(int, "Two?"))

    agent = agent_on(store_at(tmp_path), [[hitl.call("ask")], tell_back], [ask])
    run = await agent.generate("go")
    assert [r.message for r in run.requests] == ["One?"]
    again = await agent.resume_generate(1, run_id=run.run_id)
    assert [r.message for r in again.requests] == ["Two?"]
    done = await agent.resume_generate(2, run_id=run.run_id)
    assert done.text == "told: [1, 2]"


@pytest.mark.parametrize("end", ["decline", "cancel", "stop"])
async def test_a_body_that_catches_everything_loses_no_pause(tmp_path: Path, end: str) -> None:
    """R8, F33: whatever a discarded body goes on to do or to return is ignored."""
    leaked: list[Any] = []

    @hitl.tool
    async def stubborn(ctx: hitl.ToolContext) -> str:
        "Never gives up."
        for _ in range(5):
            try:
                await ctx.ask(str, "Really?")
            except BaseException as e:  # noqa: BLE001
                leaked.append(e)
            finally:
                leaked.append("finally")
        return "made up"

    agent = agent_on(store_at(tmp_path), [[hitl.call("stubborn")], tell_back], [stubborn])
    handle = agent.start("go")
    with hitl.reviewer(lambda _: None):
        handle = agent.start("go")
        (request,) = await until(
            lambda: agent.store.requests(run_id=handle.run_id, states=("pending",))
        )
    if end == "cancel":
        handle.cancel()
    else:
        await hitl.decide(request, hitl.Decline("no", stop=end == "stop"))
    result = await asyncio.wait_for(asyncio.ensure_future(_await(handle)), 10)
    assert "made up" not in result.text
    expected = {"decline": "stop", "cancel": "aborted", "stop": "declined"}[end]
    assert result.finish_reason == expected
    calls = agent.store.calls(handle.run_id)
    assert [c.result["type"] for c in calls if c.result] in (["denied"], ["error"])


async def test_what_a_body_returns_in_the_moment_it_is_discarded_is_ignored(
    tmp_path: Path,
) -> None:
    """R8, R11: it ends by itself, before it could be cancelled, and the decline stands."""
    ended: list[str] = []

    @hitl.tool
    async def sneaky(ctx: hitl.ToolContext) -> str:
        "Asks on the side, and does not wait for the answer."
        asking = asyncio.ensure_future(ctx.ask(str, "Really?"))
        while not ctx._link.run.discarded:  # type: ignore[union-attr]  # noqa: ASYNC110
            await asyncio.sleep(0)
        asking.cancel()
        ended.append("by itself")
        return "made up"

    agent = agent_on(store_at(tmp_path), [[hitl.call("sneaky")], tell_back], [sneaky])
    with hitl.reviewer(lambda _: hitl.Decline("no")):
        result = await asyncio.wait_for(agent.run("go"), 10)
    assert ended == ["by itself"]
    assert "made up" not in result.text
    (call,) = agent.store.calls(result.run_id)
    assert call.result is not None
    assert call.result["type"] == "denied"


async def test_a_body_that_ended_when_it_was_interrupted_is_not_of_unknown_outcome(
    tmp_path: Path,
) -> None:
    """R8, R13: its true result is kept before control goes back."""

    @hitl.tool
    async def last(ctx: hitl.ToolContext) -> str:
        "Its last act stops the cell that waits for it."
        driver = ctx._link.run.driver  # type: ignore[union-attr]
        asyncio.get_running_loop().call_soon(driver.task.cancel)
        return "true"

    agent = agent_on(store_at(tmp_path), [[hitl.call("last")], tell_back], [last])
    with pytest.raises(asyncio.CancelledError):
        await agent.run("go")
    (run,) = agent.store.runs()
    (call,) = agent.store.calls(run.id)
    assert (call.state, call.result) == ("done", {"type": "result", "value": "true"})
    assert (await agent.attach(run.id)).text == "told: true"


@pytest.mark.parametrize("end", ["interrupted", "out of time"])
async def test_a_pause_that_was_noted_is_kept_however_its_body_ends(
    tmp_path: Path, end: str
) -> None:
    """R8, R16, F33: a body that hangs after `ctx.suspend` has asked all the same."""
    noted = asyncio.Event()

    @hitl.tool(resume_schema=str, timeout=0.2 if end == "out of time" else None)
    async def ask(ctx: hitl.ToolContext) -> str:
        "Ask, and go on for ever."
        if ctx.resume_data is None:
            ctx.suspend("?")
            noted.set()
            await asyncio.Event().wait()
        return ctx.resume_data

    agent = agent_on(store_at(tmp_path), [[hitl.call("ask")], tell_back], [ask])
    if end == "interrupted":
        with hitl.reviewer(lambda _: None):
            cell = asyncio.ensure_future(agent.run("go"))
            await noted.wait()
            cell.cancel()
            with pytest.raises(asyncio.CancelledError):
                await cell
    else:
        assert (await agent.generate("go")).finish_reason == "suspended"
    (request,) = await hitl.pending(agent.store)
    assert (request.state, request.kind, request.suspend_payload) == ("pending", "input", "?")
    done = await agent.resume_generate("here", run_id=request.run_id)
    assert done.text == "told: here"


async def _await(handle: Any) -> Any:
    return await handle


async def test_a_parked_body_whose_agent_is_defined_again_in_the_process_is_used_once(
    tmp_path: Path,
) -> None:
    """Two Agent objects in one process on one store: the newest goes on with the same body."""
    log: list[str] = []
    store = store_at(tmp_path)
    one = agent_on(store, BOOK, [booking(log)])
    run = await one.generate("go")
    two = agent_on(store, BOOK, [booking(log)])
    await two.resume_generate({"city": "Rome"}, run_id=run.run_id)
    await one.resume_generate(2, run_id=run.run_id)
    done = await two.approve_tool_call_generate(run_id=run.run_id)
    assert done.text == "told: Rome 2 17"
    assert log.count("entered") == log.count("booked") == 1


def test_a_body_parked_on_a_loop_that_is_gone_is_replayed(tmp_path: Path) -> None:
    """Cancelled loops: what the old body does on its way out is ignored."""
    log: list[str] = []
    store = store_at(tmp_path)
    agent = agent_on(store, BOOK, [booking(log)])

    async def begin() -> str:
        return (await agent.generate("go")).run_id

    run_id = asyncio.run(begin())
    gc.collect()

    async def go_on() -> Any:
        await agent.resume_generate({"city": "Rome"}, run_id=run_id)
        await agent.resume_generate(2, run_id=run_id)
        return await agent.approve_tool_call_generate(run_id=run_id)

    done = asyncio.run(go_on())
    assert done.text == "told: Rome 2 17"
    assert log.count("booked") == log.count("drew") == 1


async def test_the_time_a_human_takes_is_not_the_tools(tmp_path: Path) -> None:
    @hitl.tool(timeout=0.3)
    async def ask(ctx: hitl.ToolContext) -> str:
        "Ask."
        return await ctx.ask(str, "?")

    agent = agent_on(store_at(tmp_path), [[hitl.call("ask")], tell_back], [ask])
    run = await agent.generate("go")
    await asyncio.sleep(0.5)  # longer than the tool may take
    done = await agent.resume_generate("late", run_id=run.run_id)
    assert done.text == "told: late"
