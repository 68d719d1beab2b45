"""``hitl-widgets store``: check the file, make room."""

from __future__ import annotations

import argparse
import json
import re
import time
from pathlib import Path
from typing import Any

from .common import CODES, FAULT, OK, common, existing_store

_SECONDS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1, "w": 604_800}


def add_to(commands: Any) -> None:
    """Add the command."""
    store = commands.add_parser(
        "store",
        help="look after the file that everything is kept in",
        epilog=CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = store.add_subparsers(required=True, metavar="action")
    for name, words, run in (
        ("check", "look for faults in the file and in the audit chain", _check),
        ("verify", "the same as check", _check),
        ("vacuum", "give unused space back to the disk", _vacuum),
        ("prune", "forget runs that ended long ago; the audit trail stays", _prune),
    ):
        parser = actions.add_parser(name, parents=[common()], help=words, description=words)
        parser.set_defaults(run=run)
        if name == "prune":
            parser.add_argument(
                "--older-than",
                required=True,
                type=_duration,
                metavar="AGE",
                help="30d, 12h, 2w, 90m: those that ended longer ago",
            )


def _duration(text: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhdw])", text.strip())
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no age: write 30d, 12h, 2w or 90m")
    return float(found[1]) * _SECONDS[found[2]]


def _check(args: argparse.Namespace) -> int:
    store = existing_store(args.store)
    faults = store.check()
    if args.json:
        print(json.dumps({"store": store.location, "faults": faults}, indent=2))
    else:
        print("\n".join(faults) if faults else f"{store.location}: no faults.")
    return FAULT if faults else OK


def _vacuum(args: argparse.Namespace) -> int:
    store = existing_store(args.store)
    before = Path(store.location).stat().st_size
    store.vacuum()
    after = Path(store.location).stat().st_size
    if args.json:
        print(json.dumps({"store": store.location, "bytes": [before, after]}, indent=2))
    else:
        print(f"{store.location}: {before:,} bytes before, {after:,} after.")
    return OK


def _prune(args: argparse.Namespace) -> int:
    store = existing_store(args.store)
    number = store.prune(time.time() - args.older_than)
    if args.json:
        print(json.dumps({"store": store.location, "runs": number}, indent=2))
    else:
        print(f"{store.location}: {number} runs forgotten.")
    return OK
