"""A JupyterLab apart from the person's own: its directories, settings and quiet start.

Shared by the demo and the browser tests.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

_PLACES = {
    "IPYTHONDIR": "ipython",
    "JUPYTERLAB_SETTINGS_DIR": "lab/settings",
    "JUPYTERLAB_WORKSPACES_DIR": "lab/workspaces",
    "JUPYTER_CONFIG_DIR": "config",
    "JUPYTER_DATA_DIR": "data",
    "JUPYTER_RUNTIME_DIR": "runtime",
}

# Offline: news and update checks would ask servers elsewhere, and first ask the person.
_SETTINGS = "lab/settings/@jupyterlab/apputils-extension/notification.jupyterlab-settings"
_QUIET = {"checkForUpdates": False, "fetchNews": "false"}


def environment(home: Path) -> dict[str, str]:
    """Return this process's environment with every Jupyter directory moved under `home`.

    Variables of this package are left out: the caller gives those that it means.
    """
    moved = {name: str(home / place) for name, place in _PLACES.items()}
    for place in moved.values():
        Path(place).mkdir(parents=True, exist_ok=True)
    settings = home / _SETTINGS
    if not settings.exists():
        settings.parent.mkdir(parents=True)
        settings.write_text(json.dumps(_QUIET), encoding="utf-8")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("HITL_")}
    return {**inherited, **moved}


def command(root: Path, *arguments: str) -> list[str]:
    """Return the command that runs JupyterLab on `root`: offline, without pop-ups, as root too."""
    line = [sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={root}"]
    line.append("--LabApp.extension_manager=readonly")  # the other one asks PyPI
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        line.append("--allow-root")
    return [*line, *arguments]
