"""A fleet for each test of findings."""

from __future__ import annotations

import pytest
from fleets import Fleet


@pytest.fixture
def fleet() -> Fleet:
    return Fleet()
