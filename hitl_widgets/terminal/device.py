"""The terminal itself: where it is, and lines typed at it."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import signal
import sys
from collections.abc import Generator
from contextlib import nullcontext, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from typing import Any, Protocol, TextIO, cast

from prompt_toolkit import PromptSession
from prompt_toolkit.application import create_app_session
from prompt_toolkit.formatted_text import FormattedText
from prompt_toolkit.history import DummyHistory
from prompt_toolkit.input import Input, create_input
from prompt_toolkit.input.typeahead import clear_typeahead
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout.processors import PasswordProcessor
from prompt_toolkit.output import Output, create_output
from prompt_toolkit.patch_stdout import StdoutProxy
from rich.console import Console
from rich.text import Text

from ..deciders import settings
from ..visible import spelt
from ..words import of_environment, say

CONTROLLING = "/dev/tty"
PROMPT = "> "

PLAIN = {"│": "|", "›": ">", "·": "-", "−": "-", "•": "*", "…": "...", "—": "-"}  # noqa: RUF001
"""For our own signs on a terminal whose encoding lacks them."""


class Person(Protocol):
    """Somebody who can be told something and types lines: at a terminal, or at an input box."""

    @property
    def locale(self) -> str:
        """The language to speak."""
        ...

    @property
    def way_out(self) -> str:
        """In words, what leaves a line without an answer."""
        ...

    def say(self, words: str, style: str = "") -> None:
        """Show words, already escaped."""
        ...

    def forget_typed(self) -> None:
        """Drop what was typed so far: it cannot be an answer to what was not shown yet."""
        ...

    async def choose(self, menu: str) -> str:
        """Show what can be typed, and read it. Raises `Left`."""
        ...

    async def line(self, label: str, *, secret: bool = False) -> str:
        """Read one line; cancelling it takes the question back. Raises `Left`."""
        ...


class Left(Exception):
    """The person left the prompt without an answer.

    Parameters
    ----------
    how
        ``"escape"``, ``"eof"`` or ``"interrupt"``.
    """

    def __init__(self, how: str) -> None:
        super().__init__(how)
        self.how = how


@dataclass(frozen=True)
class Device:
    """A terminal with a person at it."""

    stdin: TextIO
    stdout: TextIO

    @property
    def locale(self) -> str:
        """The language that was set, else the environment's, if the terminal can show it."""
        wanted = settings().locale or of_environment()
        return wanted if self._can_show(say("button.yes", wanted)) else "en"

    @property
    def way_out(self) -> str:
        """In words, what leaves a line without an answer."""
        return say("term.key.escape", self.locale)

    def _can_show(self, text: str) -> bool:
        try:
            text.encode(self.stdout.encoding or "utf-8")
        except (UnicodeEncodeError, LookupError):
            return False
        return True

    def _fitting(self, text: str) -> str:
        """`text` in what the terminal's encoding has; the rest spelt out, never left out."""
        if self._can_show(text):
            return text
        return "".join(c if self._can_show(c) else PLAIN.get(c) or spelt(c) for c in text)

    @functools.cached_property
    def console(self) -> Console:
        """For whole lines; nothing in them is taken for markup, emoji or a link."""
        return Console(file=self.stdout, markup=False, emoji=False, highlight=False, soft_wrap=True)

    def say(self, words: str, style: str = "") -> None:
        """Print our words, already escaped."""
        self.console.print(Text(self._fitting(words), style=style))

    def forget_typed(self) -> None:
        """Drop what was typed so far: it cannot be an answer to what was not shown yet."""
        clear_typeahead(self._keys)
        if sys.platform != "win32":
            import termios  # noqa: PLC0415  # not on Windows

            termios.tcflush(self.stdin.fileno(), termios.TCIFLUSH)

    @functools.cached_property
    def _keys(self) -> Input:
        return create_input(self.stdin)

    @functools.cached_property
    def _screen(self) -> Output:
        screen = create_output(stdout=self.stdout)
        # Asking a terminal where its cursor is makes one that does not answer print a warning.
        cast("Any", screen).enable_cpr = False
        return screen

    async def choose(self, menu: str) -> str:
        """Show what can be typed, and read it."""
        self.say(menu)
        return await self.line(PROMPT)

    async def line(self, label: str, *, secret: bool = False) -> str:
        """Read one line, without blocking the loop; cancelling it gives the terminal back.

        Parameters
        ----------
        secret
            Nothing typed is shown, not even how much.

        Raises
        ------
        Left
            Escape, Ctrl-D, Ctrl-C (which interrupts the program as well), or no terminal any more.
        """
        session = PromptSession[str](
            input=self._keys,
            output=self._screen,
            key_bindings=_bindings(),
            history=DummyHistory(),
            input_processors=[PasswordProcessor(char="")] if secret else [],
        )
        with create_app_session(self._keys, self._screen), self._prints_above():
            try:
                typed = await session.prompt_async(
                    FormattedText([("bold", self._fitting(label))]),
                    handle_sigint=False,
                    set_exception_handler=False,
                )
                # Bytes that the terminal's encoding lacks come as halves of characters, which
                # neither a store nor a model takes.
                return typed.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
            except EOFError as e:
                raise Left("eof") from e
            except _EscapedError as e:
                raise Left("escape") from e
            except KeyboardInterrupt:
                pass
        # As if no prompt had stood in the way of Ctrl-C.
        signal.raise_signal(signal.SIGINT)
        await asyncio.sleep(0)
        raise Left("interrupt")

    @contextlib.contextmanager
    def _prints_above(self) -> Generator[None]:
        """Let what the program prints meanwhile stand above the prompt, not inside it."""
        if self.stdout is not sys.stdout:
            yield
            return
        with StdoutProxy(sleep_between_writes=0.02, raw=True) as proxy:
            errors = (
                redirect_stderr(cast("Any", proxy)) if _is_terminal(sys.stderr) else nullcontext()
            )
            with redirect_stdout(cast("Any", proxy)), errors:
                yield


