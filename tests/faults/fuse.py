"""A file system without shared memory maps, as some network mounts are: ``fuse.py FOLDER MOUNT``.

A pass-through to a folder, in plain Python on ``/dev/fuse`` (root only), with direct I/O: the
kernel then refuses shared maps, which SQLite's WAL needs, and keeps locks by itself. Only what a
store does is answered; see linux/fuse.h for the structures.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

POSSIBLE = (
    sys.platform == "linux" and os.geteuid() == 0 and os.access("/dev/fuse", os.R_OK | os.W_OK)
)

_IN, _OUT = struct.Struct("<IIQQIIII"), struct.Struct("<IiQ")
_DIRECT_IO = 1
_MODE, _SIZE = 1, 8


class Server:
    """Answers the kernel until the file system is unmounted."""

    def __init__(self, folder: str, mount: str) -> None:
        self.paths: dict[int, str] = {1: folder}
        self.fuse = os.open("/dev/fuse", os.O_RDWR)
        options = f"fd={self.fuse},rootmode=40000,user_id=0,group_id=0,allow_other"
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mount(b"none", mount.encode(), b"fuse", 0, options.encode()) != 0:
            raise OSError(ctypes.get_errno(), "mount")
        self.names: dict[int, Any] = {
            1: self.lookup,
            3: lambda node, _: self.attributes(node),
            4: self.setattr,
            9: self.mkdir,
            10: lambda node, data: self.nothing(os.unlink, self.child(node, data)),
            11: lambda node, data: self.nothing(os.rmdir, self.child(node, data)),
            14: self.open,
            15: self.read,
            16: self.write,
            17: lambda *_: struct.pack("<5Q4I24x", *[1 << 20] * 5, 4096, 255, 4096, 0),
            18: lambda _, data: self.nothing(os.close, struct.unpack_from("<Q", data)[0]),
            20: lambda _, data: self.nothing(os.fsync, struct.unpack_from("<Q", data)[0]),
            25: lambda *_: b"",
            26: lambda *_: struct.pack("<IIIIHHIIHH32x", 7, 31, 0, 0, 12, 9, 1 << 17, 1, 32, 0),
            27: lambda *_: struct.pack("<QII", 0, 0, 0),
            28: self.readdir,
            29: lambda *_: b"",
            30: lambda *_: b"",
            34: lambda *_: b"",
            35: self.create,
        }

    def serve(self) -> None:
        while True:
            try:
                request = os.read(self.fuse, 1 << 18)
            except OSError:  # unmounted
                return
            _, operation, unique, node, *_ = _IN.unpack_from(request)
            if operation in (2, 42):  # forget: no answer
                continue
            error, answer = 0, b""
            try:
                answer = self.names[operation](node, request[_IN.size :])
            except KeyError:
                error = errno.ENOSYS
            except OSError as failed:
                error = failed.errno or errno.EIO
            os.write(self.fuse, _OUT.pack(_OUT.size + len(answer), -error, unique) + answer)

    def child(self, node: int, name: bytes) -> str:
        return os.path.join(self.paths[node], name.split(b"\0")[0].decode())  # noqa: PTH118

    def nothing(self, act: Any, *args: Any) -> bytes:
        act(*args)
        return b""

    def entry(self, path: str) -> bytes:
        status = os.lstat(path)
        self.paths[status.st_ino] = path
        return struct.pack("<QQQQII", status.st_ino, 0, 0, 0, 0, 0) + _attributes(status)

    def lookup(self, node: int, data: bytes) -> bytes:
        return self.entry(self.child(node, data))

    def attributes(self, node: int) -> bytes:
        return struct.pack("<QII", 0, 0, 0) + _attributes(os.lstat(self.paths[node]))

    def setattr(self, node: int, data: bytes) -> bytes:
        valid, _, _, size = struct.unpack_from("<IIQQ", data)
        if valid & _MODE:
            os.chmod(self.paths[node], struct.unpack_from("<I", data, 68)[0] & 0o7777)  # noqa: PTH101
        if valid & _SIZE:
            os.truncate(self.paths[node], size)
        return self.attributes(node)

    def mkdir(self, node: int, data: bytes) -> bytes:
        path = self.child(node, data[8:])
        os.mkdir(path, struct.unpack_from("<I", data)[0] & 0o777)  # noqa: PTH102
        return self.entry(path)

    def _open(self, path: str, flags: int, mode: int = 0) -> bytes:
        # The kernel places appended data itself.
        descriptor = os.open(path, flags & ~os.O_APPEND, mode)
        return struct.pack("<QII", descriptor, _DIRECT_IO, 0)

    def open(self, node: int, data: bytes) -> bytes:
        return self._open(self.paths[node], struct.unpack_from("<I", data)[0])

    def create(self, node: int, data: bytes) -> bytes:
        flags, mode = struct.unpack_from("<II", data)
        path = self.child(node, data[16:])
        opened = self._open(path, flags | os.O_CREAT, mode & 0o777)
        return self.entry(path) + opened

    def read(self, _: int, data: bytes) -> bytes:
        descriptor, offset, size = struct.unpack_from("<QQI", data)
        return os.pread(descriptor, size, offset)

    def write(self, _: int, data: bytes) -> bytes:
        descriptor, offset, size = struct.unpack_from("<QQI", data)
        return struct.pack("<II", os.pwrite(descriptor, data[40 : 40 + size], offset), 0)

    def readdir(self, node: int, data: bytes) -> bytes:
        _, offset, size = struct.unpack_from("<QQI", data)
        answer = b""
        for place, name in enumerate(sorted(os.listdir(self.paths[node]))[offset:], offset + 1):  # noqa: PTH208
            raw = name.encode()
            line = struct.pack("<QQII", place, place, len(raw), 0) + raw
            line += bytes(-len(line) % 8)
            if len(answer) + len(line) > size:
                break
            answer += line
        return answer


def _attributes(status: os.stat_result) -> bytes:
    times = [int(t) for t in (status.st_atime, status.st_mtime, status.st_ctime)]
    return struct.pack(
        "<QQQQQQIIIIIIIIII",
        *(status.st_ino, status.st_size, status.st_blocks, *times, 0, 0, 0),
        *(status.st_mode, status.st_nlink, status.st_uid, status.st_gid, 0, 4096, 0),
    )


@contextmanager
def mounted(folder: Path, mount: Path) -> Iterator[Path]:
    """`folder`, seen through such a file system at `mount`."""
    for made in (folder, mount):
        made.mkdir()
    command = [sys.executable, __file__, str(folder), str(mount)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            assert server.stdout.readline() == "mounted\n"
            yield mount
        finally:
            subprocess.run(["umount", "-l", str(mount)], check=False)
            server.kill()


if __name__ == "__main__":
    made = Server(*sys.argv[1:3])
    sys.stdout.write("mounted\n")
    sys.stdout.flush()
    made.serve()
