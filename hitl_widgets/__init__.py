"""Human-in-the-loop for agents in notebooks: approvals, forms and a record that survives.

``import hitl_widgets as hitl`` loads almost nothing; each name is loaded when it is used. Neither
ipywidgets nor pydantic-ai nor any optional dependency is touched before a name needs it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from . import surface as _surface

if TYPE_CHECKING:
    from . import adapters as adapters
    from . import previews as previews
    from . import teaching as teaching
    from . import testing as testing
    from .adapters.recognise import run as run
    from .agent.agent import Agent as Agent
    from .agent.agent import RunHandle as RunHandle
    from .agent.agent import SuspendedRun as SuspendedRun
    from .agent.budget import Budget as Budget
    from .agent.context import ToolContext as ToolContext
    from .agent.evaluator import model_evaluator as model_evaluator
    from .agent.explain import Explanation as Explanation
    from .agent.explain import PolicyTable as PolicyTable
    from .agent.explain import explain as explain
    from .agent.explain import policy_table as policy_table
    from .agent.hooks import Block as Block
    from .agent.hooks import Hooks as Hooks
    from .agent.mcp import MCPToolset as MCPToolset
    from .agent.memory import Memory as Memory
    from .agent.models import ScriptedModel as ScriptedModel
    from .agent.models import call as call
    from .agent.options import RunOptions as RunOptions
    from .agent.results import RunResult as RunResult
    from .agent.results import RunStream as RunStream
    from .agent.tools import Tool as Tool
    from .agent.tools import client_tool as client_tool
    from .agent.tools import tool as tool
    from .agent.toolsets import Toolset as Toolset
    from .deciders import configure as configure
    from .deciders import reviewer as reviewer
    from .diagnose import doctor as doctor
    from .errors import AgentDefinitionError as AgentDefinitionError
    from .errors import AlreadyDecided as AlreadyDecided
    from .errors import AmbiguousRequest as AmbiguousRequest
    from .errors import Declined as Declined
    from .errors import Expired as Expired
    from .errors import HitlError as HitlError
    from .errors import InvalidAnswer as InvalidAnswer
    from .errors import LeaseLost as LeaseLost
    from .errors import ModelFailed as ModelFailed
    from .errors import NoReviewer as NoReviewer
    from .errors import NotAsked as NotAsked
    from .errors import NotDescribable as NotDescribable
    from .errors import NotPermitted as NotPermitted
    from .errors import OutcomeUnknown as OutcomeUnknown
    from .errors import ReplayMismatch as ReplayMismatch
    from .errors import RequestNotFound as RequestNotFound
    from .errors import RunSuspended as RunSuspended
    from .errors import SnapshotNotFound as SnapshotNotFound
    from .errors import SnapshotVersion as SnapshotVersion
    from .errors import StaleFingerprint as StaleFingerprint
    from .errors import StoreBusy as StoreBusy
    from .errors import StoreCorrupt as StoreCorrupt
    from .errors import StoreError as StoreError
    from .errors import StoreFull as StoreFull
    from .errors import StoreReadOnly as StoreReadOnly
    from .errors import StoreTooNew as StoreTooNew
    from .errors import ToolChanged as ToolChanged
    from .errors import ToolDefinitionError as ToolDefinitionError
    from .errors import UnknownAgent as UnknownAgent
    from .errors import UnknownTool as UnknownTool
    from .errors import Withdrawn as Withdrawn
    from .events import Chunk as Chunk
    from .live import choices as choices
    from .live import columns as columns
    from .policy import ApprovalContext as ApprovalContext
    from .policy import Verdict as Verdict
    from .policy import auto as auto
    from .policy import disabled as disabled
    from .questions import ask as ask
    from .questions import ask_sync as ask_sync
    from .questions import confirm as confirm
    from .questions import confirm_sync as confirm_sync
    from .questions import require_approval as require_approval
    from .questions import run_sync as run_sync
    from .replaying import record as record
    from .replaying import replay as replay
    from .request import Answer as Answer
    from .request import Approve as Approve
    from .request import Decline as Decline
    from .request import Evaluation as Evaluation
    from .request import Receipt as Receipt
    from .request import Request as Request
    from .request import Respond as Respond
    from .request import Reviewer as Reviewer
    from .screen.card import ApprovalCard as ApprovalCard
    from .screen.form import RequestForm as RequestForm
    from .screen.inbox import Inbox as Inbox
    from .screen.panel import RunPanel as RunPanel
    from .verbs import decide as decide
    from .verbs import decide_all as decide_all
    from .verbs import grants as grants
    from .verbs import history as history
    from .verbs import inbox as inbox
    from .verbs import pending as pending
    from .verbs import revoke as revoke
    from .verbs import settle as settle

__version__ = "0.1.0"

_MODULES = {
    "adapters.recognise": "run",
    "agent.agent": "Agent RunHandle SuspendedRun",
    "agent.budget": "Budget",
    "agent.context": "ToolContext",
    "agent.evaluator": "model_evaluator",
    "agent.explain": "Explanation PolicyTable explain policy_table",
    "agent.hooks": "Block Hooks",
    "agent.mcp": "MCPToolset",
    "agent.memory": "Memory",
    "agent.models": "ScriptedModel call",
    "agent.options": "RunOptions",
    "agent.results": "RunResult RunStream",
    "agent.tools": "Tool client_tool tool",
    "agent.toolsets": "Toolset",
    "deciders": "configure reviewer",
    "diagnose": "doctor",
    "errors": (
        "AgentDefinitionError AlreadyDecided AmbiguousRequest Declined Expired HitlError "
        "InvalidAnswer LeaseLost ModelFailed NoReviewer NotAsked NotDescribable NotPermitted "
        "OutcomeUnknown ReplayMismatch RequestNotFound RunSuspended SnapshotNotFound "
        "SnapshotVersion StaleFingerprint StoreBusy StoreCorrupt StoreError StoreFull "
        "StoreReadOnly StoreTooNew ToolChanged ToolDefinitionError UnknownAgent UnknownTool "
        "Withdrawn"
    ),
    "events": "Chunk",
    "live": "choices columns",
    "policy": "ApprovalContext Verdict auto disabled",
    "questions": "ask ask_sync confirm confirm_sync require_approval run_sync",
    "replaying": "record replay",
    "request": "Answer Approve Decline Evaluation Receipt Request Respond Reviewer",
    "screen.card": "ApprovalCard",
    "screen.form": "RequestForm",
    "screen.inbox": "Inbox",
    "screen.panel": "RunPanel",
    "verbs": "decide decide_all grants history inbox pending revoke settle",
}
_WHERE = {name: module for module, names in _MODULES.items() for name in names.split()}
_SUBMODULES = ("adapters", "previews", "teaching", "testing")

__all__ = sorted([*_WHERE, *_SUBMODULES])  # pyright: ignore[reportUnsupportedDunderAll]  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return importlib.import_module(f".{name}", __name__)
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_WHERE[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def load_ipython_extension(shell: Any) -> None:
    """``%load_ext hitl_widgets``: the ``%hitl`` magic."""
    from .notebook.magics import HitlMagics  # noqa: PLC0415

    shell.register_magics(HitlMagics)


def _make_surface() -> Any:
    """The real surface, in its slot: the one place that joins the rooms."""
    from .notebook.provide import make_surface  # noqa: PLC0415

    return make_surface(advise=_advise)


def _advise(store: Any) -> Any:
    from .diagnose import doctor  # noqa: PLC0415  # needed by few

    return doctor(store)


_surface.provide(_make_surface)
