"""Continuing without lost records: a new checkpoint, which begins where the topic now begins, replaces the old one.

Spark's own ``failOnDataLoss=false`` would continue by itself, and say neither which records were lost nor that any were.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from clientscope.stores import trees
from clientscope.stores.store_path import AnyPath
from streaming.checkpoints import delta, manifest, start_file
from streaming.checkpoints.manifest import Manifest
from streaming.checkpoints.offsets import EARLIEST, Extent, Offsets
from streaming.checkpoints.plans import PLANS
from streaming.checkpoints.start_file import StartOffsets
from streaming.internals.spark_files import SparkFiles

Ranges = dict[str, dict[str, list[tuple[int, int]]]]
"""Topic → partition → the ranges [from, to) that were skipped, as a manifest has them."""

_KEPT = "clientscope-kept"
"""File in the new checkpoint, where a store can't rename: the old one was copied as a whole."""

MOST_RANGES = 1000
"""Lost ranges kept of a partition: retention that overtakes a query again and again must not make its manifest grow without end."""


def position_of(query: str, files: SparkFiles, history_dir: AnyPath) -> Offsets:
    """From where a query's records are not in its sink: a batch that its table holds is done, though it wasn't committed."""
    table = PLANS[query].table
    if table and files.planned is not None and delta.last_batch(history_dir / table, files.query_id) == files.planned:
        return files.planned_to
    return files.position


def start_after(query: str, position: Offsets, extents: Mapping[int, Extent], before: Manifest | None) -> StartOffsets:
    """Where it begins without what is gone."""
    topic = PLANS[query].topic
    at = position.get(topic, {})
    begin = {number: max(at.get(number, 0), extent.begin) for number, extent in extents.items()}
    return StartOffsets(
        offsets={topic: begin},
        position={each: dict(found) for each, found in position.items()} | {topic: {number: at.get(number, 0) for number in extents}},
        written_at=datetime.now(UTC).isoformat(timespec="seconds"),
        lost=before.lost if before else {},
    )


def still_there(query: str, start: StartOffsets, extents: Mapping[int, Extent]) -> StartOffsets:
    """The same, after the topic's first records have gone meanwhile."""
    topic = PLANS[query].topic
    given = (start.offsets or {}).get(topic, {})
    later = {number: max(offset, extents[number].begin) if offset != EARLIEST else offset for number, offset in given.items()}
    return start.model_copy(update={"offsets": start.offsets and {topic: later}})


def replace(checkpoint: AnyPath, start: StartOffsets, written: Manifest) -> None:
    """Puts the new checkpoint in the old one's place, which is kept until the next time; a crash leaves one of the two.

    The caller must hold the directory's lock, and the query must not run.
    """
    beside = _beside(checkpoint)
    trees.remove(beside)
    start_file.write(beside, start)
    manifest.write(beside, written)
    kept = checkpoint.with_name(f"{checkpoint.name}.skipped")
    trees.remove(kept)
    if trees.renames(checkpoint):
        trees.move(checkpoint, kept)
    else:
        trees.copy(checkpoint, kept)
        trees.write_atomically(beside / _KEPT, "kept\n")  # from here on the old one only goes
    complete(checkpoint)


def complete(checkpoint: AnyPath) -> None:
    """Finishes a `replace` that was cut off after it had kept the old checkpoint; does nothing otherwise."""
    beside = _beside(checkpoint)
    if not trees.renames(checkpoint) and (beside / _KEPT).exists():
        trees.remove(checkpoint)
        trees.copy(beside, checkpoint, lambda name: name == _KEPT)
        (beside / _KEPT).unlink()
        trees.remove(beside)
    elif trees.renames(checkpoint) and beside.exists() and not checkpoint.exists():
        trees.move(beside, checkpoint)


def added(known: Ranges, ranges: Iterable[tuple[str, int, int, int]]) -> Ranges:
    """Ranges (topic, partition, from, to) added to those that are known.

    Beyond `MOST_RANGES` of a partition the two oldest become one of as many records, which ends where the second does.
    """
    found: Ranges = {topic: {number: list(each) for number, each in partitions.items()} for topic, partitions in known.items()}
    for topic, number, begin, end in ranges:
        of_partition = found.setdefault(topic, {}).setdefault(str(number), [])
        if (begin, end) not in of_partition:
            of_partition.append((begin, end))
        while len(of_partition) > MOST_RANGES:
            (first, first_end), (second, second_end) = of_partition[:2]
            of_partition[:2] = [(second - (first_end - first), second_end)]
    return found


def _beside(checkpoint: AnyPath) -> AnyPath:
    return checkpoint.with_name(f"{checkpoint.name}.next")
