"""What a message says: which agent and tool, the fingerprint, where to decide; never arguments."""

from __future__ import annotations

from ..request import Effect, Request, effect_of
from ..visible import visible
from ..words import say


class Notice(str):
    """What a notification says, as text; its parts are attributes.

    Attributes
    ----------
    subject
        One line.
    agent
        Ids from the root agent to the asker, as a card shows them; empty where no agent asks.
    tool, fingerprint, request_id
        The call that waits.
    where
        How and where to decide.
    """

    subject: str
    agent: str
    tool: str
    fingerprint: str
    request_id: str
    where: str

    __slots__ = ("agent", "fingerprint", "request_id", "subject", "tool", "where")


def notice_of(request: Request, *, where: str, locale: str) -> Notice:
    """The message about one request."""
    tool = _line(request.tool_name)
    agent = _line(" › ".join(request.agent_path))  # noqa: RUF001  # as on a card
    unknown = request.state == "outcome_unknown"
    subject = say("notify.unknown" if unknown else "notify.title", locale, tool=tool)
    effect = effect_of(request)
    lines = [
        subject,
        *([say("notify.agent", locale, agent=agent)] if agent else []),
        _tool(tool, effect, locale),
        say("notify.fingerprint", locale, fingerprint=request.fingerprint),
        *_when_and_where(request, locale),
        where,
    ]
    notice = Notice("\n".join(lines))
    notice.subject, notice.agent, notice.tool = subject, agent, tool
    notice.fingerprint, notice.request_id = request.fingerprint, request.id
    notice.where = where
    return notice


def _tool(tool: str, effect: Effect | None, locale: str) -> str:
    if effect is None:
        return say("notify.question", locale, tool=tool)
    return say("notify.tool", locale, tool=tool, effect=say(f"effect.{effect}", locale))


def _line(text: str) -> str:
    """In one line: no name may write lines of its own, such as another way to decide."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def _when_and_where(request: Request, locale: str) -> list[str]:
    lines = [say("notify.asked", locale, time=f"{request.created_at:%Y-%m-%d %H:%M:%S} UTC")]
    if request.expires_at is not None and request.state == "pending":
        lines.append(say("notify.expires", locale, time=f"{request.expires_at:%Y-%m-%d %H:%M:%S}"))
    places = [str(request.origin[k]) for k in ("notebook", "host") if request.origin.get(k)]
    if places:
        lines.append(say("notify.origin", locale, place=_line(", ".join(places))))
    return lines
