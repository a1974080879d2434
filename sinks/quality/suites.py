"""Expectations of each topic's decoded rows, as data: the row checks, and expectations about several rows."""

from __future__ import annotations

from dataclasses import dataclass

from clientscope.records.topics import CONFIGS, CONNECTIONS
from udfs.kernels.expectations import OF_CONNECTIONS, OF_PUSHES, Expected

CLOCK = "clock_ms"
"""The record's own time less Kafka's."""

RATE = "rate_ratio"
"""Records per minute against those of the last hour (`sinks.quality.rates`), the same in every row; null while it is unknown."""

_HOUR_MS, _MINUTE_MS = 3_600_000, 60_000


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
        row_checks: those that every row is held against before it is kept.
        of_samples: the others.
    """

    topic: str
    table: str
    row_checks: tuple[Expected, ...]
    of_samples: tuple[Expected | Unique, ...]

    @property
    def expectations(self) -> tuple[Expected | Unique, ...]:
        return (*self.row_checks, *self.of_samples)


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
        OF_PUSHES,
        (
            *_COMMON,
            Expected("settings_as_many_as_usual", "settings", "a push has 1 to 1,000 settings", 1, 1_000, 0.05),
            Expected("keys_as_short_as_usual", "longest_key", "a setting's name has at most 1,024 bytes", 0, 1_024, 0.05),
            Expected("value_lengths_true", "wrong_value_lengths", "each value is as long as its record says", 0, 0),
            Expected("digests_have_a_key_id", "unkeyed_digests", "no digest is without the id of its key", 0, 0),
        ),
    ),
    CONNECTIONS: Suite(
        CONNECTIONS,
        "connections",
        OF_CONNECTIONS,
        (
            *_COMMON,
            # A producer that tries again may write a record twice.
            Unique("sequences_once", ("gateway", "gateway_epoch", "sequence"), "no gateway uses a number twice in one epoch", 0.01),
            Expected("counts_add_up", "unbalanced_counts", "connections that are open are those opened less those closed", 0, 0),
        ),
    ),
}
