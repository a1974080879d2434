"""Kernels that do what a record asks for, in a process of their own: die in several ways, raise, hang, or take all memory."""

from __future__ import annotations

import os
import signal
import time

import pyarrow as pa


def kernel(values: pa.Array) -> pa.Array:
    """Bytes are asked for by how they begin."""
    for value in values.to_pylist():
        if value.startswith(b"exit"):
            os._exit(7)
        if value.startswith(b"segfault"):
            os.kill(os.getpid(), signal.SIGSEGV)
        if value.startswith(b"raise"):
            raise ValueError("hunter2-canary")
        if value.startswith(b"hang"):
            time.sleep(60)
        if value.startswith(b"memory"):
            held = [bytearray(256 * 1024 * 1024) for _ in range(40)]
            del held
    return values


def together(values: pa.Array) -> pa.Array:
    """Dies of two records, never of one."""
    if len(values) > 1:
        os._exit(1)
    return values


class Unloadable:
    """A kernel that doesn't even come through to the child."""

    def __call__(self, values: pa.Array) -> pa.Array:
        return values

    def __setstate__(self, state: object) -> None:
        os._exit(3)

    def __getstate__(self) -> object:
        return {"any": "state"}
