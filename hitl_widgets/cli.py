"""The command line: ``hitl-widgets inbox | doctor | demo | store``."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from typing import Any

from . import verbs
from .desk import desk_of
from .errors import HitlError
from .request import Approve, Decision, Decline, Request

OK, FAULT, NOTHING = 0, 1, 3
"""Exit codes: done; refused or failed (argparse's own is 2); nothing is pending."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns its exit code."""
    args = _parser().parse_args(argv)
    try:
        return args.run(args)
    except HitlError as e:
        print(f"hitl-widgets: {e}", file=sys.stderr)
        return FAULT


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hitl-widgets", description="Decide what agents in notebooks wait for."
    )
    commands = parser.add_subparsers(required=True, metavar="command")
    _inbox_parser(commands)
    doctor = commands.add_parser("doctor", help="say what works here, and what to do")
    doctor.add_argument("--store", help="the store's path (default: HITL_STORE, or the user's)")
    doctor.set_defaults(run=_doctor)
    return parser


def _inbox_parser(commands: Any) -> None:
    inbox = commands.add_parser("inbox", help="list what waits, and decide it")
    inbox.set_defaults(run=_list, what=None)
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--store", help="the store's path (default: HITL_STORE, or the user's)")
    common.add_argument("--json", action="store_true", help="print JSON")
    for action in common._actions:  # noqa: SLF001  # so that both places take the same options
        inbox._add_action(action)  # noqa: SLF001
    actions = inbox.add_subparsers(metavar="action")
    actions.add_parser("list", parents=[common], help="list what waits").set_defaults(run=_list)
    approve = actions.add_parser("approve", parents=[common], help="let a call run")
    approve.add_argument("id", help="the request's id")
    approve.add_argument("--note", help="words for the model")
    approve.add_argument("--fingerprint", help="approve only if the call still has it")
    approve.set_defaults(run=_approve)
    decline = actions.add_parser("decline", parents=[common], help="refuse a call")
    decline.add_argument("id", help="the request's id")
    decline.add_argument("--reason", help="why, and what to do instead: the model reads it")
    decline.add_argument("--stop", action="store_true", help="end the whole run")
    decline.set_defaults(run=_decline)


def _list(args: argparse.Namespace) -> int:
    waiting = asyncio.run(verbs.pending(args.store))
    if args.json:
        print(json.dumps([_as_json(r) for r in waiting], indent=2))
    elif not waiting:
        print("Nothing is pending.")
    else:
        print("\n\n".join(_as_text(r) for r in waiting))
    return OK if waiting else NOTHING


def _approve(args: argparse.Namespace) -> int:
    return _decide(args, Approve(note=args.note), args.fingerprint)


def _decline(args: argparse.Namespace) -> int:
    return _decide(args, Decline(args.reason, stop=args.stop), None)


def _decide(args: argparse.Namespace, decision: Decision, shown: str | None) -> int:
    desk = desk_of(verbs.store_of(args.store))

    async def decide() -> tuple[Request, Any, bool]:
        receipt = await desk.decide(args.id, decision, fingerprint=shown, via="terminal")
        request = await desk.read(desk.store.request, args.id)
        run = await desk.read(desk.store.run, request.run_id)
        return request, receipt, await desk.read(desk.store.driver_alive, run)

    request, receipt, driven = asyncio.run(decide())
    if args.json:
        print(json.dumps(_as_json(request), indent=2))
        return OK
    print(f"{receipt.state}: {request.tool_name} {_arguments(request)} by {receipt.reviewer}")
    if not driven:
        print(
            f"No process drives the run now. Where agent {request.agent_id!r} is defined, "
            f"go on with: await agent.attach({request.run_id!r})"
        )
    return OK


def _doctor(args: argparse.Namespace) -> int:
    from .diagnose import doctor  # noqa: PLC0415  # loads what it looks at

    report = doctor(args.store)
    print(report)
    return OK if report.ok else FAULT


def _as_text(request: Request) -> str:
    path = " › ".join(request.agent_path) or "a function"  # noqa: RUF001  # as on the card
    when = f"{request.created_at:%Y-%m-%d %H:%M:%S} UTC"
    head = f"{request.id}  {request.state}  {request.tool_name}  (asked by {path}, {when})"
    lines = [
        head,
        f"  arguments    {_arguments(request)}",
        f"  fingerprint  {request.fingerprint}",
        f"  run          {request.run_id}",
    ]
    if request.message:
        lines.insert(1, f"  question     {_escaped(request.message)}")
    return "\n".join(lines)


def _arguments(request: Request) -> str:
    return json.dumps(request.args, ensure_ascii=True)


def _escaped(text: str) -> str:
    return json.dumps(text, ensure_ascii=True)


def _as_json(request: Request) -> dict[str, Any]:
    names = (
        *("id", "run_id", "tool_call_id", "kind", "state", "tool_name", "args", "fingerprint"),
        *("effect", "agent_id", "agent_path", "thread_id", "resource_id", "message"),
        *("decision", "reviewer"),
    )
    return {n: getattr(request, n) for n in names} | {"created_at": request.created_at.isoformat()}


if __name__ == "__main__":
    sys.exit(main())
