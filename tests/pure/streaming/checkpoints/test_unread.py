"""Records that a query still has to read, and how long a caller waits for them."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_checkpoints import made

from clientscope.records.topics import CONFIGS
from streaming.checkpoints import start_file
from streaming.checkpoints.lock import locked
from streaming.checkpoints.offsets import Extent
from streaming.checkpoints.plans import folder
from streaming.checkpoints.start_file import StartOffsets
from streaming.checkpoints.unread import await_read, has_begun, unread

QUERY = "history_pushes"


def test_what_is_unread_ends_where_the_last_finished_batch_does(tmp_path: Path) -> None:
    assert not has_begun(tmp_path, QUERY)
    made(folder(tmp_path, QUERY), QUERY, committed=4, planned=5)
    assert has_begun(tmp_path, QUERY)
    assert unread(tmp_path, QUERY, {0: Extent(0, 50)}) == 0
    assert unread(tmp_path, QUERY, {0: Extent(0, 57)}) == 7, "batch 5 is planned to 60, and not done"
    assert unread(tmp_path, QUERY, {0: Extent(0, 50), 1: Extent(0, 3)}) == 3, "a partition that is new"
    assert unread(tmp_path, QUERY, {0: Extent(54, 57)}) == 3, "what is gone isn't read"


@pytest.mark.parametrize(("offsets", "left"), [({CONFIGS: {0: 40}}, 10), ({CONFIGS: {0: -2}}, 50), (None, 50)])
def test_a_query_that_was_reset_reads_from_there_again(tmp_path: Path, offsets: dict[str, dict[int, int]] | None, left: int) -> None:
    start_file.write(folder(tmp_path, QUERY), StartOffsets(offsets=offsets, position={}, written_at="2026-11-23T12:00:00+00:00"))
    assert has_begun(tmp_path, QUERY)
    assert unread(tmp_path, QUERY, {0: Extent(0, 50)}) == left


def test_nobody_waits_for_a_job_that_does_not_run_or_does_not_read(tmp_path: Path) -> None:
    made(folder(tmp_path, QUERY), QUERY, committed=4)
    waited: list[str] = []
    assert await_read(tmp_path, {QUERY: {0: Extent(0, 50)}}, waited.append) == ""
    assert await_read(tmp_path, {QUERY: {0: Extent(0, 51)}}, waited.append) == f"{QUERY} has 1 record still to read, and no job runs"
    assert waited == []
    with locked(tmp_path, "clientscope stream"):
        left = await_read(tmp_path, {QUERY: {0: Extent(0, 53)}}, waited.append, patience_s=0.5)
    assert left == f"{QUERY} has 3 records still to read, and has read nothing for 0 s"
    assert waited == [f"{QUERY} has 3 records still to read"]
