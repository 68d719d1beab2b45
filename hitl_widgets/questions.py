"""Asking without an agent: `ask`, `confirm`, `require_approval`, and the same from sync code."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import functools
import inspect
import queue
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, TypeVar, cast, overload

from pydantic_core import to_jsonable_python

from . import deciders, given, surface
from .describe import Description, describe_arguments
from .errors import AgentDefinitionError, Declined, NoReviewer
from .previews.look import SECONDS, plan_of
from .request import Effect, OnExpire, Record
from .schema import shape_of
from .standalone import Asking, Question
from .store import check_store
from .unanswered import unanswered

R = TypeVar("R")


@unanswered("hitl.ask")
async def ask(
    kind: Any,
    message: str = "",
    *,
    initial: Any = None,
    key: str | None = None,
    expires: float | None = None,
    on_expire: OnExpire = "decline",
    store: Any = None,
) -> Any:
    """Ask a human for data with a form.

    Parameters
    ----------
    kind
        A pydantic model, any type, or a JSON Schema.
    message
        The question.
    initial
        Any JSON value to begin with, valid or not. It is kept with the request as it is: give no
        secret that is not to stand in the store.
    key
        Names the question, so that it survives a restart: running the cell again attaches.

    Returns
    -------
    object
        The typed value; for a JSON Schema, JSON.

    Raises
    ------
    Declined, Expired, Withdrawn, NoReviewer, RunSuspended
    """
    return await Asking(
        _input(
            kind,
            message,
            initial=initial,
            key=key,
            expires=expires,
            on_expire=on_expire,
            store=store,
        )
    ).answer()


def _input(
    kind: Any,
    message: str,
    *,
    initial: Any,
    key: str | None,
    expires: float | None,
    on_expire: OnExpire,
    store: Any,
) -> Question:
    given.check(
        AgentDefinitionError, "ask", message=message, key=key, expires=expires, on_expire=on_expire
    )
    shape = shape_of(kind)
    return Question(
        name="ask",
        scope="ask",
        kind="input",
        describe=Description,
        shape=shape,
        message=message or shape.title,
        initial=to_jsonable_python(initial, fallback=repr),
        allowed=("answer", "decline"),
        key=key,
        expires=expires,
        on_expire=on_expire,
        store=store,
    )


@unanswered("hitl.confirm")
async def confirm(
    message: str, *, key: str | None = None, expires: float | None = None, store: Any = None
) -> bool:
    """Ask a human yes or no; False when declined.

    Raises
    ------
    Expired, Withdrawn, NoReviewer, RunSuspended
    """
    given.check_one(AgentDefinitionError, "confirm", "message", message, given.NAME)
    given.check(AgentDefinitionError, "confirm", key=key, expires=expires)
    question = Question(
        name="confirm",
        scope="confirm",
        kind="approval",
        describe=Description,
        message=message,
        key=key,
        expires=expires,
        store=store,
    )
    try:
        return await Asking(question).answer() is True
    except Declined:
        return False


@overload
def require_approval(function: Callable[..., R], /) -> Callable[..., R]: ...


@overload
def require_approval(
    *,
    effect: Effect | None = None,
    secret: Sequence[str] = (),
    describe: Mapping[str, Callable[[Any], Any]] | None = None,
    message: str | None = None,
    key: str | Callable[..., str] | None = None,
    expires: float | None = None,
    on_expire: OnExpire = "decline",
    reviewers: Sequence[str] | None = None,
    quorum: int = 1,
    record: Record = "full",
    store: Any = None,
    preview: Callable[..., Any] | None = None,
    preview_timeout: float = SECONDS,
    bind_preview: bool = False,
    reads: Sequence[str] = (),
) -> Callable[[Callable[..., R]], Callable[..., R]]: ...


def require_approval(function: Any = None, /, **options: Any) -> Any:
    """Gate a function: a human approves each call before it runs.

    Keeps signature, annotations, docstring and kind (sync or async), so the result can be handed
    to any framework's tool decorator. A sync one has ``.aio`` to be awaited instead.

    Parameters
    ----------
    effect
        ``"read"``, ``"write"``, ``"costly"`` or ``"destructive"``.
    secret
        JSON Pointers of arguments that nobody may read.
    describe
        Argument name → function giving JSON, for objects without an exact form.
    key
        Names a call, so that it survives a restart; a text, or a function of the arguments.
    record
        What a saved notebook keeps of its requests, as for `tool`.
    preview, preview_timeout, bind_preview, reads
        What is shown of it before it is asked, as for `tool`; here a preview gets the very objects
        that the call was given.

    Raises
    ------
    Declined, Expired, Withdrawn, NoReviewer, RunSuspended, OutcomeUnknown
        From a call that did not run.
    NotDescribable
        From a call: an argument has no exact form.
    """
    if function is None:
        return functools.partial(_gate, **options)
    return _gate(function)


def _gate(
    function: Callable[..., Any],
    *,
    effect: Effect | None = None,
    secret: Sequence[str] = (),
    describe: Mapping[str, Callable[[Any], Any]] | None = None,
    message: str | None = None,
    key: str | Callable[..., str] | None = None,
    preview: Callable[..., Any] | None = None,
    preview_timeout: float = SECONDS,
    bind_preview: bool = False,
    reads: Sequence[str] = (),
    **options: Any,
) -> Any:
    if not inspect.isroutine(function):
        raise AgentDefinitionError(
            f"require_approval({function!r}): give a function; wrap a partial or a callable "
            "object in one."
        )
    signature = inspect.signature(function)
    name = function.__name__
    _check_gate(name, signature, effect=effect, secret=secret, message=message, key=key, **options)
    plan = plan_of(
        f"require_approval on {name}",
        function,
        [*signature.parameters],
        preview=preview,
        seconds=preview_timeout,
        bind=bind_preview,
        reads=reads,
        error=AgentDefinitionError,
    )
    first = next(iter(signature.parameters), "")
    method = first in ("self", "cls") and "." in function.__qualname__
    reviewers = options.pop("reviewers", None)
    gate = _Gate(
        function=function,
        signature=signature,
        secret=secret,
        describers=describe or {},
        owner=first if method else None,
        key=key,
        fixed={
            "message": message,
            "effect": effect or "unknown",
            "plan": plan,
            "reviewers": None if reviewers is None else tuple(reviewers),
            **options,
        },
    )

    @functools.wraps(function)
    async def gated(*args: Any, **kwargs: Any) -> Any:
        return await Asking(gate.question(args, kwargs)).answer()

    if inspect.iscoroutinefunction(function):
        return gated

    @functools.wraps(function)
    def blocking(*args: Any, **kwargs: Any) -> Any:
        # The body belongs on the caller's thread: connections and windows are bound to it.
        here = _Elsewhere()
        return _block(Asking(gate.question(args, kwargs, here)).answer(), here)

    cast("Any", blocking).aio = gated
    return blocking


@dataclass(frozen=True, kw_only=True)
class _Gate:
    """A gated function, and what each question about a call of it has in common (`fixed`)."""

    function: Callable[..., Any]
    signature: inspect.Signature
    secret: Sequence[str]
    describers: Mapping[str, Callable[[Any], Any]]
    owner: str | None
    key: str | Callable[..., str] | None
    fixed: Mapping[str, Any]

    def question(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], here: _Elsewhere | None = None
    ) -> Question:
        """The question about one call; its body runs `here`, or on a thread of its own."""
        bound = self.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        seen, function = dict(bound.arguments), self.function

        async def perform() -> Any:
            if inspect.iscoroutinefunction(function):
                return await function(*args, **kwargs)
            if here is not None:
                return await here(functools.partial(function, *args, **kwargs))
            return await asyncio.to_thread(function, *args, **kwargs)

        name = function.__name__
        return Question(
            name=name,
            scope=f"{function.__module__}.{function.__qualname__}",
            kind="approval",
            describe=lambda: describe_arguments(
                seen,
                where=name,
                declared=self.secret,
                describers=self.describers,
                owner=self.owner,
            ),
            perform=perform,
            allowed=("approve", "decline", "respond"),
            key=self.key(*args, **kwargs) if callable(self.key) else self.key,
            values=seen,
            **self.fixed,
        )


def _check_gate(
    name: str,
    signature: inspect.Signature,
    *,
    key: Any,
    secret: Sequence[str],
    reviewers: Sequence[str] | None = None,
    quorum: int = 1,
    store: Any = None,
    **options: Any,
) -> None:
    """Refuse at the definition what would only fail, or ask wrongly, at a call."""
    where = f"require_approval on {name}"
    error = AgentDefinitionError
    unknown = options.keys() - {"effect", "message", "expires", "on_expire", "record"}
    if unknown:
        raise TypeError(f"{where} has no option {', '.join(sorted(unknown))}.")
    check_store(store)
    named = {"secret": secret, "reviewers": reviewers, "quorum": quorum}
    given.check(error, where, key=None if callable(key) else key, **named, **options)
    given.check_quorum(error, where, quorum=quorum, reviewers=reviewers)
    parameters = signature.parameters.values()
    any_name = any(p.kind is p.VAR_KEYWORD for p in parameters)
    given.check_secrets(error, where, secret, None if any_name else [*signature.parameters])


# -- from synchronous code -----------------------------------------------------------------------


def run_sync(work: Coroutine[Any, Any, R] | Callable[..., Coroutine[Any, Any, R]], *args: Any) -> R:
    """Run a coroutine to its end from synchronous code; never a hang.

    On a thread without an event loop it runs right here. On a notebook's main thread, where a
    loop already runs, it runs on a thread of its own while this one blocks, if the kernel can
    take clicks meanwhile.

    Raises
    ------
    NoReviewer
        This thread's loop runs and nothing could reach a person while it is blocked: says what
        to await instead.
    """
    return _block(work(*args) if callable(work) else work, _Elsewhere())


class _Elsewhere:
    """Runs a function on the thread that blocks for the coroutine which asks for it."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] | None = None

    async def __call__(self, function: Callable[[], R]) -> R:
        if self._jobs is None:  # the coroutine runs on that very thread
            return function()
        done: concurrent.futures.Future[R] = concurrent.futures.Future()

        def job() -> None:
            try:
                done.set_result(function())
            except BaseException as e:  # noqa: BLE001  # raised where it was asked for
                done.set_exception(e)

        self._jobs.put(job)
        return await asyncio.wrap_future(done)

    def serve(self, over: concurrent.futures.Future[Any]) -> None:
        """Run what is asked for until `over` is done."""
        jobs = self._jobs = queue.SimpleQueue()
        over.add_done_callback(lambda _: jobs.put(None))
        while (job := jobs.get()) is not None:
            job()


