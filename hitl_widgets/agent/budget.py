"""How much a run may spend."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from ..errors import AgentDefinitionError

if TYPE_CHECKING:
    from .drive import Driver


@dataclass(frozen=True, slots=True)
class Budget:
    """Totals since the run's start; None is without limit.

    Attributes
    ----------
    max_tool_calls
        Calls that may start.
    max_tokens
        Input and output tokens; checked before a model request.
    max_cost
        In the currency of the price table given by the model library; checked likewise.
    max_seconds
        Seconds of driving, not of waiting for humans.
    """

    max_tool_calls: int | None = None
    max_tokens: int | None = None
    max_cost: float | None = None
    max_seconds: float | None = None

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if value is not None and value < 0:
                raise AgentDefinitionError(f"Budget({name}={value!r}): give 0 or more, or None.")


def over(driver: Driver, *, before: Literal["model", "call"]) -> bool:
    """Whether the run's budget forbids to begin a model request, or a tool call."""
    limits: dict[str, Any] = driver.root.options.get("budget") or {}
    usage = driver.root.usage
    if before == "call":
        most = limits.get("max_tool_calls")
        return most is not None and usage.get("tool_calls", 0) >= most
    tokens = usage.get("input_tokens", 0) + usage.get("output_tokens", 0)
    spent = {
        "max_tokens": tokens,
        "max_cost": usage.get("cost", 0),
        "max_seconds": usage.get("seconds", 0) + time.monotonic() - driver.started,
    }
    return any(limits.get(name) is not None and spent[name] >= limits[name] for name in spent)
