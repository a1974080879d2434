"""Failing surroundings for tests: a small volume, names that can't be resolved any more, a clock that jumps (F40).

All but the proxy's (`cut.py`) need root: to mount, each in a namespace or at a place of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from patience import LIMIT_S

_FAKETIME = "/usr/lib/{}-linux-gnu/faketime/libfaketimeMT.so.1"


class Volume:
    """A file system of its own, of so many MiB."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._ballast = path / "ballast"

    def fill(self) -> None:
        """Leaves no room for another byte."""
        with self._ballast.open("ab", buffering=0) as file:
            for size in (1 << 20, 1 << 12, 1):
                try:
                    while True:
                        file.write(bytes(size))
                except OSError:
                    continue

    def relieve(self) -> None:
        """Has room again."""
        self._ballast.unlink()


@contextmanager
def volume(path: Path, mebibytes: int) -> Iterator[Volume]:
    """A tmpfs at ``path``."""
    assert os.geteuid() == 0, "F40 mounts small volumes: run the tests as root, in a container that may mount (CAP_SYS_ADMIN)"
    path.mkdir(parents=True, exist_ok=True)
    subprocess.run(["/bin/mount", "-t", "tmpfs", "-o", f"size={mebibytes}m", "tmpfs", str(path)], check=True, timeout=LIMIT_S)
    try:
        yield Volume(path)
    finally:
        subprocess.run(["/bin/umount", "--lazy", str(path)], check=True, timeout=LIMIT_S)


class Names:
    """What one process finds in place of ``/etc/hosts``, with no name server behind it."""

    def __init__(self, folder: Path, names: tuple[str, ...]) -> None:
        self._names = names
        self.hosts, self.resolver = folder / "hosts", folder / "resolv.conf"
        self.resolver.write_text("nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")
        self.restore()

    def lose(self) -> None:
        """From now on nobody resolves them."""
        self.hosts.write_text("127.0.0.1 localhost\n")

    def restore(self) -> None:
        """They are 127.0.0.1."""
        self.hosts.write_text("127.0.0.1 localhost " + " ".join(self._names) + "\n")

    def command(self, *command: str) -> list[str]:
        """The same command in a mount namespace in which these files are the system's."""
        script = 'mount --bind "$1" /etc/hosts && mount --bind "$2" /etc/resolv.conf && shift 2 && exec "$@"'
        return ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh", str(self.hosts), str(self.resolver), *command]


class Clock:
    """A wall clock that jumps, for processes started with `environment`; clocks that never go back stay as they are."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "clock"
        library = Path(_FAKETIME.format(os.uname().machine))
        assert library.exists(), "install Debian's faketime (make faketime)"
        self.environment = {
            "LD_PRELOAD": str(library), "FAKETIME_TIMESTAMP_FILE": str(self._file), "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }  # fmt: skip
        self.jump(0)

    def jump(self, seconds: int) -> None:
        """To so many seconds beside the true time."""
        beside = self._file.with_suffix(".new")
        beside.write_text(f"{seconds:+d}\n")
        beside.replace(self._file)


def clientscope(*words: str) -> list[str]:
    """A command of ours."""
    return [sys.executable, "-m", "clientscope.cli", *words]
