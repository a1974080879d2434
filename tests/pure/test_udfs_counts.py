"""Entries of connection records."""

from __future__ import annotations

import pyarrow as pa
from record_bytes import connection_record, heartbeat

from udfs.counts import TYPE, counts


def test_an_entry_per_count_and_one_per_heartbeat() -> None:
    values = pa.array(
        [
            connection_record(0, [("java", "4.4.0", 2, 3, 1)]),
            b"junk",
            connection_record(1),
            heartbeat(2, [("java", "4.4.0", 2, 3, 1), ("go", "1", 0, 1, 1)]),
            heartbeat(3),
        ],
        pa.binary(),
    )
    got = counts(values)
    assert got.type == TYPE
    rows = got.to_pylist()
    assert [[entry["software_name"] for entry in row] for row in rows] == [["java"], [], [], ["java", "go", None], [None]]
    assert rows[0][0] == {
        "cluster": "c", "broker": 1, "gateway": "g", "listener": "CLIENT", "software_name": "java", "software_version": "4.4.0",
        "epoch": 1, "sequence": 0, "timestamp_ms": 1000, "connections": 2, "opened": 3, "closed": 1,
        "heartbeat_interval_ms": 0, "heartbeat_part": 0,
    }  # fmt: skip
    assert (rows[3][2]["sequence"], rows[3][2]["heartbeat_interval_ms"], rows[3][2]["listener"]) == (2, 5000, None)


def test_nothing() -> None:
    assert counts(pa.array([], pa.binary())).to_pylist() == []
