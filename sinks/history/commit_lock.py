"""Lock of a Delta table: one writer at a time.

No commit would be lost without it: delta-rs creates a version's file only if it isn't there, by a hard link or S3's conditional write. But
two that meet would fail and begin again, and who erases a client needs a moment at which nobody writes (`sinks.history.erase`).
"""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from clientscope.stores.lease import HeldElsewhere, leased
from clientscope.stores.store_path import AnyPath, StorePath

log = logging.getLogger(__name__)

_PATIENCE_S = 600.0
_LOOK_S = 0.05
_NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)


@contextmanager
def committing(table: AnyPath) -> Iterator[None]:
    """Holds the lock from reading a version of the table to committing the next one; others wait.

    By flock(2) on a file beside the table, which ends with the process: it holds between processes of one machine, and on NFS as far as
    its server locks. In a store it is a lease (`clientscope.stores.lease`).

    Raises:
        TimeoutError: another one has it for ten minutes.
        OSError: the history directory can't be written.
    """
    if isinstance(table, StorePath):
        try:
            with leased(table.with_name(f"{table.name}.lock"), "a commit to history", _PATIENCE_S):
                yield
        except HeldElsewhere as held:
            raise TimeoutError(f"{held.holder} has been committing to {table} for {_PATIENCE_S:.0f} s") from None
        return
    path = table.with_name(f".{table.name}.lock")
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        deadline = time.monotonic() + _PATIENCE_S
        while not _taken(descriptor):
            if time.monotonic() > deadline:
                raise TimeoutError(f"another process has been committing to {table} for {_PATIENCE_S:.0f} s")
            time.sleep(_LOOK_S)
        yield
    finally:
        os.close(descriptor)


def _taken(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        log.warning("the file system of the history directory has no locks: run `clientscope history` only while the job doesn't run")
    return True
