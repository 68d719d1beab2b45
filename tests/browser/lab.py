"""A real JupyterLab for the browser tests: one server, with one kernelspec per ipykernel version.

Every Jupyter directory lies under the server's root, so that neither the person's settings nor
another run interfere. A kernel's working directory is its notebook's folder; the kernelspec puts
``HITL_STORE`` there, so that each test has a store of its own which survives its kernels.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from scripts import jupyter

if TYPE_CHECKING:
    from collections.abc import Iterator

PROJECT = Path(__file__).resolve().parents[2]
OTHER_KERNELS = PROJECT / ".cache" / "kernels"
OWN_KERNEL = version("ipykernel")
START_LIMIT = 90.0  # seconds; a cold start on a loaded machine takes about 15

# The shell writes the kernel's process id beside its connection file and becomes the kernel, so
# that a test can kill exactly this process and see when another one took its place.
_LAUNCH = 'export HITL_STORE="$PWD/requests.db"; echo $$ > "$1.pid"; shift; exec "$@"'


@dataclass(frozen=True)
class LabServer:
    """Address and directories of a running JupyterLab."""

    url: str
    token: str
    root: Path
    process: subprocess.Popen[bytes]

    @property
    def log(self) -> str:
        """Everything the server has printed so far."""
        return (self.root / "lab.log").read_text(encoding="utf-8", errors="replace")

    def pid_file(self, kernel_id: str) -> Path:
        """Return the file that holds the process id of the kernel `kernel_id`."""
        return self.root / ".jupyter" / "runtime" / f"kernel-{kernel_id}.json.pid"


def kernel_name(ipykernel: str) -> str:
    """Return the name of the kernelspec that runs this version of ipykernel."""
    if ipykernel not in kernel_versions():
        raise LookupError(f"ipykernel {ipykernel} is not in {OTHER_KERNELS}: run make kernels.")
    return f"ipykernel-{ipykernel}"


def kernel_versions() -> list[str]:
    """Return the versions that can be opened: the environment's own first, then the cached ones."""
    cached = (path.name for path in OTHER_KERNELS.glob("[0-9]*") if path.is_dir())
    return [OWN_KERNEL, *sorted(set(cached) - {OWN_KERNEL})]


def write_kernelspecs(data: Path) -> None:
    """Write one kernelspec per version under the Jupyter data directory `data`."""
    for ipykernel in kernel_versions():
        command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        spec = {
            "argv": ["sh", "-c", _LAUNCH, "sh", "{connection_file}", *command],
            "display_name": f"Python 3 (ipykernel {ipykernel})",
            "language": "python",
            "metadata": {"debugger": False},
        }
        if ipykernel != OWN_KERNEL:
            # Before what this run has on its own path, which may be another copy of the package.
            ours = os.environ.get("PYTHONPATH", "").split(os.pathsep)
            path = [str(OTHER_KERNELS / ipykernel), *filter(None, ours)]
            spec["env"] = {"PYTHONPATH": os.pathsep.join(path)}
        folder = data / "kernels" / kernel_name(ipykernel)
        folder.mkdir(parents=True)
        (folder / "kernel.json").write_text(json.dumps(spec), encoding="utf-8")


def free_port() -> int:
    """Return a port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _command(root: Path, port: int, token: str) -> list[str]:
    return jupyter.command(
        root,
        *("--no-browser", "--ServerApp.ip=127.0.0.1"),
        *(f"--ServerApp.port={port}", "--ServerApp.port_retries=0"),
        f"--IdentityProvider.token={token}",
        # window.jupyterapp: commands and kernel state, without reading them off the screen.
        "--LabApp.expose_app_in_browser=True",
        "--JupyterNotebookApp.expose_app_in_browser=True",
        # A killed kernel is noticed after this many seconds instead of three.
        "--KernelRestarter.time_to_dead=1.0",
    )


def _wait_until_up(server: LabServer) -> None:
    address = f"{server.url}/api/status?token={server.token}"
    limit = time.monotonic() + START_LIMIT
    while True:
        try:
            urllib.request.urlopen(address, timeout=5).close()  # noqa: S310 - our own server
        except (urllib.error.URLError, OSError):
            if server.process.poll() is not None or time.monotonic() > limit:
                raise RuntimeError(f"JupyterLab did not come up:\n{server.log[-4000:]}") from None
            time.sleep(0.1)
        else:
            return


@contextlib.contextmanager
def running_lab(root: Path) -> Iterator[LabServer]:
    """Run a JupyterLab that serves `root`; its kernels end with it."""
    home = root / ".jupyter"
    write_kernelspecs(home / "data")
    token, port = secrets.token_hex(16), free_port()
    with (root / "lab.log").open("wb") as log:
        process = subprocess.Popen(
            _command(root, port, token),
            stdout=log,
            stderr=log,
            cwd=root,
            env=jupyter.environment(home),
        )
        server = LabServer(f"http://127.0.0.1:{port}", token, root, process)
        try:
            _wait_until_up(server)
            yield server
        finally:
            process.terminate()
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
