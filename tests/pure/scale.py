"""Some tests have a long form, marked so: `make test-long` runs these with the longer of their two figures."""

from __future__ import annotations

import os

LONG = os.environ.get("TEST_LONG_FORMS") == "1"


def scaled(short: float, long: float) -> float:
    """The figure for this run."""
    return long if LONG else short
