"""Writes what docs/alerts.md says of kinds of receivers, and of their keys in receivers.toml, from the kinds themselves.

``python docs/make/alerts.py``; a test compares.
"""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import Any

from sinks.alerts.kinds import KINDS
from sinks.alerts.receivers import ReceiverKind

FILE = Path(__file__).resolve().parents[1] / "alerts.md"
_PART = re.compile(r"(<!-- (keys|kinds) -->\n).*?(<!-- end -->)", re.DOTALL)


def of(kinds: tuple[ReceiverKind[Any], ...]) -> str:
    """Which kinds a key is of, in words."""
    if kinds == KINDS:
        return "all"
    if kinds == tuple(kind for kind in KINDS if kind.sender):
        return "not " + ", ".join(kind.name for kind in KINDS if not kind.sender)
    return ", ".join(kind.name for kind in kinds)


def keys() -> str:
    """A line for each description: first name, kind and address, then as the tables have them.

    Raises:
        ValueError: a key has no description.
    """
    lines: dict[str, dict[str, list[ReceiverKind[Any]]]] = {}
    for kind in KINDS:
        for key, field in kind.table.model_fields.items():
            if not field.description:
                raise ValueError(f"{key} of {kind.name} has no description")
            lines.setdefault(field.description, {}).setdefault(key, []).append(kind)
    order = sorted(
        lines, key=lambda description: next((rank for rank, key in enumerate(("name", "kind", "url")) if key in lines[description]), 3)
    )
    text = "| key | of | |\n|---|---|---|\n"
    for description in order:
        named = ", ".join(f"`{key}`" for key in sorted(lines[description], key=lambda key: key == "urls"))
        concerned = tuple(kind for kind in KINDS if any(kind in kinds for kinds in lines[description].values()))
        text += f"| {named} | {of(concerned)} | {description.replace('{kinds}', ', '.join(f'`{kind.name}`' for kind in KINDS))} |\n"
    return text


def kinds() -> str:
    """A paragraph for each kind."""
    return "\n\n".join(textwrap.fill(kind.how, 200, break_long_words=False, break_on_hyphens=False) for kind in KINDS) + "\n"


def page(text: str) -> str:
    """The page with its parts as the code has them now."""
    return _PART.sub(lambda found: found[1] + {"keys": keys, "kinds": kinds}[found[2]]() + found[3], text)


if __name__ == "__main__":
    FILE.write_text(page(FILE.read_text()))