def _block(coroutine: Coroutine[Any, Any, R], here: _Elsewhere) -> R:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    shown = surface.current()
    blocking = shown.blocking() if shown is not None else None
    if blocking is None and deciders.in_force() is None:
        coroutine.close()
        raise NoReviewer(
            "Synchronous code on a thread whose event loop runs would block every click. Await "
            "the asynchronous form instead: await fn.aio(…), await hitl.ask(…)."
        )
    with blocking or nullcontext():
        return _on_a_thread(coroutine, here)


def _on_a_thread(coroutine: Coroutine[Any, Any, R], here: _Elsewhere) -> R:
    """Run a coroutine on another thread while this one blocks, in this one's context.

    Interrupt ends both: what the coroutine asks is taken back before it is raised here (R16).
    """
    done: concurrent.futures.Future[R] = concurrent.futures.Future()
    started: concurrent.futures.Future[Callable[[], object]] = concurrent.futures.Future()

    async def main() -> R:
        task = asyncio.ensure_future(coroutine)
        loop = asyncio.get_running_loop()
        started.set_result(lambda: loop.call_soon_threadsafe(task.cancel))
        return await task

    def work() -> None:
        try:
            done.set_result(asyncio.run(main()))
        except BaseException as e:  # noqa: BLE001  # raised in the caller's thread
            done.set_exception(e)

    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(work,), name="hitl-run-sync").start()
    try:
        here.serve(done)
        return done.result()
    except KeyboardInterrupt:
        if not done.done():
            started.result()()
            concurrent.futures.wait([done])
        raise


def ask_sync(kind: Any, message: str = "", **options: Any) -> Any:
    """`ask` from synchronous code."""
    return run_sync(ask(kind, message, **options))


def confirm_sync(message: str, **options: Any) -> bool:
    """`confirm` from synchronous code."""
    return run_sync(confirm(message, **options))
