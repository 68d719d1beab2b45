"""What stands around a call when it is asked: its preview, and the variables that it reads.

Looked at before the card, and again at the claim where it is part of what was approved (R3).
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import functools
import inspect
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from ..calling import call, said
from ..errors import HitlError
from ..fingerprint import digest
from ..request import Request, utc
from ..variables import look_up, spaces_of
from .masks import hiding, masked, masked_parts, secret_texts

T = TypeVar("T")

SECONDS = 10.0
"""So long a preview may take, unless its tool says otherwise."""

BYTES = 300_000
"""Of a preview's JSON; beyond, parts are left out, and it says so."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What to look at before a call is asked.

    Attributes
    ----------
    preview
        Called with those of the call's arguments that it takes, by name; sync or async.
    seconds
        How long it may take.
    bind
        Whether what it shows is part of the fingerprint.
    reads
        Names of variables whose content is part of the fingerprint.
    function
        Whose variables they are.
    """

    preview: Callable[..., Any] | None = None
    seconds: float = SECONDS
    bind: bool = False
    reads: tuple[str, ...] = ()
    function: Callable[..., Any] | None = None

    def check(self, parameters: Sequence[str], error: type[HitlError], name: str) -> None:
        """Refuse at the definition what would only fail at a call."""
        if self.preview is not None and not callable(self.preview):
            raise error(f"{name}: preview={self.preview!r}; give a function of its arguments.")
        if isinstance(cast("Any", self.seconds), bool) or not self.seconds > 0:
            raise error(f"{name}: preview_timeout={self.seconds!r}; give seconds above 0.")
        if self.bind and self.preview is None:
            raise error(f"{name}: bind_preview=True without preview=: there is nothing to bind.")
        if not all(isinstance(cast("Any", n), str) and n.isidentifier() for n in self.reads):
            raise error(f'{name}: reads={self.reads!r}; give names of variables: reads=("df",).')
        unknown = [n for n in _taken(self.preview, None) if n not in parameters]
        if unknown:
            raise error(
                f"{name}: its preview takes {', '.join(unknown)}, and the call has "
                f"{', '.join(parameters) or 'no arguments'}. A preview gets arguments by name."
            )


@dataclass(frozen=True, slots=True)
class Looked:
    """What was seen.

    Attributes
    ----------
    preview
        ``{"made_at", "seconds", "digest", "bound", "parts"}``, with ``"failed"`` when it did; or
        None without one.
    reads
        Name → what the variable was, see `names.summary`.
    bound
        What of it takes part in the fingerprint.
    """

    preview: dict[str, Any] | None = None
    reads: dict[str, Any] = field(default_factory=dict[str, Any])
    bound: dict[str, Any] = field(default_factory=dict[str, Any])


def plan_of(
    name: str,
    function: Callable[..., Any],
    parameters: Sequence[str],
    *,
    preview: Any,
    seconds: Any,
    bind: bool,
    reads: Any,
    error: type[HitlError],
) -> Plan | None:
    """The plan that options ask for, or None; `error` for one that could only fail later."""
    if isinstance(reads, str):
        raise error(f'{name}: reads={reads!r}; give names of variables: reads=("{reads}",).')
    names = tuple(reads)
    made = Plan(preview=preview, seconds=seconds, bind=bind, reads=names, function=function)
    made.check(parameters, error, name)
    return made if preview is not None or names else None


def differences(request: Request, looked: Looked) -> dict[str, Any]:
    """What a person has to know who approved `request` and is asked again."""
    from .names import changed  # noqa: PLC0415  # what describes tables loads when it is used

    found: dict[str, Any] = {}
    reads = changed(request.reads, looked.reads)
    if reads:
        found["reads"] = reads
    before, after = request.preview, looked.preview
    if before is not None and after is not None and before["digest"] != after["digest"]:
        found["preview"] = True
    return found


async def look(
    plan: Plan | None,
    values: Mapping[str, Any],
    *,
    secrets: Sequence[str] = (),
    plain: Mapping[str, Any] | None = None,
    bound_only: bool = False,
) -> Looked:
    """Make the preview and describe what is read. A preview that fails says so; it never raises.

    Parameters
    ----------
    values
        The call's arguments by name, as its body gets them.
    secrets, plain
        JSON Pointers into `plain`, the same arguments as JSON: what nobody may read.
    bound_only
        Leave out what takes no part in the fingerprint: enough for a claim.

    Raises
    ------
    NotDescribable
        A variable that is read has no exact form.
    """
    if plan is None:
        return Looked()
    spaces = spaces_of(plan.function)
    reads: dict[str, Any] = {}
    if plan.reads:
        from .names import summary  # noqa: PLC0415

        reads = await _in_thread(
            lambda: {name: summary(name, look_up(name, spaces)) for name in plan.reads}
        )
    preview = None
    if plan.preview is not None and (plan.bind or not bound_only):
        with hiding(secret_texts(plain or {}, secrets)):
            preview = await _made(plan, plan.preview, values)
    bound: dict[str, Any] = {}
    if reads:
        bound["reads"] = {name: told["sha256"] for name, told in reads.items()}
    if preview is not None and plan.bind:
        bound["preview"] = preview["digest"]
    return Looked(preview, reads, bound)


# -- the preview ---------------------------------------------------------------------------------


async def _made(
    plan: Plan, preview: Callable[..., Any], values: Mapping[str, Any]
) -> dict[str, Any]:
    began = time.time()
    told: dict[str, Any] = {"made_at": utc(began).isoformat(), "bound": plan.bind}
    try:
        parts = masked_parts(await _within(plan, preview, values))
        told |= {"digest": digest(parts), "parts": _fitting(parts)}
    except Exception as e:  # noqa: BLE001  # it only shows: its fault is told, and blocks nothing
        # The same whatever it said: an address in an error must not make a call another one.
        told |= {"digest": digest("failed"), "parts": []}
        told["failed"] = masked(_fault(e, plan))[:500]
    return {**told, "seconds": round(time.time() - began, 3)}


def _fault(error: Exception, plan: Plan) -> str:
    if isinstance(error, _TooSlow):
        return f"it was not ready within {plan.seconds:g} s"
    return said(error)


class _TooSlow(Exception):
    pass


async def _within(
    plan: Plan, preview: Callable[..., Any], values: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Its parts, in time. What runs on in a thread after that is not waited for."""
    from .parts import parts_of  # noqa: PLC0415

    given = {name: values[name] for name in _taken(preview, values)}

    async def make() -> list[dict[str, Any]]:
        if inspect.iscoroutinefunction(preview):
            value = await call(functools.partial(preview, **given))
            return await _in_thread(lambda: parts_of(value))
        return await _in_thread(lambda: parts_of(preview(**given)))

    task = asyncio.ensure_future(make())
    try:
        await asyncio.wait({task}, timeout=plan.seconds)
        if not task.done():
            raise _TooSlow
        if task.cancelled():
            raise RuntimeError("it was cancelled by itself")
        return task.result()
    finally:
        if not task.done():
            task.cancel()
            task.add_done_callback(lambda t: t.cancelled() or t.exception())


