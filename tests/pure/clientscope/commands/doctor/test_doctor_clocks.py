"""Clocks by the time of records."""

from __future__ import annotations

import pytest

from clientscope.commands.doctor.clocks import bounded, judge
from clientscope.commands.doctor.result import Outcome


@pytest.mark.parametrize(
    ("ahead_ms", "outcome", "words"),
    [
        (80, Outcome.OK, "0.1 s ahead of"),
        (-400, Outcome.OK, "0.4 s behind"),
        (2_500, Outcome.WARNING, "2.5 s ahead of"),
        (-60_000, Outcome.PROBLEM, "60.0 s behind"),
    ],
)
def test_a_record_that_arrives(ahead_ms: int, outcome: Outcome, words: str) -> None:
    found = judge(ahead_ms)
    assert found.outcome is outcome and words in found.text
    assert bool(found.command) == (outcome is not Outcome.OK)


def test_the_newest_record_is_a_bound() -> None:
    assert bounded(-5_000).outcome is Outcome.PROBLEM and "at least 5.0 s behind" in bounded(-5_000).text
    for age in (None, 3_600_000, -500):
        assert bounded(age).outcome is Outcome.NOT_CHECKED
