"""Results of calls that must not run, or not run again: the same for every framework."""

from __future__ import annotations

from typing import Any

from ..external import External
from ..request import Request

USED_UP = "Tool call blocked: the approval of {0} was used up by the call that it let run."


async def kept_result(external: External, request: Request) -> tuple[Any] | None:
    """What stands in for a call's run, in a tuple; None when it is still to run.

    A human responded in its place; or it ran before a restart; or a human settled how it ended.
    """
    if request.state == "responded":
        value = (request.decision or {}).get("result")
        await external.answer(request.tool_call_id, "responded", value)
        return (value,)
    row = await external.row(request.tool_call_id)
    return None if row.result is None else (row.result.get("value"),)


def was_edited(request: Request) -> bool:
    """Whether it was approved with other arguments than were asked about."""
    return (request.decision or {}).get("args") is not None
