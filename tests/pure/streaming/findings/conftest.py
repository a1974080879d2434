"""A fleet, or an engine alone, for each test of findings."""

from __future__ import annotations

import pytest
from fleets import Fleet

from clientscope.findings.conditions import Conditions
from clientscope.profiles import Thresholds
from streaming.findings.engine import FindingsEngine
from streaming.findings.entry import Policy


@pytest.fixture
def fleet() -> Fleet:
    return Fleet()


@pytest.fixture
def engine() -> FindingsEngine:
    """One without a clock, which has found nothing."""
    return FindingsEngine({}, Policy(), Thresholds(), Conditions())
