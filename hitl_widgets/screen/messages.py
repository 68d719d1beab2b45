"""The one vocabulary between kernel and page.

The page sends a `PageMessage`; each has an `id` and gets exactly one `KernelMessage` with the same
`id` back, errors included. What is to be shown travels as a view in a widget's synced `view`: the
page holds no truth of its own, and sends back a decision with the fingerprint that it showed.

`scripts/messages.py` writes the TypeScript types and the shared fixtures from this file.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, TypeAdapter

from ..request import Effect, Kind, OnExpire, State, Verdict
from .doc import Doc as _Doc
from .inbox_messages import (
    MOST_TOGETHER,
    GrantDoc,
    Grants,
    InboxView,
    Look,
    Open,
    OutcomeDoc,
    Revoke,
    Rows,
    RowsDoc,
)
from .preview_messages import PreviewDoc, ReadChange, ReadDoc

# -- page → kernel -------------------------------------------------------------------------------


class Hello(_Doc):
    """A page has loaded the bundle and can show cards."""

    type: Literal["hello"]
    id: str
    page: str = Field(description="One per loaded page; survives nothing.")
    locale: str = Field(description="The front end's language, as a BCP 47 tag.")


class Ping(_Doc):
    """Asks whether the kernel is there and free to listen."""

    type: Literal["ping"]
    id: str


class ApproveDoc(_Doc):
    """Yes: to what the card shows, or to what was prepared on it and shown there."""

    verdict: Literal["approve"]
    note: str | None = None
    prepared: str | None = Field(
        default=None, description="Key of a `Prepared`: an edit, or a standing grant, as shown."
    )


class DeclineDoc(_Doc):
    """No."""

    verdict: Literal["decline"]
    reason: str | None = None
    stop: bool = False


class AnswerDoc(_Doc):
    """Data for an input."""

    verdict: Literal["answer"]
    data: Any
    edited: bool | None = Field(
        default=None,
        description="`data` is what stands in the form's controls; whether a person touched them. "
        "None: it is the answer itself.",
    )


class RespondDoc(_Doc):
    """A result in place of running the tool."""

    verdict: Literal["respond"]
    text: str = Field(description="As it was typed: JSON, or text that is no JSON.")


DecisionDoc = Annotated[
    ApproveDoc | DeclineDoc | AnswerDoc | RespondDoc, Field(discriminator="verdict")
]


class Decide(_Doc):
    """A person decided."""

    type: Literal["decide"]
    id: str
    request_id: str
    fingerprint: str = Field(description="Of what was shown.")
    decision: DecisionDoc
    visible_ms: int = Field(ge=0, description="How long it was in view before the press.")


class Shown(_Doc):
    """One of several requests that are decided together."""

    request_id: str
    fingerprint: str = Field(description="Of what was shown.")


class DecideAll(_Doc):
    """A person decided several requests alike: all or none."""

    type: Literal["decide-all"]
    id: str
    requests: list[Shown] = Field(min_length=1)
    decision: ApproveDoc | DeclineDoc = Field(discriminator="verdict")
    visible_ms: int = Field(ge=0)


class DecideEach(_Doc):
    """A person decided several requests alike: each by itself, and each may be lost to others.

    An approval is taken for calls that are alike only: one table has shown all of them.
    """

    type: Literal["decide-each"]
    id: str
    requests: list[Shown] = Field(min_length=1, max_length=MOST_TOGETHER)
    decision: ApproveDoc | DeclineDoc = Field(discriminator="verdict")
    visible_ms: int = Field(ge=0)


class OpenEdit(_Doc):
    """A person wants to edit the arguments."""

    kind: Literal["open-edit"]


class EditDraft(_Doc):
    """What stands in the form of the arguments."""

    kind: Literal["edit"]
    data: Any


class PreviewDraft(_Doc):
    """An edit that was checked: what would it do."""

    kind: Literal["preview"]
    key: str = Field(description="Of the `Prepared`.")


class GrantDraft(_Doc):
    """A standing grant as a person has chosen it so far."""

    kind: Literal["always"]
    covers: Literal["exact", "fixed", "tool"]
    fixed: list[str] = Field(default_factory=list[str])
    reach: Literal["run", "thread", "until"]
    until: str | None = Field(default=None, description="ISO 8601 with zone.")


class Prepare(_Doc):
    """A person works on an approval that is more than a yes: check it and show what it means.

    Nothing is decided by it. The kernel keeps what it checked, so that what is approved in the end
    is what was shown, not what a page sends.
    """

    type: Literal["prepare"]
    id: str
    request_id: str
    locale: str = Field(description="The language in which the page shows words.")
    draft: OpenEdit | EditDraft | PreviewDraft | GrantDraft = Field(discriminator="kind")


class Settle(_Doc):
    """A person says how a call ended whose outcome nobody knows."""

    type: Literal["settle"]
    id: str
    request_id: str
    how: Literal["happened", "run_again", "give_up"]
    text: str | None = Field(default=None, description="The result as typed, see `RespondDoc`.")


class Cancel(_Doc):
    """A person cancels the run of this panel."""

    type: Literal["cancel"]
    id: str


class Focus(_Doc):
    """The keyboard's focus came in or went out: an output is not swapped under a person's hands."""

    type: Literal["focus"]
    id: str
    inside: bool


AnyPageMessage = (
    Hello
    | Ping
    | Decide
    | DecideAll
    | DecideEach
    | Prepare
    | Settle
    | Cancel
    | Focus
    | Rows
    | Open
    | Look
    | Grants
    | Revoke
)
PageMessage = Annotated[AnyPageMessage, Field(discriminator="type")]

# -- kernel → page -------------------------------------------------------------------------------


class ReceiptDoc(_Doc):
    """What a decision did."""

    request_id: str
    state: State
    reviewer: str
    via: str
    decided_at: str
    votes: int
    quorum: int


class UnshownDoc(_Doc):
    """A part of an initial value that no control can show."""

    path: list[str | int]
    text: str


class FormDoc(_Doc):
    """What a form is drawn from, see `schema.Form`."""

    layout: str = Field(description="JSON text of the prepared schema.")
    data: str | None = Field(description="JSON text of what stands in the controls.")
    unshown: list[UnshownDoc]
    consent: bool = Field(description="The answer is consent: a press must be meant.")


class Prepared(_Doc):
    """An approval that was checked and can be given: an edit, or a standing grant in words."""

    key: str
    args: str | None = Field(default=None, description="JSON text of the edited arguments.")
    secrets: dict[str, str] = Field(default_factory=dict[str, str])
    words: str | None = Field(default=None, description="The grant's exact rule.")
    preview: PreviewDoc | None = Field(
        default=None, description="Of the edited call, when it was asked for and can be made here."
    )


class Looked(_Doc):
    """A request that may be decided together with those that are `alike`."""

    view: RequestView
    alike: str = Field(
        description="The same for calls that differ in their arguments' values only."
    )
    together: bool = Field(description="Whether it can be approved with others.")


class Ack(_Doc):
    """Done; `session` is another one after a kernel restart."""

    type: Literal["ack"]
    id: str
    session: str
    receipt: ReceiptDoc | None = None
    form: FormDoc | None = None
    prepared: Prepared | None = None
    rows: RowsDoc | None = None
    looked: list[Looked] | None = None
    outcomes: list[OutcomeDoc] | None = None
    grants: list[GrantDoc] | None = None


class FieldError(_Doc):
    """One fault of an answer: where, and what."""

    path: list[str | int]
    message: str


class Failure(_Doc):
    """Not done, and nothing was changed."""

    type: Literal["error"]
    id: str
    code: str = Field(description="Name of the error class, or BadMessage, or Unexpected.")
    words: str
    errors: list[FieldError] = Field(default_factory=list[FieldError])


KernelMessage = Annotated[Ack | Failure, Field(discriminator="type")]

# -- what is shown -------------------------------------------------------------------------------


class Why(_Doc):
    """Why a person is asked: `type` of the evaluation, and what an automatic check said."""

    type: str
    checked: str | None = None
    reason_code: str | None = None


class Cell(_Doc):
    """One cell of the strip: what it stands for, and its digest."""

    label: str
    digest: str


class Decided(_Doc):
    """Who, what, when."""

    verdict: Verdict
    reviewer: str
    via: str
    at: str
    seconds: float
    note: str | None = None
    reason: str | None = None
    stop: bool = False
    given: str | None = Field(
        default=None,
        description="JSON text of the answer, or of the result in place of the tool's; secrets "
        "masked.",
    )
    edited: str | None = Field(default=None, description="JSON text of the arguments that ran.")
    edited_secrets: dict[str, str] = Field(default_factory=dict[str, str])
    edited_fingerprint: str | None = None


class Compared(_Doc):
    """Another call that this one can be compared with."""

    label: Literal["last", "earlier", "original"]
    at: str
    args: str
    secrets: dict[str, str]
    strip: list[Cell]
    fingerprint: str


class RequestView(_Doc):
    """Everything that a card shows of one request.

    Arguments and payload are JSON *text*: the page reads it with a parser of its own that keeps
    large numbers, the order of keys and lone surrogates as they are.
    """

    id: str
    run_id: str
    tool_call_id: str
    kind: Kind
    state: State
    tool: str
    agent_path: list[str]
    message: str | None
    effect: Effect | None = Field(
        description="What the call does to the world; None: a plain question, nothing runs by it."
    )
    why: Why | None
    args: str
    secrets: dict[str, str] = Field(description="JSON Pointer of a secret → its digest.")
    payload: str | None
    resume_schema: dict[str, Any] | None
    fingerprint: str
    strip: list[Cell]
    allowed: list[Verdict]
    created_at: str
    expires_at: str | None
    on_expire: OnExpire
    quorum: int
    votes: list[str] = Field(description="Names of those who approved so far.")
    declined_before: int
    turn: str | None
    decided: Decided | None
    compare: list[Compared]
    form: FormDoc | None = None
    described: bool = Field(
        default=False, description="Some arguments are descriptions of tables, arrays or files."
    )
    editable: bool = Field(default=False, description="Its arguments can be edited.")
    always: list[Literal["run", "thread", "until"]] = Field(
        default_factory=list[Literal["run", "thread", "until"]],
        description="How far a standing grant could reach; empty: none can be given.",
    )
    reviewers: list[str] | None = None
    notes: bool = Field(default=True, description="Words for the model can go with an approval.")
    preview: PreviewDoc | None = None
    reads: list[ReadDoc] = Field(default_factory=list[ReadDoc])
    reads_changed: list[ReadChange] = Field(default_factory=list[ReadChange])
    preview_changed: bool = Field(
        default=False, description="It is another one than when the call was asked before."
    )


class TextItem(_Doc):
    """Something the model said."""

    kind: Literal["text"]
    text: str
    agent_path: list[str]


CallStatus = Literal["waiting", "running", "done", "declined", "failed", "unknown"]


class CallItem(_Doc):
    """A tool call."""

    kind: Literal["call"]
    id: str
    tool: str
    status: CallStatus
    agent_path: list[str]
    seconds: float | None = None
    progress: float | None = None
    note: str | None = None
    granted: str | None = Field(
        default=None, description="Words of the standing grant that let it run."
    )


class Times(_Doc):
    """Seconds of a run: each is counted once, for tools before people before the model."""

    model: float
    tools: float
    human: float


class RunView(_Doc):
    """What a panel shows of one run beside its requests.

    They travel on their own: streamed text must not send their arguments again and again.
    """

    run_id: str
    title: str = Field(description="The agent; empty for a verb, which shows its cards alone.")
    state: str
    items: list[Annotated[TextItem | CallItem, Field(discriminator="kind")]]
    cancellable: bool
    paused: bool
    seconds: float | None
    finish_reason: str | None
    times: Times | None = None


page_message: TypeAdapter[AnyPageMessage] = TypeAdapter(PageMessage)
kernel_message: TypeAdapter[Ack | Failure] = TypeAdapter(KernelMessage)

EXPORTED: tuple[type[BaseModel], ...] = (RequestView, RunView, InboxView)
"""The views: what stands in a widget's `view`."""
