"""F34: unique strings in the shape of secrets, one for each place that a client can write to, and a search for them.

A canary's ``core`` stands nowhere else; that is what is searched for, in any case of letters. Markers stand beside the canaries and are no
secrets: where one isn't found, the search hasn't looked.
"""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from string import digits

_JWT_HEAD = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJzb21lYm9keSJ9"
_source = random.Random(34)  # noqa: S311 - the same each time, and nobody's secrets


@dataclass(frozen=True)
class Canary:
    """
    Attributes:
        text: what a client writes.
        core: the part of it that is searched for.
    """

    text: str
    core: str


def _core(number: int) -> str:
    return f"CNRY{number:02}" + "".join(_source.choices("ABCDEFGHJKLMNPQRSTUVWXYZ", k=10))


def _random() -> str:
    """A text that looks random: kinds of characters change at nearly each place."""
    kinds = ("abcdefghjkmnpqrstuvwxyz", "ABCDEFGHJKLMNPQRSTUVWXYZ", digits)
    return "".join(_source.choice(kinds[place % 3]) for place in range(30))


SHAPES: dict[str, Callable[[str], str]] = {
    "plain": lambda core: core,
    "aws": lambda core: f"AKIA{core}",
    "gitlab": lambda core: f"glpat-{core}abcd",
    "github": lambda core: f"ghp_{core}{'a1' * 10}",
    "slack": lambda core: f"xoxb-1234567890-{core}",
    "jwt": lambda core: f"{_JWT_HEAD}.{core}",
    "url": lambda core: f"https://somebody:{core}@registry.example.org/",
    "assignment": lambda core: f"password={core}",
    "line": lambda core: f"sasl.password = {core}",
    "colon": lambda core: f"sasl.password: {core}",
    "jaas": lambda core: f'x.PlainLoginModule required username="u" password="{core}";',
    "bearer": lambda core: f"Authorization: Bearer {core}abcd",
    "azure": lambda core: f"Endpoint=sb://x.servicebus.windows.net/;SharedAccessKeyName=k;SharedAccessKey={core}",
    "pem": lambda core: f"-----BEGIN PRIVATE KEY-----\n{core}\n-----END PRIVATE KEY-----",
}


class Canaries:
    """Every canary by its place; `at` makes one, once."""

    def __init__(self) -> None:
        self.by_place: dict[str, Canary] = {}

    def at(self, place: str, shape: str = "plain", prefix: str = "") -> str:
        """A new one, as a client writes it: in one of `SHAPES`, or ``random``."""
        assert place not in self.by_place, place
        core = _random() if shape == "random" else _core(len(self.by_place))
        text = prefix + (core if shape == "random" else SHAPES[shape](core))
        self.by_place[place] = Canary(text, core)
        return text

    def found_in(self, content: bytes) -> list[str]:
        """Places whose canaries the content contains: as they are, in another case, or in base64."""
        lower = content.lower()
        return [
            place
            for place, canary in self.by_place.items()
            if canary.core.lower().encode() in lower or any(form in content for form in _in_base64(canary.core))
        ]


def _in_base64(core: str) -> Iterable[bytes]:
    """The core as it stands within longer text in base64, wherever it begins."""
    for before in range(3):
        encoded = base64.b64encode(b"\0" * before + core.encode())
        yield encoded[4 if before else 0 : -4]


def as_bytes(content: object) -> bytes:
    """Anything that was read, as the search takes it."""
    return (
        content
        if isinstance(content, bytes)
        else content.encode()
        if isinstance(content, str)
        else json.dumps(content, default=str).encode()
    )
