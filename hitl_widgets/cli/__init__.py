"""The command line: ``hitl-widgets inbox | doctor | demo | store``."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence

from ..errors import HitlError
from ..visible import visible
from . import demo, inbox, upkeep
from .common import CODES, FAULT, OK, common

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns its exit code."""
    args = _parser().parse_args(argv)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # what its encoding lacks is spelt out
            stream.reconfigure(errors="backslashreplace")
    try:
        done = args.run(args)
        sys.stdout.flush()
    except HitlError as e:
        print(f"hitl-widgets: {visible(str(e))}", file=sys.stderr)
        return FAULT
    except BrokenPipeError:  # whoever read our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAULT
    except KeyboardInterrupt:
        print(file=sys.stderr)
        return FAULT
    return done


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hitl-widgets",
        description="Decide what agents in notebooks wait for.",
        epilog=CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    version = sys.modules["hitl_widgets"].__version__
    parser.add_argument("--version", action="version", version=f"%(prog)s {version}")
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
