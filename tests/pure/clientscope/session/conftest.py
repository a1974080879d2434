"""A session for each test of what one does."""

from __future__ import annotations

import pytest

from clientscope.session.session import Session


@pytest.fixture
def session() -> Session:
    """Of a listener without SASL, whose gateway has a policy."""
    return Session()
