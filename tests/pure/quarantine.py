"""The list of quarantined tests (tests/quarantine.txt)."""

from __future__ import annotations

import datetime
import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
MOST, MOST_DAYS = 5, 14
NEVER = re.compile(r"session|redact|finding|leak|canar")


class Quarantined(NamedTuple):
    """A line of the list."""

    test: str
    since: datetime.date
    cause: str


def quarantined(text: str) -> list[Quarantined]:
    """The list's lines, without comments.

    Raises:
        ValueError: a line lacks its date or cause.
    """
    lines = (line.split(None, 2) for line in text.splitlines() if line.strip() and not line.startswith("#"))
    return [Quarantined(test, datetime.date.fromisoformat(since), cause) for test, since, cause in lines]


def problems(listed: list[Quarantined], today: datetime.date) -> list[str]:
    """What is wrong with the list."""
    found = [f"{len(listed)} tests, at most {MOST}"] * (len(listed) > MOST)
    for test, since, _ in listed:
        file, _, name = test.partition("::")
        function = name.partition("[")[0].rpartition("::")[2]
        path = ROOT / file
        if not path.is_file() or not re.search(rf"def {function}\(", path.read_text()):
            found.append(f"{test}: no such test")
        if (today - since).days > MOST_DAYS:
            found.append(f"{test}: since {since}, at most {MOST_DAYS} days")
        if NEVER.search(test):
            found.append(f"{test}: such tests are never quarantined")
    return found
