"""Lock of a checkpoint directory: one process at a time."""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from clientscope.errors import ClientscopeError

log = logging.getLogger(__name__)

FILE = "clientscope.lock"
_NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)


class Locked(ClientscopeError):
    """Another process has it."""


@contextmanager
def locked(checkpoint_dir: Path, what: str) -> Iterator[None]:
    """Has a checkpoint directory to itself for as long as the context lasts.

    The kernel keeps the lock (flock(2)) and drops it with the process, however that ends. It holds on one machine, and on NFS as
    far as its server locks; an object store has none, and a file system that says so is warned of.

    Args:
        what: the work that holds the lock, for the error of a second process.

    Raises:
        Locked: another process has it; says which.
        ClientscopeError: the directory can't be written.
    """
    path = checkpoint_dir.absolute() / FILE
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise ClientscopeError(f"{path}: {error.strerror}", "the checkpoint directory must be writable: --checkpoint-dir") from None
    try:
        if not _taken(descriptor):
            raise Locked(
                f"{path.parent} is in use by {_holder(path)}",
                "stop it first: two jobs on one checkpoint would damage it; or give this one a --checkpoint-dir of its own",
            )
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{what}, process {os.getpid()} on {socket.gethostname()}\n".encode())
        yield
        os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)


def holder(checkpoint_dir: Path) -> str:
    """The current holder; empty if there is none."""
    path = checkpoint_dir.absolute() / FILE
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return ""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _holder(path)
    except OSError:  # the file system has no locks, so the holder is unknown
        return ""
    finally:
        os.close(descriptor)
    return ""


def _taken(descriptor: int) -> bool:
    for _ in range(10):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.02)  # `holder` takes it for a moment to check it
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
            log.warning("the file system of the checkpoint directory has no locks: nothing keeps a second job away")
            return True
        else:
            return True
    return False


def _holder(path: Path) -> str:
    return path.read_text(errors="replace").strip()[:200] or "another process"
