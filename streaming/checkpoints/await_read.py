"""Waiting until queries have read what is on their topics, by what the job writes of their progress."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from streaming.checkpoints.job_records import JobState
from streaming.checkpoints.offsets import Extent

_LOOK_S = 1.0
_PATIENCE_S = 600.0
"""Without progress: a batch of history may wait so long for its turn."""


def await_read(
    look: Callable[[], JobState],
    extents: Mapping[str, Mapping[int, Extent]],
    waits: Callable[[str], None],
    patience_s: float = _PATIENCE_S,
) -> str:
    """Waits until queries have read to the ends of these and have written what came of it.

    Args:
        look: reads the job's topic.
        extents: query → partition → what it held.
        waits: called with what it waits for, at first and then when that has become less.

    Returns:
        What isn't read and will not be, in words; empty where all is.  That is so at once where no job runs.
    """
    best: int | None = None
    deadline = 0.0
    while True:
        state = look()
        unread = {query: _unread(state.position(query), of_query) for query, of_query in extents.items()}
        left = {query: number for query, number in unread.items() if number}
        if not left:
            return ""
        behind = " and ".join(f"{query} has {number} record{'s' * (number != 1)} still to read" for query, number in left.items())
        if state.owner is None or not state.owner.running:
            return f"{behind}, and no job runs"
        now, total = time.monotonic(), sum(left.values())
        if best is None or total < best:
            best, deadline = total, now + patience_s
            waits(behind)
        elif now > deadline:
            return f"{behind}, and has read nothing for {patience_s:.0f} s"
        time.sleep(_LOOK_S)


def _unread(position: Mapping[int, int], extents: Mapping[int, Extent]) -> int:
    """Records that a query hasn't finished with; those that compaction has removed count too."""
    return sum(max(0, extent.end - max(extent.begin, position.get(number, 0))) for number, extent in extents.items())
