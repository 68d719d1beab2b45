"""How much a run may spend."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from .. import given
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
        In the currency of the price table given by the model library; checked likewise. A model
        without a price there is an error: a limit that cannot be measured is none.
    max_seconds
        Seconds of driving, not of waiting for humans; checked likewise.
    """

    max_tool_calls: int | None = None
    max_tokens: int | None = None
    max_cost: float | None = None
    max_seconds: float | None = None

    def __post_init__(self) -> None:
        given.check(AgentDefinitionError, "Budget", **asdict(self))


def limits(driver: Driver) -> dict[str, Any]:
    """The run's budget as JSON."""
    return driver.root.options.get("budget") or {}


def calls_spent(driver: Driver) -> bool:
    """Whether no further tool call may start."""
    most = limits(driver).get("max_tool_calls")
    return most is not None and driver.started_calls >= most


def turns_spent(driver: Driver) -> bool:
    """Whether no further model request may begin."""
    most = limits(driver)
    if not most:
        return False
    usage, cost = driver.spent()
    spent = {
        "max_tokens": usage.get("input_tokens", 0) + usage.get("output_tokens", 0),
        "max_cost": cost,
        "max_seconds": driver.root.seconds + time.monotonic() - driver.began,
    }
    return any(most.get(n) is not None and spent[n] >= most[n] for n in spent)
