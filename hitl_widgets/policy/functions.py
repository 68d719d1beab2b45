"""Asking a user's policy function: what it does to a call is lost, and a failure asks a human."""

from __future__ import annotations

import asyncio
import copy
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from ..calling import call_on
from .terms import ApprovalContext

TIMEOUT = 30.0
"""Seconds that a policy function may take; then a human is asked."""


def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(8, thread_name_prefix="hitl-policy")


_threads = _pool()
"""Of their own: tools that keep the common threads busy must not make a rule time out."""


def _forked() -> None:
    """A forked child has none of its parent's threads."""
    global _threads  # noqa: PLW0603
    _threads = _pool()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


async def ask_function(function: Callable[[ApprovalContext], Any], context: ApprovalContext) -> Any:
    """What a policy function says of a call; what it does to the arguments is lost."""
    own = replace(
        context,
        args=copy.deepcopy(dict(context.args)),
        request_context=copy.deepcopy(context.request_context),
    )
    return await call_on(_threads, function, own)


async def answer_of(
    function: Callable[[ApprovalContext], Any] | None, context: ApprovalContext
) -> Any:
    """What a policy function says; None when it is gone, raises or takes too long (R5)."""
    if function is None:
        return None
    try:
        async with asyncio.timeout(TIMEOUT):
            return await ask_function(function, context)
    except Exception:  # noqa: BLE001  # a broken rule asks a human, whatever broke it
        return None