async def _in_thread(work: Callable[[], T]) -> T:
    """Run it in a thread of its own, which no exit of the process waits for."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()
    context = contextvars.copy_context()

    def settle(outcome: Callable[[], object]) -> None:
        if not done.done():
            outcome()

    def main() -> None:
        try:
            outcome = functools.partial(done.set_result, context.run(work))
        except BaseException as e:  # noqa: BLE001  # told as the preview's fault
            outcome = functools.partial(done.set_exception, _ordinary(e))
        with contextlib.suppress(RuntimeError):  # the loop has ended: nobody waits
            loop.call_soon_threadsafe(settle, outcome)

    if sys.platform == "emscripten":  # a browser has no threads: everything waits for it there
        main()
    else:
        threading.Thread(target=main, name="hitl-preview", daemon=True).start()
    return await done


def _ordinary(error: BaseException) -> Exception:
    """An error that ends nothing else: what ends programs and iterations, in words."""
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    return RuntimeError(said(error))


def _taken(preview: Callable[..., Any] | None, values: Mapping[str, Any] | None) -> list[str]:
    """Names of the arguments that a preview takes; of all in `values`, if it takes any."""
    if preview is None:
        return []
    parameters = inspect.signature(preview).parameters.values()
    if values is not None and any(p.kind is p.VAR_KEYWORD for p in parameters):
        return list(values)
    named = [p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    return [p.name for p in named if (p.default is p.empty if values is None else p.name in values)]


def _fitting(parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """As many parts, from the first, as may be kept; the rest is counted."""
    kept: list[dict[str, Any]] = []
    size = 0
    for number, part in enumerate(parts):
        size += sum(len(str(value)) for value in part.values())
        if size > BYTES:
            words = f"Parts that are too large to be shown: {len(parts) - number}."
            return [*kept, {"kind": "text", "text": words, "length": len(words)}]
        kept.append(part)
    return kept
