"""Entries of connection records."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from record_bytes import binaries, connection_record, heartbeat

from udfs.arrays.streams import of_streams
from udfs.kernels.connection_counts import PLACED, TYPE, counts, newest, packed


def test_an_entry_per_count_and_one_per_heartbeat() -> None:
    values = binaries(
        connection_record(0, [("java", "4.4.0", 2, 3, 1)]),
        b"junk",
        connection_record(1),
        heartbeat(2, [("java", "4.4.0", 2, 3, 1), ("go", "1", 0, 1, 1)], gateway_host="edge-3", opened_connections=4, closed_connections=2),
        heartbeat(3),
    )
    got = counts(values)
    assert got.type == TYPE
    rows = got.to_pylist()
    assert [[entry["software_name"] for entry in row] for row in rows] == [["java"], [], [], ["java", "go", None], [None]]
    assert rows[0][0] == {
        "cluster": "c", "broker": 1, "gateway": "g", "listener": "CLIENT", "software_name": "java", "software_version": "4.4.0",
        "epoch": 1, "sequence": 0, "timestamp_ms": 1000, "connections": 2, "opened": 3, "closed": 1,
        "heartbeat_interval_ms": 0, "heartbeat_part": 0, "heartbeat_parts": 0, "client_instances": 0,
        "opened_connections": 0, "closed_connections": 0, "host": "",
    }  # fmt: skip
    beat = rows[3][2]
    assert (beat["sequence"], beat["heartbeat_interval_ms"], beat["listener"]) == (2, 5000, None)
    assert (beat["opened_connections"], beat["closed_connections"], beat["host"]) == (4, 2, "edge-3")


@settings(deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.integers(1, 2), st.integers(0, 9), st.sampled_from("abc"), st.sampled_from("gh")), max_size=30))
def test_the_newest_of_each_series_is_always_among_them(records: list[tuple[bool, int, int, str, str]]) -> None:
    """Against one record after the other."""
    values, truth = [], {}
    for beats, epoch, sequence, name, gateway in records:
        make = heartbeat if beats else connection_record
        values.append(make(sequence, [(name, "1", sequence, 0, 0)], gateway_epoch=epoch, gateway_id=gateway))
        key = (beats, name, gateway)
        truth[key] = max(truth.get(key, (0, 0)), (epoch, sequence))
    found = [entry for row in counts(binaries(*values)).to_pylist() for entry in row if entry["listener"]]
    got = {(e["heartbeat_parts"] > 0, e["software_name"], e["gateway"]): (e["epoch"], e["sequence"]) for e in found}
    assert got == truth
    assert len(found) == len(truth)
    # In parts, one record each, and then of all of them together.
    parts = [pa.Table.from_struct_array(counts(binaries(value)).flatten()) for value in values]
    table = newest(pa.concat_tables(parts)) if parts else None
    together = [entry for entry in table.to_pylist() if entry["listener"]] if table else []
    assert {(e["heartbeat_parts"] > 0, e["software_name"], e["gateway"]): (e["epoch"], e["sequence"]) for e in together} == truth
    assert len(together) == len(truth)
    beats = 0 if table is None else len(table) - len(together)
    assert beats == sum(beats for beats, *_ in records), "each heartbeat's own entry stays"


def streams(*values: bytes | None, first: int = 0) -> pa.Array:
    """Of records that were appended at 100 ms and later, in partition 7."""
    places = range(first, first + len(values))
    return packed(binaries(*values), pa.array([100 + at for at in places]), pa.array([7] * len(values), pa.int32()), pa.array(places))


def test_a_batch_is_packed_into_its_first_row_with_the_place_of_each_entry() -> None:
    values = [b"junk", heartbeat(1, [("java", "4", 2, 3, 1), ("go", "1", 1, 1, 0)]), None, connection_record(2, [("c", "1", 1, 1, 0)])]
    rows = streams(*values)
    assert [row.is_valid for row in rows] == [True, False, False, False]
    entries = of_streams(pa.chunked_array([rows, streams(b"junk", None, first=4), streams(heartbeat(3), first=6)]), PLACED)
    assert entries.schema == PLACED
    expected = [entry for row in counts(binaries(*values)).to_pylist() for entry in row or ()]
    expected += counts(pa.array([heartbeat(3)])).to_pylist()[0]
    got = entries.to_pylist()
    places = [(entry.pop("appended_ms"), entry.pop("partition"), entry.pop("offset")) for entry in got]
    assert got == expected
    assert places == [(101, 7, 1), (101, 7, 1), (101, 7, 1), (103, 7, 3), (106, 7, 6)]


def test_no_entries_and_no_records_are_empty() -> None:
    assert streams(b"junk", None).to_pylist() == [None, None]
    assert len(streams()) == 0
