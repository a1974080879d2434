"""Records that queries still have to read before given offsets, by their checkpoints; without Spark.

Erasing from history waits for that: a query that is behind would bring the rows back.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from clientscope.stores.store_path import AnyPath
from streaming.checkpoints import lock, start_file
from streaming.checkpoints.offsets import EARLIEST, Extent
from streaming.checkpoints.plans import PLANS, folder
from streaming.internals import spark_files

_LOOK_S = 1.0
_PATIENCE_S = 600.0
"""Without progress: a batch of history may wait so long for its turn."""


def has_begun(checkpoint_dir: AnyPath, query: str) -> bool:
    """Whether a query has a checkpoint there, or is to begin at a place that a reset chose."""
    checkpoint = folder(checkpoint_dir, query)
    return spark_files.begun(checkpoint) or (checkpoint / start_file.FILE).exists()


def unread(checkpoint_dir: AnyPath, query: str, extents: Mapping[int, Extent]) -> int:
    """Records that a query hasn't finished with; those that compaction has removed count too.

    Args:
        extents: of the partitions of its topic.

    Raises:
        Refused: its start file is damaged.
    """
    topic, checkpoint = PLANS[query].topic, folder(checkpoint_dir, query)
    files = spark_files.read(checkpoint)
    start = None if files.position else start_file.read(checkpoint)
    at = (files.position or (start.offsets if start else None) or {}).get(topic, {})
    return sum(max(0, extent.end - max(extent.begin, at.get(number, EARLIEST))) for number, extent in extents.items())


def await_read(
    checkpoint_dir: AnyPath,
    extents: Mapping[str, Mapping[int, Extent]],
    waits: Callable[[str], None],
    patience_s: float = _PATIENCE_S,
) -> str:
    """Waits until queries have read to the ends of these and have written what came of it.

    Args:
        extents: query → partition → what it held.
        waits: called with what it waits for, at first and then when that has become less.

    Returns:
        What isn't read and will not be, in words; empty where all is.  That is so at once where no job runs.
    """
    best: int | None = None
    deadline = 0.0
    while True:
        left = {query: number for query, of_query in extents.items() if (number := unread(checkpoint_dir, query, of_query))}
        if not left:
            return ""
        behind = " and ".join(f"{query} has {number} record{'s' * (number != 1)} still to read" for query, number in left.items())
        if not lock.holder(checkpoint_dir):
            return f"{behind}, and no job runs"
        now, total = time.monotonic(), sum(left.values())
        if best is None or total < best:
            best, deadline = total, now + patience_s
            waits(behind)
        elif now > deadline:
            return f"{behind}, and has read nothing for {patience_s:.0f} s"
        time.sleep(_LOOK_S)