class _EscapedError(Exception):
    pass


def _bindings() -> KeyBindings:
    keys = KeyBindings()

    @keys.add("escape", eager=True)
    def _escape(event: KeyPressEvent) -> None:  # pyright: ignore[reportUnusedFunction]
        event.app.exit(exception=_EscapedError())

    return keys


def find(*, controlling: bool = False) -> Device | None:
    """The terminal of this process with a person at it, or None.

    Parameters
    ----------
    controlling
        Take the controlling terminal if the standard streams lead elsewhere
        (``python job.py > log``).
    """
    stdin, stdout = sys.stdin, sys.stdout
    if isinstance(stdout, StdoutProxy):  # a prompt is open already
        stdout = stdout.original_stdout
    if _is_terminal(stdin) and _is_terminal(stdout):
        return _standard(stdin, cast("TextIO", stdout)) if _in_front(stdin) else None
    return _controlling() if controlling else None


@functools.lru_cache(maxsize=1)
def _standard(stdin: TextIO, stdout: TextIO) -> Device:
    return Device(stdin, stdout)


def _is_terminal(stream: Any) -> bool:
    return stream is not None and not stream.closed and stream.isatty()


def _in_front(stream: Any) -> bool:
    """Whether we may read: a job in the background would be stopped by it."""
    if sys.platform == "win32":
        return True
    try:
        return os.tcgetpgrp(stream.fileno()) == os.getpgrp()
    except (OSError, ValueError):
        return False


@functools.cache
def _opened() -> Device | None:
    try:
        return Device(open(CONTROLLING), open(CONTROLLING, "w"))  # noqa: PTH123
    except OSError:
        return None


def _controlling() -> Device | None:
    device = _opened()
    return device if device is not None and _in_front(device.stdin) else None
