"""Request logs of real brokers (`tools/request_logs.py`), by their release."""

from __future__ import annotations

from places import TESTS

from clientscope.logs import files

LOGS = TESTS / "fixtures" / "request_logs"
RELEASES = ("broker-2.4", "broker-2.7", "broker-2.8", "broker-3.9", "broker")


def lines_of(release: str, *texts: str) -> list[str]:
    """The lines of a log that have all of these texts."""
    return [line for line in files.lines(LOGS / f"{release}.log") if all(text in line for text in texts)]
