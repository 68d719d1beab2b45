"""The command line: ``hitl-widgets inbox | doctor | demo | store``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from ..errors import HitlError
from . import demo, inbox, upkeep
from .common import CODES, FAULT, OK, common

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns its exit code."""
    args = _parser().parse_args(argv)
    try:
        return args.run(args)
    except HitlError as e:
        print(f"hitl-widgets: {e}", file=sys.stderr)
        return FAULT
    except KeyboardInterrupt:
        print(file=sys.stderr)
        return FAULT


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hitl-widgets",
        description="Decide what agents in notebooks wait for.",
        epilog=CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(required=True, metavar="command")
    inbox.add_to(commands)
    demo.add_to(commands)
    doctor = commands.add_parser(
        "doctor", parents=[common(json=False)], help="say what works here, and what to do"
    )
    doctor.set_defaults(run=_doctor)
    upkeep.add_to(commands)
    return parser


def _doctor(args: argparse.Namespace) -> int:
    from ..diagnose import doctor  # noqa: PLC0415  # loads what it looks at

    report = doctor(args.store)
    print(report)
    return OK if report.ok else FAULT
