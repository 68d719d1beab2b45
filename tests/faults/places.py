"""Disks that are full or read-only, made here: a small file system of its own where we are root,
limits of this process or mode bits elsewhere."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

ROOT = hasattr(os, "geteuid") and os.geteuid() == 0


class SmallDisk:
    """A folder whose disk can be filled and freed."""

    def __init__(self, folder: Path, *, mounted: bool) -> None:
        self.folder = folder
        self.mounted = mounted
        self._ballast = folder / "ballast"
        self._limit = resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill(self) -> None:
        """Not one byte more."""
        if not self.mounted:
            resource.setrlimit(resource.RLIMIT_FSIZE, (16, self._limit[1]))
            return
        with self._ballast.open("ab", buffering=0) as file, suppress(OSError):
            while True:
                file.write(bytes(4096))

    def free(self) -> None:
        """Room again."""
        if self.mounted:
            self._ballast.unlink(missing_ok=True)
        else:
            resource.setrlimit(resource.RLIMIT_FSIZE, self._limit)


@contextmanager
def small_disk(folder: Path, *, mount: bool) -> Iterator[SmallDisk]:
    """A disk of 4 MB; without `mount`, or where that cannot be, a limit on the size of files."""
    folder.mkdir()
    mounted = mount and _mounted("tmpfs", folder, "size=4m,mode=0700")
    disk = SmallDisk(folder, mounted=mounted)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        yield disk
    finally:
        disk.free()
        signal.signal(signal.SIGXFSZ, before)
        if mounted:
            subprocess.run(["umount", "-l", str(folder)], check=True)


def _mounted(kind: str, folder: Path, options: str) -> bool:
    if not ROOT:
        return False
    command = ["mount", "-t", kind, "-o", options, "none", str(folder)]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def without_privileges(*arguments: str) -> list[str]:
    """A command that obeys mode bits: root without its capabilities does."""
    drop = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if ROOT else []
    return [*drop, sys.executable, *arguments]
