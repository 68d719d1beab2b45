"""``hitl-widgets inbox``: what waits, listed and decided from a shell."""

from __future__ import annotations

import argparse
import asyncio
import json
from typing import Any

from .. import verbs
from ..decisions import default_reviewer
from ..desk import Desk, desk_of
from ..errors import HitlError
from ..request import Answer, Approve, Decision, Decline, Request, Respond
from ..terminal import Device, Left, asker, find, key_of, outcome, put, state, summary
from ..visible import visible
from ..words import Say, saying
from .common import CODES, NOTHING, OK, common, existing_store

PLAIN = saying("en")
"""What scripts read is in one language wherever they run."""

_HOW = {"h": "happened", "r": "run_again", "g": "give_up"}

ABOUT = """\
Without an action: decide one request after the other, in a terminal; else the same as list.
Every decision is bound to the request's id, and to --fingerprint if it is given.
"""


def add_to(commands: Any) -> None:
    """Add the command."""
    inbox = commands.add_parser(
        "inbox",
        parents=[common()],
        help="list what waits, and decide it",
        description=ABOUT,
        epilog=CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    inbox.set_defaults(run=_inbox)
    actions = inbox.add_subparsers(metavar="action")
    _action(actions, "list", "list what waits", _list)
    approve = _deciding(actions, "approve", "let a call run", _approve)
    approve.add_argument("--note", help="words for the model")
    decline = _deciding(actions, "decline", "refuse a call, or to answer", _decline)
    decline.add_argument("--reason", help="why, and what to do instead: the model reads it")
    decline.add_argument("--stop", action="store_true", help="end the whole run")
    answer = _deciding(actions, "answer", "give the data that is asked for", _answer)
    answer.add_argument("--data", required=True, type=_json, help="JSON that fits the schema")
    respond = _deciding(actions, "respond", "give a result in place of running it", _respond)
    respond.add_argument("--result", required=True, type=_json, help="JSON")


def _action(actions: Any, name: str, words: str, run: Any) -> argparse.ArgumentParser:
    parser = actions.add_parser(
        name,
        parents=[common(nested=True)],
        help=words,
        description=words,
        epilog=CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    return parser


def _deciding(actions: Any, name: str, words: str, run: Any) -> argparse.ArgumentParser:
    parser = _action(actions, name, words, run)
    parser.add_argument("id", help="the request's id")
    parser.add_argument("--fingerprint", help="decide only if the request still has it")
    return parser


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as e:
        raise argparse.ArgumentTypeError(f"{text!r} is not JSON: {e}") from e


# -- listing -------------------------------------------------------------------------------------


def _inbox(args: argparse.Namespace) -> int:
    device = None if args.json else find()
    return _list(args) if device is None else asyncio.run(_decide_all(args.store, device))


def _list(args: argparse.Namespace) -> int:
    waiting = asyncio.run(verbs.pending(existing_store(args.store)))
    if args.json:
        print(json.dumps([_as_json(r) for r in waiting], indent=2))
    elif not waiting:
        print("Nothing is pending.")
    else:
        print("\n\n".join(_as_text(r) for r in waiting))
    return OK if waiting else NOTHING


def _as_text(request: Request) -> str:
    lines = [
        f"{request.id}  {request.state}  {summary(PLAIN, request)}",
        f"  asked        {request.created_at:%Y-%m-%d %H:%M:%S} UTC, by {asker(PLAIN, request)}",
        f"  arguments    {json.dumps(request.args)}",
        f"  fingerprint  {request.fingerprint}",
        f"  run          {request.run_id}",
    ]
    if request.message:
        lines.insert(1, f"  question     {json.dumps(request.message)}")
    if request.kind == "input":
        lines.insert(-2, f"  answer       {json.dumps(request.resume_schema)}")
    return "\n".join(lines)


def _as_json(request: Request) -> dict[str, Any]:
    names = (
        *("id", "run_id", "tool_call_id", "kind", "state", "tool_name", "args", "fingerprint"),
        *("effect", "agent_id", "agent_path", "thread_id", "resource_id", "message", "allowed"),
        *("suspend_payload", "resume_schema", "decision", "reviewer", "via", "preview", "reads"),
    )
    times = ("created_at", "expires_at", "decided_at")
    told = {name: getattr(request, name) for name in names}
    moments = {name: getattr(request, name) for name in times}
    return told | {n: None if at is None else at.isoformat() for n, at in moments.items()}


# -- deciding one --------------------------------------------------------------------------------


def _approve(args: argparse.Namespace) -> int:
    return _decide(args, Approve(note=args.note))


def _decline(args: argparse.Namespace) -> int:
    return _decide(args, Decline(args.reason, stop=args.stop))


def _answer(args: argparse.Namespace) -> int:
    return _decide(args, Answer(args.data))


def _respond(args: argparse.Namespace) -> int:
    return _decide(args, Respond(args.result))


def _decide(args: argparse.Namespace, decision: Decision) -> int:
    desk = desk_of(existing_store(args.store))

    async def decide() -> tuple[Request, bool, bool]:
        await desk.decide(args.id, decision, fingerprint=args.fingerprint, via="terminal")
        request = await desk.read(desk.store.request, args.id)
        return request, *await _driven(desk, request)

    request, driven, verb = asyncio.run(decide())
    if args.json:
        print(json.dumps(_as_json(request), indent=2))
        return OK
    print(f"{summary(PLAIN, request)}: {outcome(PLAIN, request)}")
    if not driven:
        print(_how_to_go_on(PLAIN, request, verb=verb))
    return OK


async def _driven(desk: Desk, request: Request) -> tuple[bool, bool]:
    """Whether somebody alive drives the run, and whether it is one question without an agent."""
    run = await desk.read(desk.store.run, request.run_id)
    return await desk.read(desk.store.driver_alive, run), run.kind == "verb"


def _how_to_go_on(word: Say, request: Request, *, verb: bool) -> str:
    if verb:
        return word("shell.again")
    code = f"await agent.attach({request.run_id!r})"
    return word("shell.attach", agent=repr(request.agent_id), code=code)


# -- deciding one after the other ----------------------------------------------------------------


async def _decide_all(store: Any, device: Device) -> int:
    desk = desk_of(existing_store(store))
    word = saying(device.locale)
    offered = False
    while True:
        waiting = await verbs.pending(store)
        if not waiting:
            device.say(word("shell.empty.now" if offered else "shell.empty"))
            return OK if offered else NOTHING
        offered = True
        request = await _picked(waiting, device)
        if request is None:
            return OK
        if request.state == "pending":
            receipt = await put(request, desk, device)
            if receipt is not None and receipt.state != "pending":
                driven, verb = await _driven(desk, request)
                if not driven:
                    device.say(_how_to_go_on(word, request, verb=verb))
        else:
            await _settled(request, desk, device)


async def _picked(waiting: list[Request], device: Device) -> Request | None:
    word = saying(device.locale)
    device.say(word("shell.waiting", n=len(waiting)))
    for number, request in enumerate(waiting, 1):
        row: dict[str, Any] = {
            "call": summary(word, request),
            "state": state(word, request),
            "time": f"{request.created_at.astimezone():%Y-%m-%d %H:%M}",
            "who": asker(word, request),
        }
        device.say(word("shell.row", n=number, **row))
    while True:
        try:
            typed = (await device.line(word("shell.pick"))).strip()
        except Left:
            return None
        if typed.lower() in ("q", "quit"):
            return None
        if not typed:
            return waiting[0]
        if typed.isdecimal() and 0 < int(typed) <= len(waiting):
            return waiting[int(typed) - 1]
        device.say(word("shell.pick.again", n=len(waiting)), "red")


async def _settled(request: Request, desk: Desk, device: Device) -> None:
    """A call that started, and nobody knows how it ended."""
    word = saying(device.locale)
    device.say(word("shell.unknown", call=summary(word, request)), "bold")
    offers = [word(f"shell.settle.{how}") for how in (*_HOW.values(), "leave")]
    try:
        how = _HOW.get(key_of(await device.choose("  ".join(offers)), offers) or "")
        if how is None:
            device.say(word("shell.kept"))
            return
        result = await _result(device) if how == "happened" else None
        await desk.settle(request, how, result=result, reviewer=default_reviewer(), via="terminal")
        device.say(word("shell.settled", how=word(f"shell.settled.{how}")))
    except Left:
        device.say(word("shell.kept"))
    except HitlError as e:
        device.say(visible(str(e)), "red")


async def _result(device: Device) -> Any:
    text = (await device.line(saying(device.locale)("term.result"))).strip()
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text or None
