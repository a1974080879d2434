"""Writes the table of limits in docs/operating.md from the engines that have them.

``python docs/make/limits.py``; a test compares.
"""

from __future__ import annotations

import re
from pathlib import Path

from clientscope.findings.conditions import Conditions
from clientscope.profiles import Thresholds
from streaming.findings.engine import FindingsEngine
from streaming.findings.entry import Policy
from streaming.gauges import Gauges
from streaming.limits import Limit
from streaming.reporting_clients import REPORTING

FILE = Path(__file__).resolve().parents[1] / "operating.md"
_PART = re.compile(r"(<!-- limits -->\n).*?(<!-- end -->)", re.DOTALL)


def limits() -> list[Limit]:
    """Every one, in the order of the queries."""
    engine, gauges = FindingsEngine({}, Policy(), Thresholds(), Conditions()), Gauges({}, 0.0)
    return [each.limit for each in (*engine.limits, *gauges.limits)] + [REPORTING]


def table() -> str:
    """A line for each."""
    lines = ["| `limit` | at most | when it is reached | OP004 |", "|---|---|---|---|"]
    lines += [f"| `{each.name}` | {each.most:,} {each.of} | {each.beyond} | {each.severity} |" for each in limits()]
    return "\n".join(lines) + "\n"


def page(text: str) -> str:
    """The page with its table as the code has it now."""
    return _PART.sub(lambda found: found[1] + table() + found[2], text)


if __name__ == "__main__":
    FILE.write_text(page(FILE.read_text()))
