"""What the commands share: exit codes and options."""

from __future__ import annotations

import argparse
from pathlib import Path

from .. import verbs
from ..errors import StoreError
from ..store import Store

OK, FAULT, NOTHING = 0, 1, 3

CODES = """\
exit codes:
  0  done
  1  refused or failed: already decided, not valid, no such request, faults found
  2  the command line is not understood
  3  nothing is pending
"""


def common(*, json: bool = True, nested: bool = False) -> argparse.ArgumentParser:
    """A parent parser with the options of every command on a store.

    Parameters
    ----------
    nested
        For an action whose command takes the same options: left out here, they keep the value
        that was given there.
    """
    default = argparse.SUPPRESS if nested else None
    parser = argparse.ArgumentParser(add_help=False, argument_default=default)
    parser.add_argument("--store", help="the store's path (default: HITL_STORE, or the user's)")
    if json:
        parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def existing_store(given: str | None) -> Store:
    """The store that is meant; looking at one does not make it.

    Raises
    ------
    StoreError
        There is no such file.
    """
    store = verbs.store_of(given)
    if not Path(store.location).is_file():
        raise StoreError(
            f"There is no store at {store.location}: name one with --store, or set HITL_STORE."
        )
    return store
