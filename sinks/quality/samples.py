"""Samples of the rows that are new in history's tables, as numbers; a few rows and the columns that are needed are in memory at a time.

A commit of a Delta table is a file of its version's number with an action a line (Delta's protocol, "Delta Log Entries"), and the job's
batches are its ``WRITE`` operations. Files that maintenance and erasure rewrite hold no new rows."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
from deltalake.exceptions import TableNotFoundError
from pyarrow import parquet
from pyarrow.fs import FileSelector, FileSystem

from sinks.history.tables import files
from udfs.kernels import sample_facts

_OPERATION = "WRITE"


def next_version(table: str) -> int:
    """The number of the version that will be committed next; 0 where there is no table yet."""
    try:
        # By the files' names: a damaged table, which delta-rs can't open, must not keep the job from starting.
        log = files(table).get_file_info(FileSelector("_delta_log", allow_not_found=True))
    except TableNotFoundError:
        return 0
    numbers = (each.base_name.removesuffix(".json") for each in log)
    return max((int(number) for number in numbers if number.isdecimal()), default=-1) + 1


def since(table: str, version: int) -> tuple[list[str], int]:
    """What has been committed from a version on: the files that the job has appended, below the table's folder, the newest last; and the
    version to look for next.
    """
    found: list[str] = []
    with suppress(TableNotFoundError, FileNotFoundError):
        below = files(table)
        while True:
            with below.open_input_stream(f"_delta_log/{version:020}.json") as log:
                actions = [json.loads(line) for line in log.read().splitlines() if line]
            if any(action.get("commitInfo", {}).get("operation") == _OPERATION for action in actions):
                found += [unquote(action["add"]["path"]) for action in actions if "add" in action]
            version += 1
    return found, version


ROWS_AT_ONCE = 512
"""A row may have the 64 KiB of a push, and more."""

_BUFFER_BYTES = 256 * 1024


@dataclass(frozen=True)
class Sample:
    """Some rows of a table's new files.

    Attributes:
        facts: of the sample, as `udfs.kernels.sample_facts.of_rows` makes them.
        rows: of all the files.
        newest_ms: the latest of Kafka's times in the files that were read.
    """

    facts: pa.Table
    rows: int
    newest_ms: int


def sample(topic: str, folder: str, names: Sequence[str], most_read: int, most_rows: int, chance: np.random.Generator) -> Sample | None:
    """About ``most_rows`` rows by chance, of the newest files; None where there are no rows.

    A file that is gone was rewritten meanwhile, and is passed over.

    Args:
        folder: of the table.
        names: of its new files, the newest last.
        most_read: rows beyond which older files aren't read.
        most_rows: of the sample.
    """
    chosen, rows, read = [], 0, 0
    if not names:
        return None
    below = files(folder)
    for path in reversed(names):
        with suppress(FileNotFoundError), _opened(below, path) as file:
            rows += file.metadata.num_rows
            if read < most_read:
                read += file.metadata.num_rows
                chosen.append(path)
    share = min(1.0, most_rows / max(1, read))
    facts, newest_ms = [], 0
    for path in reversed(chosen):
        with suppress(FileNotFoundError), _opened(below, path) as file:
            for batch in _batches(file, topic):
                newest_ms = max(newest_ms, sample_facts.appended_ms(batch).to_numpy().max().item())
                some = batch if share == 1 else batch.filter(pa.array(chance.random(len(batch)) < share))
                facts.append(sample_facts.of_rows(topic, some))
    found = pa.concat_tables(facts).slice(0, most_rows) if facts else None
    return None if not found else Sample(found, rows, newest_ms)


def _opened(below: FileSystem, path: str) -> parquet.ParquetFile:
    return parquet.ParquetFile(below.open_input_file(path), buffer_size=_BUFFER_BYTES, pre_buffer=False)


def _batches(file: parquet.ParquetFile, topic: str) -> Iterator[pa.Table]:
    columns, of_list = sample_facts.COLUMNS[topic]
    wanted = columns | {*sample_facts.PLACE, "timestamp"}
    paths = [file.schema.column(number).path for number in range(len(file.schema))]
    needed = [path for path in paths if (parts := path.split("."))[0] in wanted and (len(parts) == 1 or parts[-1] in of_list)]
    for batch in file.iter_batches(ROWS_AT_ONCE, columns=needed, use_threads=False):
        yield pa.Table.from_batches([batch])


_HOUR_MS = 3_600_000
_KNOWN_AFTER_MS = 600_000
_AS_GOOD_AS_NONE = 100.0
"""Records a minute that are added to both sides: below that, a few clients more or less are many times as many."""


class LastHour:
    """Remembers the batches of one topic's last hour, by Kafka's clock, so that catching up with a backlog doesn't change its rate."""

    def __init__(self) -> None:
        self._batches: deque[tuple[int, int, int]] = deque()  # from, until, records
        self._newest_ms: int | None = None

    def ratio(self, newest_ms: int, records: int) -> float | None:
        """Takes in a batch.

        Args:
            newest_ms: the latest of its records' timestamps, Kafka's.

        Returns:
            its records per minute divided by the last hour's; None before ten minutes are known.
        """
        since, self._newest_ms = self._newest_ms, max(newest_ms, self._newest_ms or newest_ms)
        if since is None or newest_ms <= since:
            return None
        while self._batches and self._batches[0][0] < newest_ms - _HOUR_MS:
            self._batches.popleft()
        known_ms = sum(until - begun for begun, until, _ in self._batches)
        before = sum(number for *_, number in self._batches)
        self._batches.append((since, newest_ms, records))
        if known_ms < _KNOWN_AFTER_MS:
            return None
        now = _per_minute(records, newest_ms - since)
        return (now + _AS_GOOD_AS_NONE) / (_per_minute(before, known_ms) + _AS_GOOD_AS_NONE)


def _per_minute(records: int, span_ms: int) -> float:
    # A batch of a moment says little of a minute.
    return records * 60_000 / max(span_ms, 1_000)
