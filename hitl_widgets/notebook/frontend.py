"""Where are we: what kind of front end runs this code, and who is there to be asked."""

from __future__ import annotations

import getpass
import os
import platform
import sys
from dataclasses import dataclass
from typing import Any, Literal

from . import kernel

__all__ = ["Frontend", "FrontendKind", "IdentitySource", "detect"]

FrontendKind = Literal["jupyter", "vscode", "colab", "jupyterlite", "marimo", "ipython", "script"]

IdentitySource = Literal["jupyterhub", "os"]

# An awaiting cell gets no clicks here, whatever the kernel does: JupyterLite and marimo handle one
# message at a time, and nobody has seen what Colab's page sends meanwhile.
_CLICKS_AFTER_THE_CELL = frozenset({"colab", "jupyterlite", "marimo"})
_WITHOUT_WIDGETS = frozenset({"ipython", "script"})


@dataclass(frozen=True, kw_only=True)
class Frontend:
    """The surroundings of the calling code, as far as they can be known without asking the page.

    Attributes
    ----------
    kind
        ``"jupyter"`` for any front end of a Jupyter kernel that is not told apart further (Lab,
        Notebook, nbclassic, a console, nbclient); ``"ipython"`` is the terminal.
    can_show_cards
        A card shown here can be clicked at all, at the latest when the cell has ended.
    can_await_cards
        A cell may wait for the click on a card that it shows.
    allow_stdin
        ``input()`` reaches a person.
    headless
        Nobody is there: the front end said so (nbclient, papermill), or there is no terminal.
    ipykernel
        Version of the ipykernel, or None without one.
    pump
        What `hitl_widgets.notebook.kernel.waiting` can do here.
    notebook
        Path of the notebook as the server knows it, or None. A hint for a reader of the audit
        trail: it may be outdated after a rename.
    kernel
        Id of the kernel on its server, or None.
    host, user
        Where the code runs and who is taken to be the person there.
    identity_source
        Where the user's name comes from.
    """

    kind: FrontendKind
    can_show_cards: bool
    can_await_cards: bool
    allow_stdin: bool
    headless: bool
    ipykernel: str | None
    pump: kernel.PumpKind
    notebook: str | None
    kernel: str | None
    host: str
    user: str
    identity_source: IdentitySource

    def origin(self) -> dict[str, Any]:
        """Return what a stored request says about the place it came from."""
        return {
            "notebook": self.notebook,
            "kernel": self.kernel,
            "host": self.host,
            "user": self.user,
        }


def detect() -> Frontend:
    """Look around. Nothing is imported for it, and nothing is remembered: cells differ."""
    kind = _kind()
    pump = kernel.pump_kind()
    told = kernel.allow_stdin()
    allow_stdin = _terminal() if told is None else told
    # Other kernels do not tell: their page has to show that it is there.
    headless = not allow_stdin if told is not None or kind in _WITHOUT_WIDGETS else False
    can_show = kind not in _WITHOUT_WIDGETS and not headless
    user, identity_source = _user()
    return Frontend(
        kind=kind,
        can_show_cards=can_show,
        can_await_cards=can_show
        and kind not in _CLICKS_AFTER_THE_CELL
        and pump in {"ipykernel6", "ipykernel7"},
        allow_stdin=allow_stdin,
        headless=headless,
        ipykernel=kernel.ipykernel_version(),
        pump=pump,
        notebook=_notebook(headless=headless),
        kernel=kernel.kernel_id(),
        host=platform.node(),
        user=user,
        identity_source=identity_source,
    )


def _kind() -> FrontendKind:
    if sys.platform == "emscripten":
        return "jupyterlite"
    marimo = sys.modules.get("marimo")
    if marimo is not None and marimo.running_in_notebook():
        return "marimo"
    shell = _ipython()
    if shell is None:
        return "script"
    if not hasattr(shell, "kernel"):
        return "ipython"
    if "google.colab" in sys.modules:
        return "colab"
    return "vscode" if _vscode_notebook() is not None else "jupyter"


def _ipython() -> Any:
    module = sys.modules.get("IPython")
    return module.get_ipython() if module is not None else None


def _terminal() -> bool:
    stdin = sys.stdin
    return stdin is not None and not stdin.closed and stdin.isatty()


def _notebook(*, headless: bool) -> str | None:
    # The server names the notebook in the kernel's environment, and every process started from
    # that kernel inherits it: it is believed only by a kernel, of the process that started it,
    # with a person in front.
    started_by = os.environ.get("JPY_PARENT_PID")
    if kernel.kernel_id() is None or headless or started_by != str(os.getppid()):
        return None
    return _vscode_notebook() or os.environ.get("JPY_SESSION_NAME") or None


def _vscode_notebook() -> str | None:
    # VS Code puts the path of the notebook into the user's namespace.
    return getattr(_ipython(), "user_ns", {}).get("__vsc_ipynb_file__")


def _user() -> tuple[str, IdentitySource]:
    hub_user = os.environ.get("JUPYTERHUB_USER")
    if hub_user:
        return hub_user, "jupyterhub"
    try:
        return getpass.getuser(), "os"
    except (OSError, KeyError):  # a container's user without a name
        return f"uid {os.getuid()}", "os"
