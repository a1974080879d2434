"""Sort keys of versions: texts that sort as the versions do."""

from __future__ import annotations

import re

_NUMBERS = re.compile(r"v?(\d+(?:\.\d+)*)", re.ASCII)
_PARTS = 8
_DIGITS = 9


def version_order(version: str) -> str | None:
    """A text that compares as the version does: ``3.9.0-ccs`` as 3.9, and 3 as 3.0.0.

    Returns:
        None for a version that begins with no number, ``unknown`` among them: it holds in no comparison.
    """
    found = _NUMBERS.match(version)
    if found is None:
        return None
    parts = [int(part[:_DIGITS]) for part in found[1].split(".")[:_PARTS]]
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    return ".".join(f"{part:0{_DIGITS}}" for part in parts)
