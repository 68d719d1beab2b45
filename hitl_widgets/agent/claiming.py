"""The claim (R3): what would run now is what was approved, or what stands in the way is kept."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..errors import Expired, HitlError, InvalidAnswer, StaleFingerprint, ToolChanged
from ..fingerprint import diff
from ..previews.look import Looked, differences
from ..previews.plain import told_why
from ..request import Request, fresh, new_id
from .asking import asked_again
from .proposals import BLOCKED, BODY_CHANGED, DISABLED, describe, forbidden, identity

if TYPE_CHECKING:
    from .calls import CallRun


def why_not(run: CallRun, latest: Request | None) -> str | None:
    """What stands in the way of running a call in this process, whatever was decided (R3, R6).

    A tool whose body came or went since the call was made is another tool: a result that a human
    gave is no consent to a body, and a consent to a body is no result.
    """
    if forbidden(run.entry):
        return DISABLED.format(run.tool.id)
    by_human = latest is not None and latest.scope.get("how") == "client"
    return None if by_human == run.tool.client else BODY_CHANGED.format(run.tool.id)


async def claim(run: CallRun, request: Request) -> bool:
    """Whether this call may run now, once. What stands in the way is recorded (R3)."""
    refused = why_not(run, request)
    if refused is None and request.scope.get("policy_version") != run.frame.policy_version:
        refused = BLOCKED.format(run.tool.id)
    if refused is not None:
        await _block(run, request, refused)
        return False
    args = run.call.args
    try:
        _same_schema(run, request)
        args = run.tool.check(args)
        await _check_answer(run, request)
        now = identity(await _as_now(run, request, args), args, run.tool, run.driver.desk.store)
        run.call = await run.driver.write(
            "claim",
            request.id,
            run.driver.token,
            run.token,
            fingerprint=now.text,
            schema_digest=run.tool.shape.digest,
        )
    except InvalidAnswer as e:
        await _refuse(run, request, e, e.errors)
        return False
    except (StaleFingerprint, ToolChanged) as e:
        await _stale(run, request, args, e)
        return False
    except Expired as e:  # the store has written that down; the frame acts on it
        run.driver.problems[request.id] = e
        return False
    return True


def _same_schema(run: CallRun, request: Request) -> None:
    if request.scope.get("schema_digest") != run.tool.shape.digest:
        raise ToolChanged(
            f"The input schema of {run.tool.id} changed since {request.id} was asked. "
            "Nothing ran: look at the call again."
        )


async def _as_now(run: CallRun, request: Request, args: dict[str, Any]) -> Request:
    """The request, bound to what its variables and its preview are now (R3)."""
    if run.tool.plan is None or request.kind != "approval" or request.message is not None:
        return request
    looked = await run.tool.look(args, bound_only=True)
    return replace(request, scope={**request.scope, "bound": looked.bound})


async def _check_answer(run: CallRun, request: Request) -> None:
    shape = run.tool.resume_shape
    if request.scope.get("how") == "suspend" and shape is not None:
        answers = await run.driver.read("answers", run.call.id)
        shape.validate(answers[-1]["answer"])


async def _block(run: CallRun, request: Request, text: str) -> None:
    result = {"type": "denied", "value": text}
    await run.driver.write("move", request.id, "block", "blocked", call_result=result)
    run.driver.announce_result(run.frame, run.call, result)


async def _refuse(
    run: CallRun, request: Request, error: HitlError, faults: list[dict[str, Any]]
) -> None:
    """What the stored schema let through does not fit: ask again (R4)."""
    again = fresh(
        request,
        id=new_id("r"),
        created_at=run.driver.date(),
        **asked_again(request, run.questions.ordinal, faults),
    )
    again.scope["schema_digest"] = run.tool.shape.digest
    known = identity(again, run.call.args, run.tool, run.driver.desk.store)
    again = replace(again, fingerprint=known.text, digests=known.digests)
    await _open_again(run, request, "refuse", again, error)


async def _stale(run: CallRun, request: Request, args: dict[str, Any], error: HitlError) -> None:
    """What would run is not what was approved: ask about that (R3)."""
    if request.kind == "input":
        await _refuse(run, request, error, [])
        return
    looked = Looked()
    with contextlib.suppress(InvalidAnswer):  # then shown as it is: a human may edit it
        args = run.tool.check(args)
        looked = await run.tool.look(args)
    again = describe(
        run.frame,
        run.tool,
        replace(run.call, args=args),
        ordinal=run.questions.ordinal,
        kind="approval",
        more={
            "replaces": request.id,
            "changed": differences(request, looked),
        },
        looked=looked,
    )
    changes = diff((request.decision or {}).get("edited", {}).get("digests", request.digests),
                   again.digests)  # fmt: skip
    again.scope["diff"] = changes
    error = told_why(error, again)
    again.scope["stale"] = str(error)
    if isinstance(error, StaleFingerprint):
        error.diff = changes
    await _open_again(run, request, "make_stale", again, error)


async def _open_again(
    run: CallRun, old: Request, verb: str, again: Request, error: HitlError
) -> None:
    target = "refused" if verb == "refuse" else "stale"
    detail = {"why": str(error)}
    await run.driver.write("move", old.id, verb, target, opens=again, detail=detail)
    run.driver.problems[old.id] = error
    run.driver.opened(again)
