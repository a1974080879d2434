"""Start and size of a query's batches."""

from __future__ import annotations

from streaming.sources import LIVE, Pace


def test_what_somebody_waits_for_begins_at_once() -> None:
    assert LIVE.options() == {"maxOffsetsPerTrigger": "200000"}


def test_history_waits_for_a_full_batch_or_its_time() -> None:
    """As much as it takes at most is what it waits for, so a backlog is never read a batch an interval."""
    assert Pace(50_000, 1.5).options() == {
        "maxOffsetsPerTrigger": "50000",
        "minOffsetsPerTrigger": "50000",
        "maxTriggerDelay": "1500ms",
    }
