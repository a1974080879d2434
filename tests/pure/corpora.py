"""The corpora of leaks and of innocent settings, ``tests/corpora/``, and the half of each that is held back from tuning."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "corpora"


def corpus(name: str) -> list[dict[str, str]]:
    """All lines of ``leaks`` or ``innocent``."""
    return [json.loads(line) for line in (FOLDER / f"{name}.jsonl").read_text("utf-8").splitlines()]


def is_held_back(line: dict[str, str]) -> bool:
    """Whether a line belongs to the half that nobody looks at while expressions are changed.

    By the lowest bit of the first byte of SHA-256 over key, value and source, with a zero byte between.
    """
    return bool(hashlib.sha256("\0".join((line["key"], line["value"], line["source"])).encode()).digest()[0] & 1)
