"""Managed Agents: a session's calls decided from a cell.

    live = attach(client, session_id)
    reason = await live.until_idle()

The session lives at the service; this process shows it, answers for it, and keeps the audit. Its
state is read from its events, so a restarted kernel attaches again and shows what waits.

Needs the extra ``hitl-widgets[managed-agents]`` (`anthropic` 2.10 or later).
"""

from __future__ import annotations

from typing import Any

from ..deciders import Decide

try:
    from .managed.live import Live
    from .managed.live import attach as _attach
    from .managed.watching import Hint, Watch
    from .managed.watching import webhook as _webhook
except ModuleNotFoundError as e:
    raise ModuleNotFoundError(
        f"{e}. Managed Agents need the extra: pip install 'hitl-widgets[managed-agents]'",
        name=e.name,
    ) from e

__all__ = ["Hint", "Live", "Watch", "attach", "watch", "webhook"]


def attach(
    client: Any,
    session_id: str,
    decide: Decide | None = None,
    custom_tools: dict[str, Any] | None = None,
    *,
    store: Any = None,
    silence: float = 60.0,
) -> Live:
    """Show a session in this cell and answer for it.

    Every call that the service evaluated to ``ask`` becomes a card with what the service can be
    told: Approve (``allow``), Decline with or without a reason (``deny``).

    Parameters
    ----------
    client
        An ``anthropic.AsyncAnthropic``, or a synchronous ``anthropic.Anthropic`` (an asynchronous
        twin of it is made).
    decide
        A rule: ``decide(request)`` gives `Approve()`, `Decline(reason)` or, for the questions of
        a form, `Answer(data)`; None leaves it to a card. In the audit as ``rule:<its name>``.
    custom_tools
        Name → a function or `hitl.tool` that runs here (behind its own gate, if it has one); a
        type or JSON Schema, for a form that a person fills in with the result; None, when another
        client answers it. A custom tool that is not named here gets a form.
    silence
        Seconds without any byte from the service after which its stream counts as dead.

    Raises
    ------
    AgentDefinitionError
        `custom_tools` holds something else.
    """
    return _attach(client, session_id, decide, custom_tools, store=store, silence=silence)


def watch(
    client: Any,
    decide: Decide | None = None,
    custom_tools: dict[str, Any] | None = None,
    *,
    agent_id: str | None = None,
    every: float = 30.0,
    store: Any = None,
) -> Watch:
    """Follow every session that waits for somebody: an inbox over sessions.

    Parameters
    ----------
    agent_id
        Only this agent's sessions.
    every
        Seconds between listings; `webhook` makes it look at once.
    decide, custom_tools, store
        As for `attach`.
    """
    return Watch(client, decide, custom_tools or {}, agent_id=agent_id, every=every, store=store)


def webhook(payload: str | bytes, headers: Any, key: str) -> Hint | None:
    """Check a webhook delivery, and go and look at the session that it names.

    It is a hint and nothing more: what to do is read from the session's events, so duplicates and
    disorder do no harm. Callable on any thread.

    Parameters
    ----------
    payload, headers
        The request's body as it came, and its headers.
    key
        The endpoint's signing key, ``whsec_…``.

    Returns
    -------
    Hint or None
        What was told; None for a delivery that was seen before.

    Raises
    ------
    NotPermitted
        The signature, or its time, is not right: nothing was done.
    """
    return _webhook(payload, headers, key)
