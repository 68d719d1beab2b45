"""Open JupyterLab on a lesson, with settings, runtime files and request store of its own.

Everything after the script's name is handed to JupyterLab, for example ``--port=9000``.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scripts import jupyter  # noqa: E402

LESSON = ROOT / "notebooks" / "01_first_approval.ipynb"


def screen_missing() -> bool:
    """Return whether a browser would have to open in this terminal, as a text browser does."""
    return sys.platform == "linux" and not {"DISPLAY", "WAYLAND_DISPLAY"} & os.environ.keys()


def main() -> None:
    """Become JupyterLab; it prints the address, token included."""
    if not LESSON.is_file():
        sys.exit(f"The lesson {LESSON} is missing: run this from a complete clone.")
    print(f"Opening {LESSON.relative_to(ROOT)}: its address, with the token, is below.", flush=True)
    home = ROOT / ".cache" / "demo"
    # The store outlives the demo, so that "a restart loses nothing" can be tried.
    surroundings = {**jupyter.environment(home), "HITL_STORE": str(home / "requests.db")}
    quiet = ["--no-browser"] if screen_missing() else []
    address = f"--LabApp.default_url=/lab/tree/{LESSON.relative_to(ROOT).as_posix()}"
    command = jupyter.command(ROOT, address, *quiet, *sys.argv[1:])
    if os.name == "nt":  # there exec leaves this terminal without the program
        sys.exit(subprocess.call(command, env=surroundings))
    os.execve(command[0], command, surroundings)  # noqa: S606


if __name__ == "__main__":
    main()
