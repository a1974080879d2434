"""What tests share, and so run in one process for."""

from __future__ import annotations

from pathlib import Path

JOURNEY = ("test_path", "test_five_questions", "test_http_listeners", "test_findings", "test_hostile_identities")
"""Files of tests/real whose tests share one installation."""


def group_of(nodeid: str) -> str:
    """A file, the files of `JOURNEY`, or all of tests/spark, which has one session."""
    path = Path(nodeid.partition("::")[0])
    if path.parent.name == "spark":
        return "spark"
    return "journey" if path.parent.name == "real" and path.stem in JOURNEY else str(path)
