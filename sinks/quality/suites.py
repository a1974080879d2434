"""Expectations of each topic's decoded rows, as data: what only a look at several of them, or at a clock, can judge."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from clientscope.model.topics import CONFIGS, CONNECTIONS

CLOCK = "clock_ms"
"""The record's own time less Kafka's."""

RATE = "rate_ratio"
"""Records per minute against those of the last hour (`sinks.quality.validation`), the same in every row; null while it is unknown."""

VALID = "records_valid"
"""The expectation that every record of a batch was one by its topic's schema; what isn't is quarantined."""

_HOUR_MS, _MINUTE_MS = 3_600_000, 60_000


@dataclass(frozen=True)
class Expected:
    """What is expected of one fact. A null is as expected.

    Attributes:
        name: in metrics, findings and Data Docs; never used again for something else.
        fact: the fact's name (`udfs.kernels.sample_facts`).
        about: what it says, for a person.
        least, most: its bounds, both included; None where there is none.
        tolerated: the share of a sample's rows, 0 to 1, that may be otherwise without a word.
    """

    name: str
    fact: str
    about: str
    least: float | None = None
    most: float | None = None
    tolerated: float = 0.0


@dataclass(frozen=True)
class Unique:
    """No two rows have the same in all of these columns; the rest as in `Expected`."""

    name: str
    columns: tuple[str, ...]
    about: str
    tolerated: float = 0.0


@dataclass(frozen=True)
class Suite:
    """The expectations of one topic.

    Attributes:
        table: its rows, a folder of history.
    """

    topic: str
    table: str
    of_samples: tuple[Expected | Unique, ...]

    @property
    def abouts(self) -> dict[str, str]:
        """Every expectation's name → what it says."""
        return {VALID: "every record is one by its schema", **{each.name: each.about for each in self.of_samples}}


_COMMON = (
    Unique("places_once", ("partition", "offset"), "no record is twice in a batch"),
    Expected(
        "clock_near_kafkas", CLOCK, "its time is at most an hour before Kafka's, or five minutes after it", -_HOUR_MS, 5 * _MINUTE_MS, 0.1
    ),
    Expected("rate_as_in_the_last_hour", RATE, "records come a tenth to ten times as fast as in the last hour", 0.1, 10),
)

SUITES = {
    CONFIGS: Suite(
        CONFIGS,
        "pushes",
        (
            *_COMMON,
            Expected("settings_as_many_as_usual", "settings", "a push has 1 to 1,000 settings", 1, 1_000, 0.05),
            Expected("keys_as_short_as_usual", "longest_key", "a setting's name has at most 1,024 bytes", 0, 1_024, 0.05),
            Expected("digests_have_a_key_id", "unkeyed_digests", "no digest is without the id of its key", 0, 0),
        ),
    ),
    CONNECTIONS: Suite(
        CONNECTIONS,
        "connections",
        (
            *_COMMON,
            # A producer that tries again may write a record twice.
            Unique("sequences_once", ("gateway", "epoch", "sequence"), "no gateway uses a number twice in one epoch", 0.01),
            Expected("counts_add_up", "unbalanced_counts", "connections that are open are those opened less those closed", 0, 0),
        ),
    ),
}


FAILING = 2
"""So many validations that failed …"""

OF = 5
"""… of the last so many begin a finding."""

PASSED = 10
"""Passed validations in a row that end it: more than twice `OF`, so that an occasional failure doesn't flap."""


class ExpectationVerdict:
    """One expectation of one topic.

    Attributes:
        failing: whether it is a finding; None while unknown, as after a start.
    """

    def __init__(self) -> None:
        self.failing: bool | None = None
        self._failed: deque[bool] = deque(maxlen=PASSED)

    def take(self, failed: bool) -> bool:
        """Adds a validation's outcome; returns whether `failing` has changed."""
        self._failed.append(failed)
        before = self.failing
        if sum(list(self._failed)[-OF:]) >= FAILING:
            self.failing = True
        elif len(self._failed) == PASSED and not any(self._failed):
            self.failing = False
        return self.failing != before
