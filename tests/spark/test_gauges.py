"""The gauges' aggregation against an oracle that replays the records one by one."""

from __future__ import annotations

import random

import pytest
from record_bytes import Records, connection_record, heartbeat

from clientscope.records.codec import ClientConnectionRecord, Kind, decode
from clientscope.records.topics import CONNECTIONS
from streaming.transforms.gauges import SERIES, gauges

NAMES = ("java", "go", "python")


def traffic(chance: random.Random) -> list[bytes]:
    """Two gateways with two epochs each: events and heartbeats, then duplicated and shuffled, junk among them."""
    values = []
    for gateway in ("g", "h"):
        for epoch in (10, 20):
            for sequence in range(20):
                counts = [(name, "1", chance.randrange(3), 5, 5) for name in chance.sample(NAMES, chance.randrange(len(NAMES) + 1))]
                make = heartbeat if sequence % 5 == 4 else connection_record
                values.append(make(sequence, counts, gateway_id=gateway, gateway_epoch=epoch))
    values += [*chance.choices(values, k=30), b"", b"junk", values[0][:-1]]
    chance.shuffle(values)
    return values


def oracle(values: list[bytes]) -> dict[tuple[str | None, ...], tuple[int, int, int | None]]:
    newest: dict[tuple[str | None, ...], tuple[int, int, int | None]] = {}
    for value in values:
        try:
            record = decode(ClientConnectionRecord, value)
        except Exception:  # noqa: S112 - junk has no part in the gauges
            continue
        order = (record.gateway_epoch, record.sequence)
        entries: list[tuple[tuple[str | None, ...], int | None]] = [
            (("CLIENT", count.count_software_name, count.count_software_version), count.open_connections) for count in record.counts
        ]
        if record.kind == Kind.HEARTBEAT:
            entries.append(((None, None, None), None))
        for series, connections in entries:
            key = ("c", "1", record.gateway_id, *series)
            if key not in newest or order > newest[key][:2]:
                newest[key] = (*order, connections)
    return newest


@pytest.mark.parametrize("seed", range(3))
def test_agrees_with_the_oracle(records: Records, seed: int) -> None:
    values = traffic(random.Random(seed))  # noqa: S311 - a test's
    got = {}
    for row in gauges(records(CONNECTIONS, *values)).collect():
        series = tuple(None if row[name] is None else str(row[name]) for name in SERIES)
        assert series not in got
        got[series] = (row["epoch"], row["sequence"], row["connections"])
    assert got == oracle(values)
