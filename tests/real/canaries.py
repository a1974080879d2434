"""F34: unique strings in the shape of secrets, one for each place that a client can write to, and a search for them.

A canary's ``core`` stands nowhere else; that is what is searched for, in any case of letters. Markers stand beside the canaries and are no
secrets: where one isn't found, the search hasn't looked.
"""

from __future__ import annotations

import base64
import json
import random
import tomllib
from collections.abc import Iterable
from pathlib import Path
from string import digits
from typing import Any

_source = random.Random(34)  # noqa: S311 - the same each time, and nobody's secrets


def _core(number: int) -> str:
    return f"CNRY{number:02}" + "".join(_source.choices("ABCDEFGHJKLMNPQRSTUVWXYZ", k=10))


def _random() -> str:
    """A text that looks random: kinds of characters change at nearly each place."""
    kinds = ("abcdefghjkmnpqrstuvwxyz", "ABCDEFGHJKLMNPQRSTUVWXYZ", digits)
    return "".join(_source.choice(kinds[place % 3]) for place in range(30))


PLANS: dict[str, Any] = tomllib.loads(Path(__file__).with_name("test_canaries.toml").read_text())
"""Their shapes, where they are planted, and what must be found beside them."""


class Canaries:
    """Every canary's core by its place; `at` makes one, once."""

    def __init__(self) -> None:
        self.by_place: dict[str, str] = {}

    def at(self, place: str, shape: str = "plain") -> str:
        """A new one, as a client writes it: in one of the shapes, or ``random``."""
        assert place not in self.by_place, place
        core = self.by_place[place] = _random() if shape == "random" else _core(len(self.by_place))
        return core if shape == "random" else PLANS["shapes"][shape].replace("{}", core)

    def found_in(self, content: bytes) -> list[str]:
        """Places whose canaries the content contains: as they are, in another case, or in base64."""
        lower = content.lower()
        return [
            place
            for place, core in self.by_place.items()
            if core.lower().encode() in lower or any(form in content for form in _in_base64(core))
        ]


def _in_base64(core: str) -> Iterable[bytes]:
    """The core as it stands within longer text in base64, wherever it begins."""
    for before in range(3):
        encoded = base64.b64encode(b"\0" * before + core.encode())
        yield encoded[4 if before else 0 : -4]


def as_bytes(content: object) -> bytes:
    """Anything that was read, as the search takes it."""
    if isinstance(content, bytes):
        return content
    return (content if isinstance(content, str) else json.dumps(content, default=str)).encode()
