"""When a failing expectation is a finding."""

from __future__ import annotations

import pytest

from sinks.quality.verdicts import OF, ExpectationVerdict


@pytest.mark.parametrize("every", [1, 2, 3, 4, 5, 7, 9])
def test_what_fails_now_and_then_never_flaps(every: int) -> None:
    verdict = ExpectationVerdict()
    changes = sum(verdict.take(number % every == 0) for number in range(500))
    assert changes <= 1
    assert verdict.failing is (True if every < OF else None)
