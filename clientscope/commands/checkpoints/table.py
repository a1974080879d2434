"""Table of checkpoints: the progress of each query, and the version that wrote its checkpoint."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

from rich.table import Table

from clientscope.report.text import plain
from clientscope.stores.store_path import AnyPath
from clientscope.stores.trees import size_bytes
from streaming.checkpoints import manifest, start_file
from streaming.checkpoints.manifest import Refused
from streaming.checkpoints.offsets import Extents
from streaming.checkpoints.plans import PLANS, folder
from streaming.internals import spark_files


@dataclass(frozen=True)
class CheckpointLine:
    """A partition that a query reads, or a query that has read nothing; None is what isn't known."""

    query: str
    version: str
    batch: int | None
    damaged: bool
    topic: str
    partition: int | None
    offset: int | None
    behind: int | None
    begins: str | None
    size_bytes: int | None
    written_by: str
    written_at: str


FIELDS = tuple(field.name for field in fields(CheckpointLine))


def rows(checkpoint_dir: AnyPath, extents: Extents) -> Iterator[CheckpointLine]:
    """A line for each partition of each query, or for a query that has read nothing.

    Args:
        extents: what topics hold, to show how far behind a query is; empty if no broker was asked.
    """
    for query, plan in PLANS.items():
        checkpoint = folder(checkpoint_dir, query)
        files = spark_files.read(checkpoint)
        written_by, when = _written_by(checkpoint)
        read = files.position.items()
        places: list[tuple[str, int | None, int | None]] = [(topic, *each) for topic, found in read for each in sorted(found.items())]
        for topic, number, offset in places or [(plan.topic, None, None)]:
            extent = extents.get(topic, {}).get(number) if number is not None else None
            yield CheckpointLine(
                query=query,
                version=plan.folder,
                batch=files.committed,
                damaged=bool(files.problems),
                topic=topic,
                partition=number,
                offset=offset,
                behind=None if extent is None or offset is None else max(0, extent.end - offset),
                begins=_begins(checkpoint) if number is None else None,
                size_bytes=size_bytes(checkpoint) if checkpoint.is_dir() else None,
                written_by=written_by,
                written_at=when,
            )


def table(found: Sequence[CheckpointLine], *, asked: bool, wide: bool = False) -> Table:
    """A row for each partition; the first row of a query also has what its partitions share.

    Args:
        asked: whether a broker was asked, so that it is known how far queries are behind.
    """
    view = Table(header_style="bold", box=None, pad_edge=False)
    headings = ["QUERY", "BATCH", "TOPIC", "OFFSET", *(["BEHIND"] if asked else []), "SIZE", "WRITTEN BY", "WHEN"]
    for heading in headings:
        right = heading in ("BATCH", "OFFSET", "BEHIND", "SIZE")
        narrowest = {"TOPIC": 15, "WRITTEN BY": 12, "WHEN": 10}.get(heading)
        fixed = right or heading == "QUERY"
        view.add_column(heading, overflow="fold", no_wrap=fixed, min_width=narrowest, justify="right" if right else "left")
    before = ""
    for row in found:
        known = row.partition is not None
        behind = [] if not asked else ["–" if row.behind is None else f"{row.behind:,}"]
        place = plain(f"{row.topic}/{row.partition}" if known else row.topic)
        where = [place, f"{row.offset:,}" if known else row.begins, *behind]
        if row.query == before and not wide:
            view.add_row("", "", *where, "", "", "")
            continue
        before = row.query
        batch = "damaged" if row.damaged else "–" if row.batch is None else str(row.batch)
        written = "–" if row.size_bytes is None else size(row.size_bytes)
        view.add_row(f"{row.query}/{row.version}", batch, *where, written, plain(row.written_by), plain(row.written_at))
    return view


def _written_by(checkpoint: AnyPath) -> tuple[str, str]:
    try:
        written = manifest.read(checkpoint)
    except Refused:
        return "damaged", "–"
    if written is None:
        return ("no manifest" if checkpoint.is_dir() else "–"), "–"
    return f"clientscope {written.clientscope_version}, Spark {written.spark_version}", written.written_at


def _begins(checkpoint: AnyPath) -> str:
    try:
        return "as reset" if start_file.read(checkpoint) else "–"
    except Refused:
        return "damaged"


def size(number: int) -> str:
    """Bytes with a unit."""
    for unit in ("B", "KiB", "MiB"):
        if number < 1024:
            return f"{number} {unit}"
        number //= 1024
    return f"{number} GiB"
