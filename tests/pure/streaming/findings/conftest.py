"""A fleet, or an engine alone, for each test of findings."""

from __future__ import annotations

import pytest
from fleets import Fleet, new_engine

from streaming.findings.engine import FindingsEngine


@pytest.fixture
def fleet() -> Fleet:
    return Fleet()


@pytest.fixture
def engine() -> FindingsEngine:
    """One without a clock, which has found nothing."""
    return new_engine()
