"""Group protocol of a consumer: run by the group's members, or by the broker's coordinator (KIP-848)."""

from __future__ import annotations

from udfs.rules.engine.batch import Batch
from udfs.rules.engine.rule import Mask


def run_by_broker(batch: Batch) -> Mask:
    """Where ``group.protocol`` is ``consumer``: sessions, heartbeats and assignments are the broker's to set."""
    return batch.text("group.protocol").equals("consumer")
