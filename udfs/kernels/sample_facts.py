"""Facts that samples of history are held against, as numbers: what only a look at several rows, or at a clock, can judge.

What a single row decides was judged before the row was kept, by its record's class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from hashlib import blake2b

import pyarrow as pa

from clientscope.model.topics import CONFIGS, CONNECTIONS

Facts = dict[str, pa.Array]

PLACE = ("partition", "offset")
"""Columns that are a record's place in its topic; each sample has them."""

_PUSHES = ("received_ms", "digest_key_id", "configs")
_SETTINGS = ("config_key", "value_digest")
_CONNECTIONS = ("timestamp_ms", "cluster", "gateway", "epoch", "sequence", "counts")
_COUNTS = ("connections", "opened", "closed")

COLUMNS = {CONFIGS: (frozenset(_PUSHES), frozenset(_SETTINGS)), CONNECTIONS: (frozenset(_CONNECTIONS), frozenset(_COUNTS))}
"""By topic: the columns that its facts are made of, and the fields that are needed of the one that is a list."""


def of_pushes(rows: pa.Table) -> Facts:
    """Facts of rows of clientscope.configs.

    ``told_ms`` is the record's own time; ``longest_key`` is in bytes; the others count settings.
    """
    configs, key_ids = rows.column("configs").to_pylist(), rows.column("digest_key_id").to_pylist()
    return {
        "told_ms": rows.column("received_ms"),
        "settings": _numbers(len(each) for each in configs),
        "longest_key": _numbers(max((len(one["config_key"].encode()) for one in each), default=0) for each in configs),
        "unkeyed_digests": _numbers(
            sum(key_id is None and one["value_digest"] is not None for one in each) for each, key_id in zip(configs, key_ids, strict=True)
        ),
    }


def of_connections(rows: pa.Table) -> Facts:
    """Facts of rows of clientscope.connections.

    ``gateway`` is a number for the gateway's name and cluster; unbalanced: open isn't opened less closed.
    """
    names = zip(rows.column("cluster").to_pylist(), rows.column("gateway").to_pylist(), strict=True)
    return {
        "told_ms": rows.column("timestamp_ms"),
        "gateway": _numbers(_numbered(*each) for each in names),
        "epoch": rows.column("epoch"),
        "sequence": rows.column("sequence"),
        "unbalanced_counts": _numbers(
            sum(one["connections"] != one["opened"] - one["closed"] for one in each) for each in rows.column("counts").to_pylist()
        ),
    }


OF_TOPIC: dict[str, Callable[[pa.Table], Facts]] = {CONFIGS: of_pushes, CONNECTIONS: of_connections}
"""What makes the facts of a table's rows, by the topic that the table is of."""


def of_rows(topic: str, rows: pa.Table) -> pa.Table:
    """Places, times and facts of a topic's rows in history: numbers, and no string, so no secret and nothing that a client chose.

    ``appended_ms`` is Kafka's time of the record.
    """
    return pa.table({name: rows.column(name) for name in PLACE} | {"appended_ms": appended_ms(rows)} | OF_TOPIC[topic](rows))


def appended_ms(rows: pa.Table) -> pa.ChunkedArray:
    """Kafka's times of the records, in ms since the epoch."""
    return rows.column("timestamp").cast(pa.timestamp("ms", tz="UTC"), safe=False).cast(pa.int64())


def _numbers(values: Iterable[int]) -> pa.Array:
    return pa.array(values, pa.int64())


@lru_cache(maxsize=1_000)
def _numbered(cluster: str, gateway: str) -> int:
    """48 bits, the same wherever the names are; two share a number as good as never."""
    return int.from_bytes(blake2b(f"{cluster}\n{gateway}".encode(), digest_size=6).digest(), "big")
