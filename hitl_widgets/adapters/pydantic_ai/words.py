"""Between pydantic-ai's words and ours: deferred calls become questions, decisions its results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import Any, cast

from pydantic import ValidationError
from pydantic_ai import (
    DeferredToolRequests,
    DeferredToolResults,
    RunContext,
    ToolApproved,
    ToolDenied,
    ToolFailed,
    ToolReturn,
)
from pydantic_ai.messages import ToolCallPart

from ...describe import Description, describe_arguments
from ...errors import InvalidAnswer
from ...external import BLOCKED, Ask, Check, External, notes_for_model, plain
from ...request import Request, Verdict
from ..results import kept_result, was_edited
from .place import Calls

APPROVAL: tuple[Verdict, ...] = ("approve", "decline", "respond")
INPUT: tuple[Verdict, ...] = ("answer", "decline")

Path = tuple[str, ...]

# -- asking ----------------------------------------------------------------------------------------


def told(name: str, args: dict[str, Any]) -> Description:
    """Validated arguments as JSON, secrets in clear and named."""
    texts = {k: str(v) if isinstance(v, PurePath) else v for k, v in args.items()}
    return describe_arguments(texts, where=name)


def schemas(ctx: RunContext[Any]) -> dict[str, dict[str, Any]]:
    """Tool name → the schema of its arguments."""
    return {name: d.parameters_json_schema for name, d in (ctx.tools or {}).items()}


def validators(ctx: RunContext[Any]) -> dict[str, Check]:
    """Tool name → the framework's own reading of arguments."""
    manager = ctx.tool_manager
    tools = (manager.tools or {}) if manager is not None else {}

    def reading(name: str, validator: Any) -> Check:
        def read(args: dict[str, Any]) -> dict[str, Any]:
            try:
                found = validator.validate_python(args, context=ctx.validation_context)
            except ValidationError as e:
                errors = [
                    {"path": list(x["loc"]), "message": x["msg"], "type": x["type"]}
                    for x in e.errors(include_url=False, include_input=False)
                ]
                raise InvalidAnswer(errors, f"{name} does not take these arguments") from e
            return told(name, found).args

        return read

    return {name: reading(name, tool.args_validator) for name, tool in tools.items()}


def parts_of(requests: DeferredToolRequests) -> list[ToolCallPart]:
    """Every call of a turn that waits."""
    return [*requests.approvals, *requests.calls]


def leave_word(ctx: RunContext[Any], requests: DeferredToolRequests, path: Path) -> None:
    """Put schemas and path into the requests, for whoever resumes: this run is over then."""
    known = schemas(ctx)
    for part in parts_of(requests):
        about = requests.metadata.setdefault(part.tool_call_id, {})
        about["hitl"] = {"schema": known.get(part.tool_name), "path": list(path)}


def asks_of(
    requests: DeferredToolRequests,
    calls: Calls,
    known: dict[str, dict[str, Any]],
    path: Path,
) -> list[Ask]:
    """What a turn wants decided; `known`: schemas by tool name."""
    return [_ask(part, requests, calls, known, path) for part in parts_of(requests)]


def _ask(
    part: ToolCallPart,
    requests: DeferredToolRequests,
    calls: Calls,
    known: dict[str, dict[str, Any]],
    path: Path,
) -> Ask:
    validated = calls.told.get(part.tool_call_id)
    if validated is None:
        validated = Description(part.args_as_dict(raise_if_invalid=True))
    about = requests.metadata.get(part.tool_call_id, {})
    kept = about.get("hitl", {})
    shown = {k: v for k, v in about.items() if k != "hitl"}
    approval = requests.kind(part.tool_call_id) == "approval"
    return Ask(
        name=part.tool_name,
        args=validated.args,
        secrets=tuple(validated.secrets),
        agent_path=tuple(kept.get("path", path)),
        provider_id=part.tool_call_id,
        kind="approval" if approval else "input",
        allowed=APPROVAL if approval else INPUT,
        payload=plain(shown) if shown else None,
        input_schema=kept.get("schema", known.get(part.tool_name)),
        resume_schema=None if approval else shown.get("resume_schema"),
        parked="hitl" not in about,
        check=calls.validators.get(part.tool_name) if approval else None,
    )


# -- answering -------------------------------------------------------------------------------------


async def answers(
    external: External, calls: Calls, requests: DeferredToolRequests, call_ids: Sequence[str]
) -> DeferredToolResults:
    """Wait for every decision; in pydantic-ai's words."""
    decided = await external.decided(call_ids)
    await external.going_on()
    results = DeferredToolResults()
    for part, ours in zip(parts_of(requests), call_ids, strict=True):
        theirs, request = part.tool_call_id, decided[ours]
        if request.reviewer is not None:
            results.answered_by[theirs] = request.reviewer
        if requests.kind(theirs) == "approval":
            results.approvals[theirs] = await _approval(external, calls, theirs, request)
        else:
            results.calls[theirs] = await _input(external, request)
    return results


async def _approval(
    external: External, calls: Calls, theirs: str, request: Request
) -> ToolApproved | ToolDenied:
    if request.state not in ("approved", "responded", "done", "failed"):
        return ToolDenied(await external.no(request))
    kept = await kept_result(external, request)
    if kept is not None:
        calls.stored[theirs] = with_notes(kept[0], request)
        return ToolApproved()
    calls.approved[theirs] = request
    row = await external.row(request.tool_call_id)
    return ToolApproved(override_args=row.args if was_edited(request) else None)


async def _input(external: External, request: Request) -> Any:
    row = await external.row(request.tool_call_id)
    if request.state == "answered":
        token = await external.claim(request, row.args, request.input_schema)
        if token is None:
            return ToolFailed(BLOCKED.format(request.tool_name))
        value = await external.given(request.tool_call_id)
        await external.finish(request.tool_call_id, token, "result", value)
        return value
    if request.state in ("done", "failed") and row.result is not None:
        return row.result.get("value")
    return ToolFailed(await external.no(request))


def with_notes(value: Any, request: Request) -> Any:
    """The result with what a human changed or said.

    pydantic-ai's history keeps the model's own arguments: here it learns the truth (R10).
    """
    notes = notes_for_model(request)
    if not notes:
        return value
    if isinstance(value, ToolReturn):
        returned = cast("Any", value)
        returned.return_value = {"result": returned.return_value, **notes}
        return returned
    return {"result": value, **notes}
