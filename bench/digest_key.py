"""Digest key for benchmarks whose kernels Spark's workers run: in a file, since a key doesn't travel with a kernel."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

from clientscope.digest import DigestKey

_FOLDER = tempfile.TemporaryDirectory(prefix="clientscope-bench-key-")
"""Removed when the benchmark ends."""


@cache
def key_in_a_file() -> DigestKey:
    """The same key each time."""
    path = Path(_FOLDER.name) / "digest.key"
    path.touch(0o600)
    path.write_bytes(b"k" * 32)
    return DigestKey.read(path)
