"""Table of checkpoints: how far each query has read, and the versions that wrote that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

from rich.table import Table
from rich.text import Text

from clientscope.clock import utc
from clientscope.report import text
from clientscope.report.text import plain
from streaming.checkpoints.job_records import JobState, by_partition
from streaming.checkpoints.plans import PLANS
from streaming.checkpoints.topics_now import Extents


@dataclass(frozen=True)
class CheckpointLine:
    """A partition that a query reads, or a query that has never run; None is what isn't known."""

    query: str
    checkpoint: str | None
    topic: str
    partition: int | None
    offset: int | None
    behind: int | None
    lost: int | None
    began: str | None
    written_by: str | None
    written_at: str | None


FIELDS = tuple(field.name for field in fields(CheckpointLine))


def rows(state: JobState, extents: Extents) -> Iterator[CheckpointLine]:
    """A line for each partition of each query, or for a query that has never run.

    Args:
        extents: what topics hold.
    """
    for query, plan in PLANS.items():
        start, progress = state.starts.get(query), state.progress.get(query)
        if start is None:
            yield CheckpointLine(query, None, " ".join(plan.topics), None, None, None, None, None, None, None)
            continue
        if progress is not None and progress.checkpoint != start.checkpoint:
            progress = None
        position = state.position(query)
        lost = by_partition(start.lost)
        for place in sorted(place for place in extents if place.topic in plan.topics):
            offset = max(position.get(place, 0), extents[place].first)
            yield CheckpointLine(
                query=query,
                checkpoint=start.checkpoint,
                topic=place.topic,
                partition=place.partition,
                offset=offset,
                behind=max(0, extents[place].end - offset),
                lost=lost.get(place, 0),
                began=start.reason,
                written_by=None if progress is None else f"clientscope {progress.clientscope_version}, Spark {progress.spark_version}",
                written_at=utc(progress.at_ms if progress else start.at_ms),
            )


_NARROWEST = {"TOPIC": 15, "BEGAN BECAUSE": 14, "WRITTEN BY": 12, "WHEN": 10}
"""Columns that take several lines, and how few characters each of them may have."""


def table(found: Sequence[CheckpointLine], *, wide: bool = False) -> Table:
    """A row for each partition; the first row of a query also has what its partitions share.

    Args:
        wide: that is in each row, and who wrote it and when besides.
    """
    headings = ("QUERY", "TOPIC", "OFFSET", "BEHIND", "BEGAN BECAUSE", *(("WRITTEN BY", "WHEN") if wide else ()))
    view = text.table(headings, folds=_NARROWEST, right=("OFFSET", "BEHIND"))
    for column in view.columns:
        column.min_width = _NARROWEST.get(str(column.header))
    before = ""
    for row in found:
        place = plain(row.topic if row.partition is None else f"{row.topic}/{row.partition}")
        where: list[Text | str] = [place, _number(row.offset), _number(row.behind)]
        if row.query == before and not wide:
            view.add_row("", *where, "")
            continue
        before = row.query
        written = (row.written_by, row.written_at) if wide else ()
        texts = (plain(each) if each else "–" for each in (row.began or "it has never run", *written))
        view.add_row(row.query, *where, *texts)
    return view


def _number(found: int | None) -> str:
    return "–" if found is None else f"{found:,}"
