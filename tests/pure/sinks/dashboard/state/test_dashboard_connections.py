"""Open connections: order, repetition, epochs, goodbyes, lost gateways, bounds."""

from __future__ import annotations

from typing import Any

from record_bytes import connection_record

from clientscope.api.clients import ConnectionRow
from clientscope.query import Query
from clientscope.records.codec import ClientConnectionRecord, decode
from clientscope.records.layouts import Kind
from sinks.dashboard.rows import lists
from sinks.dashboard.state.connections import ConnectionTable


def record(kind: Kind, connection: int = 1, sequence: int = 0, **fields: Any) -> ClientConnectionRecord:
    named = {"gateway_id": "gw", "gateway_epoch": 100, "connection_id": connection, "client_id": "app", **fields}
    return decode(ClientConnectionRecord, connection_record(sequence, kind=kind, **named))


def heartbeat(sequence: int = 0, interval_ms: int = 1_000, **fields: Any) -> ClientConnectionRecord:
    return record(Kind.HEARTBEAT, -1, sequence, heartbeat_interval_ms=interval_ms, **fields)


def connections(table: ConnectionTable) -> list[ConnectionRow]:
    table.writing.flush()
    return [lists.connection(row) for row in table.reading.connections(Query(), (), 0, -1)[0]]


def open_ids(table: ConnectionTable) -> list[int]:
    return sorted(connection.connection for connection in connections(table))


def test_repeated_and_late_records_change_nothing() -> None:
    table = ConnectionTable()
    for event in (record(Kind.OPENED, sequence=0), record(Kind.IDENTIFIED, sequence=1, client_software_name="new")):
        table.apply(event, 0)
    assert not table.apply(record(Kind.OPENED, sequence=0), 0)
    assert connections(table)[0].software_name == "new"
    table.apply(record(Kind.CLOSED, sequence=2), 0)
    assert not table.apply(record(Kind.OPENED, sequence=0), 0)
    assert not table.apply(record(Kind.PRESENT, sequence=1), 0)
    assert not table.apply(record(Kind.CLOSED, sequence=2), 0)
    assert open_ids(table) == []


def test_a_connection_that_was_opened_before_the_records_read_says_so() -> None:
    table = ConnectionTable()
    table.apply(record(Kind.PRESENT, sequence=7), 0)
    assert connections(table)[0].opened_ms is None
    client = lists.client(table.reading.clients(Query(), (), 0, -1)[0][0])
    assert (client.since_ms, client.since_exact) == (1_007, False)


def test_a_new_epoch_ends_the_older_ones_connections() -> None:
    table = ConnectionTable()
    table.apply(record(Kind.OPENED, 1), 0)
    assert table.apply(heartbeat(gateway_epoch=200), 0)
    assert open_ids(table) == []
    assert not table.apply(record(Kind.OPENED, 2, gateway_epoch=100, sequence=9), 0)
    assert open_ids(table) == []


def test_a_goodbye_ends_a_gateways_connections_only() -> None:
    table = ConnectionTable()
    table.apply(record(Kind.OPENED, 1), 0)
    table.apply(record(Kind.OPENED, 2, gateway_id="other"), 0)
    assert table.apply(heartbeat(5, interval_ms=0), 0)
    assert open_ids(table) == [2]
    assert [gateway.gateway for gateway in table.gateways()] == ["other"]
    assert table.counts() == {"other": 1}


def test_a_gateway_is_late_after_two_intervals_lost_after_three_and_comes_back() -> None:
    table = ConnectionTable()
    table.apply(record(Kind.OPENED, 1), 10_000)
    table.apply(heartbeat(1), 10_000)
    assert not table.expire(12_000)
    assert table.expire(12_001)
    assert table.gateways()[0].late
    assert open_ids(table) == [1]
    assert not table.expire(13_000)
    assert table.expire(13_001)
    assert (open_ids(table), table.gateways(), table.lost(), table.counts()) == ([], [], ["gw"], {})
    assert table.apply(heartbeat(2), 20_000)
    assert (open_ids(table), table.lost()) == ([1], [])


def test_a_gateway_without_any_heartbeat_is_lost_too() -> None:
    table = ConnectionTable()
    table.apply(record(Kind.OPENED, 1), 0)
    assert table.expire(90_001)
    assert open_ids(table) == []


def test_what_does_not_fit_is_counted_and_there_is_room_again_after_a_close() -> None:
    table = ConnectionTable(limit=2, gateway_limit=1)
    for connection in (1, 2, 3):
        table.apply(record(Kind.OPENED, connection, connection), 0)
    table.apply(record(Kind.OPENED, 4, gateway_id="other"), 0)
    assert open_ids(table) == [1, 2]
    assert table.dropped == {"connections": 1, "gateways": 1}
    table.apply(record(Kind.CLOSED, 1, 4), 0)
    table.apply(record(Kind.OPENED, 5, 5), 0)
    assert open_ids(table) == [2, 5]
    table.apply(heartbeat(6, interval_ms=0), 0)
    for connection in (6, 7):
        table.apply(record(Kind.OPENED, connection, connection), 0)
    assert open_ids(table) == [6, 7]
