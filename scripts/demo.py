"""Open JupyterLab on a lesson, with settings, runtime files and request store of its own.

Everything after the script's name is handed to JupyterLab, for example ``--port=9000``.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LESSON = ROOT / "notebooks" / "01_first_approval.ipynb"


def environment(home: Path) -> dict[str, str]:
    """Return this process's environment with every Jupyter directory moved under `home`.

    The person's own settings, extensions and kernels neither disturb the demo nor are touched.
    """
    places = {
        "IPYTHONDIR": "ipython",
        "JUPYTERLAB_SETTINGS_DIR": "lab/settings",
        "JUPYTERLAB_WORKSPACES_DIR": "lab/workspaces",
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTER_RUNTIME_DIR": "runtime",
    }
    moved = {name: str(home / place) for name, place in places.items()}
    for place in moved.values():
        Path(place).mkdir(parents=True, exist_ok=True)
    # Kept between two demos, so that "restart loses nothing" can be tried.
    return {**os.environ, **moved, "HITL_STORE": str(home / "requests.db")}


def arguments(extra: list[str]) -> list[str]:
    """Return JupyterLab's command line: offline, no pop-ups, works as root and without a screen."""
    command = [
        *(sys.executable, "-m", "jupyterlab", str(LESSON)),
        f"--ServerApp.root_dir={ROOT}",
        # News, update checks and the extension manager would ask servers elsewhere.
        "--LabApp.news_url=",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
        "--LabApp.extension_manager=readonly",
    ]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--allow-root")
    # Without a screen, Jupyter would start a text browser in this terminal if there is one.
    screens = {"DISPLAY", "WAYLAND_DISPLAY"}
    if sys.platform == "linux" and not screens & os.environ.keys():
        command.append("--no-browser")
    return [*command, *extra]


def main() -> None:
    """Become JupyterLab; it prints the address, token included."""
    if not LESSON.is_file():
        sys.exit(f"The lesson {LESSON} is missing: run this from a complete clone.")
    print(f"Opening {LESSON.relative_to(ROOT)}: follow the address with ?token= below.", flush=True)
    command = arguments(sys.argv[1:])
    os.execve(command[0], command, environment(ROOT / ".cache" / "demo"))  # noqa: S606


if __name__ == "__main__":
    main()
