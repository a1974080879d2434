"""Lock of a checkpoint directory: one process at a time."""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from clientscope.errors import ClientscopeError
from clientscope.stores import lease
from clientscope.stores.store_path import AnyPath, StorePath

log = logging.getLogger(__name__)

FILE = "clientscope.lock"
_NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)


class Locked(ClientscopeError):
    """Another process has it."""


@contextmanager
def locked(checkpoint_dir: AnyPath, what: str) -> Iterator[Callable[[], float | None]]:
    """Has a checkpoint directory to itself for as long as the context lasts.

    Yields a check: it raises Locked if that has ended early, and returns how many seconds ago the lease was renewed, or None where the
    kernel has the lock.

    The kernel keeps the lock (flock(2)) and drops it with the process, however that ends. It holds on one machine, and on NFS as
    far as its server locks; a file system that has none is warned of. In a store it is a lease (`clientscope.stores.lease`): that of a
    process that was killed runs out after half a minute, for which the next one waits.

    Args:
        what: the work that holds the lock, for the error of a second process.

    Raises:
        Locked: another process has it; says which.
        ClientscopeError: the directory can't be written.
    """
    if isinstance(checkpoint_dir, StorePath):
        with _leased(checkpoint_dir, what) as check:
            yield check
        return
    path = checkpoint_dir.absolute() / FILE
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise ClientscopeError(f"{path}: {error.strerror}", "the checkpoint directory must be writable: --checkpoint-dir") from None
    try:
        if not _taken(descriptor):
            raise _in_use(path.parent, _holder(path))
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{what}, process {os.getpid()} on {socket.gethostname()}\n".encode())
        yield lambda: None
        os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)


@contextmanager
def _leased(checkpoint_dir: StorePath, what: str) -> Iterator[Callable[[], float | None]]:
    path = checkpoint_dir / FILE
    begun = False

    def waits() -> None:
        log.warning("%s was not freed: waiting %.0f s to see whether its holder is alive", path, lease.LEASE_S)

    try:
        with lease.leased(path, what, waits=waits) as held:
            begun = True

            def check() -> float | None:
                if held.lost:
                    raise Locked(
                        f"{checkpoint_dir} is not this process's alone any more: its lease could not be renewed in time",
                        "start the job again; was the store out of reach, or this process stopped for half a minute?",
                    )
                return held.age_s

            yield check
    except lease.HeldElsewhere as error:
        raise _in_use(checkpoint_dir, error.holder) from None
    except OSError as error:
        if begun:
            raise
        raise ClientscopeError(f"{path}: {error.strerror}", "the checkpoint directory must be writable: --checkpoint-dir") from None


def _in_use(checkpoint_dir: AnyPath, by: str) -> Locked:
    return Locked(
        f"{checkpoint_dir} is in use by {by}",
        "stop it first: two jobs on one checkpoint would damage it; or give this one a --checkpoint-dir of its own",
    )


def holder(checkpoint_dir: AnyPath) -> str:
    """The current holder; empty if there is none."""
    if isinstance(checkpoint_dir, StorePath):
        return lease.holder(checkpoint_dir / FILE)
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
