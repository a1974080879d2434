"""Writes the table of facts in docs/telemetry.md from `clientscope.catalog.client_facts`.

``python docs/make/client_facts.py``; a test compares.
"""

from __future__ import annotations

import re
from pathlib import Path

from clientscope.catalog.client_facts import FACTS

FILE = Path(__file__).resolve().parents[1] / "telemetry.md"
_PART = re.compile(r"(<!-- facts -->\n).*?(<!-- end -->)", re.DOTALL)


def table() -> str:
    """A line for each fact."""
    lines = ["| column | what | unit | metric, without `org.apache.kafka.` |", "|---|---|---|---|"]
    for fact in FACTS:
        metrics = ", ".join(f"`{name}`" for name in (fact.producer, fact.consumer) if name)
        lines.append(f"| `{fact.name}` | {fact.title} | {fact.unit or 'count'} | {metrics} |")
    return "\n".join(lines) + "\n"


def page(text: str) -> str:
    """The page with its table as the code has it now."""
    return _PART.sub(lambda found: found[1] + table() + found[2], text)


if __name__ == "__main__":
    FILE.write_text(page(FILE.read_text()))
