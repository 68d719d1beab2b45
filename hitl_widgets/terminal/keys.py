"""What is offered at a prompt, and which offer a person typed."""

from __future__ import annotations

import re
from collections.abc import Iterable

_KEY = re.compile(r"\[(\w)\] ?")


def key_of(typed: str, offers: Iterable[str]) -> str | None:
    """The key of the offer that was typed, by its key or in full; None for anything else.

    An offer holds its key in brackets: ``[y]es`` is ``y`` or ``yes``, ``[y] はい`` is ``y`` or
    ``はい``.
    """
    word = typed.strip().lower()
    for offer in offers:
        key = _KEY.search(offer)
        assert key is not None, offer
        spelt = _KEY.sub("" if key[0].endswith(" ") else key[1], offer)
        if word in (key[1], spelt.lower()):
            return key[1]
    return None
