"""Facts of rows in history, as numbers."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
from every import every
from record_bytes import binaries, config_record, connection_record, heartbeat, setting

from clientscope.records.enums import ValueState
from clientscope.records.topics import CONFIGS, CONNECTIONS
from udfs.decode import decode_connections, decode_pushes
from udfs.kernels import sample_facts


def facts(topic: str, *values: bytes) -> pa.Table:
    """Of these records, appended a second after 1970 began."""
    rows = (decode_pushes if topic == CONFIGS else decode_connections)(binaries(*values))
    columns, fields = sample_facts.COLUMNS[topic]
    times = pa.array([datetime.fromtimestamp(1.0005, UTC)] * len(values), pa.timestamp("us", tz="UTC"))
    place = {"partition": pa.array([0] * len(values), pa.int32()), "offset": pa.array(range(len(values)), pa.int64()), "timestamp": times}
    narrow = {name: _of(rows.field(name), fields) for name in sorted(columns)}
    return sample_facts.of_rows(topic, pa.table(place | narrow))


def _of(column: pa.Array, fields: frozenset[str]) -> pa.Array:
    """What is read of a column: of a list only the fields that are needed."""
    if not pa.types.is_list(column.type):
        return column
    items = column.flatten()
    few = pa.StructArray.from_arrays([items.field(name) for name in sorted(fields)], sorted(fields))
    return pa.ListArray.from_arrays(column.offsets, few)


def test_they_are_numbers_and_count_what_they_say() -> None:
    redacted = setting("s", None, state=ValueState.KEY_PREFIX, length=9, digest=b"d" * 32)
    settings = [setting("acks", "all"), setting("k" * 99, "four"), redacted]
    found = facts(CONFIGS, config_record(*settings), config_record())
    assert all(pa.types.is_integer(field.type) for field in every(found.schema))
    first, second = found.drop_columns(["told_ms"]).to_pylist()
    place = {"partition": 0, "appended_ms": 1000}
    assert first == place | {"offset": 0, "settings": 3, "longest_key": 99, "unkeyed_digests": 1}
    assert second == place | {"offset": 1, "settings": 0, "longest_key": 0, "unkeyed_digests": 0}


def test_gateways_are_distinguished_and_recognised() -> None:
    places = [("c", "g"), ("c", "h"), ("d", "g"), ("c", "g")]
    found = facts(CONNECTIONS, *(connection_record(number, cluster_id=c, gateway_id=g) for number, (c, g) in enumerate(places)))
    assert all(pa.types.is_integer(field.type) for field in every(found.schema))
    numbers = np.array(found["gateway"])
    assert numbers[0] == numbers[3]
    assert len(set(numbers)) == 3
    assert (numbers < 2**48).all()


def test_open_is_opened_less_closed() -> None:
    values = [connection_record(0, [("java", "4", 2, 1, 0), ("java", "3", 1, 1, 0)]), heartbeat(1), connection_record(2)]
    assert facts(CONNECTIONS, *values)["unbalanced_counts"].to_pylist() == [1, 0, 0]


def test_no_rows_have_no_facts() -> None:
    assert facts(CONFIGS).num_rows == facts(CONNECTIONS).num_rows == 0
