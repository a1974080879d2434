"""Samples of the rows in new files of history, as numbers; a few rows are in memory at a time, and only the columns that are needed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyarrow import parquet
from pyarrow.fs import FileSystem

from sinks.history.tables import files
from udfs.kernels import sample_facts

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
