"""Tools: a function with its schemas and the rules for calling it."""

from __future__ import annotations

import asyncio
import copy
import functools
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, cast, overload

from pydantic_core import to_jsonable_python

from .. import given
from ..errors import ToolDefinitionError
from ..policy import Predicate
from ..previews.look import SECONDS, Looked, Plan, look, plan_of
from ..request import Effect, OnExpire, Record
from ..schema import Shape, shape_of, shape_of_parameters
from .context import ToolContext

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(kw_only=True, eq=False)
class Tool:
    """A function that an agent may call. Made by `tool`; calling it calls the function."""

    id: str
    description: str
    function: Callable[..., Any] | None
    shape: Shape
    context_parameters: tuple[str, ...] = ()
    output_shape: Shape | None = None
    suspend_shape: Shape | None = None
    resume_shape: Shape | None = None
    require_approval: bool | Predicate | None = None
    consent: bool = False
    effect: Effect = "unknown"
    declared_secrets: tuple[str, ...] = ()
    idempotent: bool = False
    timeout: float | None = None
    expires: float | None = None
    on_expire: OnExpire = "decline"
    max_declines: int = 3
    reviewers: tuple[str, ...] | None = None
    quorum: int = 1
    enabled: bool = True
    record: Record = "full"
    agent: Any = None
    plan: Plan | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function itself, ungated: for the author's own tests."""
        if self.function is None:
            raise TypeError(f"{self.id} has no body here: its result is given by a human.")
        return self.function(*args, **kwargs)

    @property
    def client(self) -> bool:
        """Whether the tool has no body here (R19)."""
        return self.function is None and self.agent is None

    @cached_property
    def secrets(self) -> tuple[str, ...]:
        """JSON Pointers of secret arguments; ``*`` matches any step."""
        return tuple(dict.fromkeys((*self.declared_secrets, *self.shape.secrets)))

    def secrets_in(self, args: Mapping[str, Any]) -> tuple[str, ...]:
        """JSON Pointers of the secrets that these arguments hold."""
        return self.shape.secrets_in(args, self.declared_secrets)

    @property
    def asynchronous(self) -> bool:
        """Whether the body runs on the event loop (else: in a worker thread)."""
        called = getattr(self.function, "__call__", None)  # noqa: B004  # an object's own
        return inspect.iscoroutinefunction(self.function) or inspect.iscoroutinefunction(called)

    def check(self, args: Any) -> dict[str, Any]:
        """Validate JSON arguments; the same, normalised, as JSON with defaults filled in.

        Raises
        ------
        InvalidAnswer
            They do not fit the input schema.
        """
        return self.shape.dump(self.shape.validate(args))

    async def run(self, args: Mapping[str, Any], context: ToolContext) -> Any:
        """Run an asynchronous body on checked JSON arguments."""
        return await self._bound(args, context)()

    def run_sync(self, args: Mapping[str, Any], context: ToolContext) -> Any:
        """Run a synchronous body on checked JSON arguments: call it in a worker thread."""
        return self._bound(args, context)()

    def _bound(self, args: Mapping[str, Any], context: ToolContext) -> Callable[[], Any]:
        return functools.partial(
            cast("Callable[..., Any]", self.function),
            **self._values(args),
            **dict.fromkeys(self.context_parameters, context),
        )

    def _values(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """Checked JSON arguments as the body gets them."""
        # A copy: what a body does to its arguments changes nothing that was approved or is told.
        value = self.shape.validate(copy.deepcopy(dict(args)))
        return cast("dict[str, Any]", value) if isinstance(value, Mapping) else _fields(value)

    async def look(self, args: Mapping[str, Any], *, bound_only: bool = False) -> Looked:
        """What stands around a call with these arguments: its preview, and what it reads."""
        if self.plan is None:
            return Looked()
        secrets = self.secrets_in(args)
        return await look(
            self.plan, self._values(args), secrets=secrets, plain=args, bound_only=bound_only
        )

    def to_json(self, result: Any) -> Any:
        """A body's result as JSON, at once: what the model is told and the store keeps."""
        if inspect.isawaitable(result) or inspect.isasyncgen(result):
            if asyncio.iscoroutine(result):
                result.close()
            raise TypeError(
                f"{self.id} returned {_a(type(result))}, for which nobody waits: what it would do "
                "was not done. Define the tool with 'async def'."
            )
        if self.output_shape is None:
            plain = to_jsonable_python(result, fallback=repr, inf_nan_mode="strings")
        else:
            plain = self.output_shape.dump(self.output_shape.validate(to_jsonable_python(result)))
        # A history puts some levels around it, which is then too deep to be kept.
        to_jsonable_python(functools.reduce(lambda inner, _: [inner], range(16), plain))
        return plain


def _a(kind: type) -> str:
    name = kind.__name__.replace("_", " ")
    return f"an {name}" if name[0].lower() in "aeiou" else f"a {name}"


def _fields(value: Any) -> dict[str, Any]:
    """The fields of a pydantic model given as `input_schema`."""
    names = cast("list[str]", list(cast("Any", type(value)).model_fields))
    return {name: getattr(value, name) for name in names}


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...


@overload
def tool(
    *,
    id: str | None = None,
    description: str | None = None,
    input_schema: Any = None,
    output_schema: Any = None,
    require_approval: bool | Predicate | None = None,
    suspend_schema: Any = None,
    resume_schema: Any = None,
    consent: bool = False,
    effect: Literal["read", "write", "costly", "destructive"] | None = None,
    secret: Sequence[str] = (),
    idempotent: bool = False,
    timeout: float | None = None,
    expires: float | None = None,
    on_expire: OnExpire = "decline",
    max_declines: int = 3,
    reviewers: Sequence[str] | None = None,
    quorum: int = 1,
    enabled: bool = True,
    record: Record = "full",
    preview: Callable[..., Any] | None = None,
    preview_timeout: float = SECONDS,
    bind_preview: bool = False,
    reads: Sequence[str] = (),
) -> Callable[[Callable[..., Any]], Tool]: ...


def tool(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Make a tool from a function; schemas come from its signature and docstring.

    Parameters
    ----------
    id, description
        What the model sees; the function's name and docstring unless given.
    input_schema, output_schema
        A pydantic model, a type or a JSON Schema in place of the signature's.
    require_approval
        True, False, None (unset), or a function of `ApprovalContext` (sync or async).
    suspend_schema, resume_schema
        What ``ctx.suspend`` shows and what the human fills in.
    consent
        The answer is consent: a chat message never fills it in (R7).
    effect
        ``"read"``, ``"write"``, ``"costly"`` or ``"destructive"``; the last asks by default.
    secret
        JSON Pointers of arguments that nobody may read.
    idempotent
        Running it twice is as good as once: never "outcome unknown".
    timeout
        Seconds that the body may take.
    expires, on_expire
        Seconds that a request waits, and what happens then: ``"decline"`` or ``"withdraw"``.
    max_declines
        How often the same call may be declined before the run ends.
    reviewers, quorum
        Who may decide (names), and how many must agree.
    enabled
        False: calls are refused.
    record
        What a saved notebook keeps of its requests: ``"full"``, ``"short"`` (who decided what and
        when) or ``"none"``. It can only keep less than ``configure(record=)`` says.
    preview
        A function (sync or async) of those of the arguments that it takes, by name; it only reads,
        and returns what would happen: a DataFrame, text, a figure, what `previews` makes, or a list
        of them. It runs before the card; one that fails or takes too long says so there.
    preview_timeout
        Seconds that it may take.
    bind_preview
        What it shows is part of the fingerprint: when it differs at the claim, a new card asks.
    reads
        Names of variables (in the tool's module or the notebook) whose content is part of the
        fingerprint: when one changed since this was asked, a new card says how.

    Raises
    ------
    ToolDefinitionError
        The signature cannot be a schema, or an option has an impossible value.
    """
    if function is None:
        return functools.partial(_make, **options)
    return _make(function)


def _make(
    function: Callable[..., Any],
    *,
    id: str | None = None,  # noqa: A002  # the public name
    description: str | None = None,
    input_schema: Any = None,
    output_schema: Any = None,
    require_approval: bool | Predicate | None = None,
    suspend_schema: Any = None,
    resume_schema: Any = None,
    effect: Effect | None = None,
    secret: Sequence[str] = (),
    reviewers: Sequence[str] | None = None,
    preview: Callable[..., Any] | None = None,
    preview_timeout: float = SECONDS,
    bind_preview: bool = False,
    reads: Sequence[str] = (),
    **options: Any,
) -> Tool:
    name = id or getattr(function, "__name__", "")
    _check(
        name,
        function,
        description=description,
        require_approval=require_approval,
        effect=effect,
        secret=secret,
        reviewers=reviewers,
        preview_timeout=preview_timeout,
        bind_preview=bind_preview,
        **options,
    )
    parameters = shape_of_parameters(function, skip=_is_context)
    shape = parameters if input_schema is None else shape_of(input_schema)
    given.check_secrets(ToolDefinitionError, name, secret, _names(shape))
    plan = plan_of(
        name,
        function,
        [p for p in inspect.signature(function).parameters if p not in parameters.skipped],
        preview=preview,
        seconds=preview_timeout,
        bind=bind_preview,
        reads=reads,
        error=ToolDefinitionError,
    )
    made = Tool(
        id=name,
        description=description or parameters.function_description or name,
        function=function,
        shape=shape,
        context_parameters=parameters.skipped,
        output_shape=None if output_schema is None else shape_of(output_schema),
        suspend_shape=None if suspend_schema is None else shape_of(suspend_schema),
        resume_shape=None if resume_schema is None else shape_of(resume_schema),
        require_approval=require_approval,
        effect=effect or "unknown",
        declared_secrets=tuple(secret),
        reviewers=None if reviewers is None else tuple(reviewers),
        plan=plan,
        **options,
    )
    functools.update_wrapper(cast("Any", made), function, updated=())
    return made


def _is_context(annotation: Any) -> bool:
    return inspect.isclass(annotation) and issubclass(annotation, ToolContext)


def _check(name: Any, function: Callable[..., Any], /, **options: Any) -> None:
    """Refuse at the definition what a call would stumble over."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise ToolDefinitionError(
            f"Tool id {name!r}: use 1 to 64 letters, digits, '_' and '-' (give id=…)."
        )
    if inspect.isasyncgenfunction(function):
        raise ToolDefinitionError(
            f"{name} is an async generator: a tool returns one result. Return it, and tell of what "
            "happens meanwhile with ctx.progress."
        )
    given.check(ToolDefinitionError, name, **options)
    given.check_quorum(
        ToolDefinitionError,
        name,
        quorum=options.get("quorum", 1),
        reviewers=options["reviewers"],
    )


def _names(shape: Shape) -> list[str] | None:
    """The arguments that a schema knows; None if it takes others."""
    schema = shape.json_schema
    if schema.get("type") != "object" or schema.get("additionalProperties"):
        return None
    return list(schema.get("properties", {}))


def client_tool(name: str, schema: Any, description: str = "") -> Tool:
    """A tool without a body here: a human (or a client program) gives its result (R19)."""
    return Tool(id=name, description=description or name, function=None, shape=shape_of(schema))
