"""The gauges' query against its double, which the tests of gauges hold to the truth."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from gauge_rows import Topic, rows
from record_bytes import Records, connection_record, heartbeat

from clientscope.records.topics import CONNECTIONS
from streaming.gauges import Gauges
from streaming.queries.gauges import arrived
from streaming.spark import to_table
from streaming.transforms import entries

NAMES = ("java", "go", "python")


def traffic(chance: random.Random) -> list[bytes]:
    """Two gateways with two epochs each: events and heartbeats, repeated and shuffled, junk among them; a heartbeat each at the end."""
    values, last = [], []
    for gateway in ("g", "h"):
        for epoch in (10, 20):
            clock = {"timestamp_ms": chance.choice([0, -(2**62), 4_102_444_800_000, 1_767_398_399_000])}  # F29
            newest = dict.fromkeys(NAMES, 0)
            for sequence in range(20):
                touched = NAMES if sequence % 5 == 4 else chance.sample(NAMES, chance.randrange(len(NAMES) + 1))
                newest |= {name: chance.randrange(3) for name in touched}
                counts = [(name, "1", newest[name], 5 + sequence, 5 + sequence - newest[name]) for name in touched]
                make = heartbeat if sequence % 5 == 4 else connection_record
                values.append(make(sequence, counts, gateway_id=gateway, gateway_epoch=epoch, **clock))
            counts = [(name, "1", count, 30, 30 - count) for name, count in newest.items() if count]
        last.append(heartbeat(20, counts, gateway_id=gateway, gateway_epoch=20))
    values += [*chance.choices(values, k=30), b"", b"junk", values[0][:-1]]
    chance.shuffle(values)
    return values + last


def shown(topic: Topic) -> Counter[tuple[str, str]]:
    return Counter({(value["gateway"], value["software_name"]): value["connections"] for value in topic.series()})


@pytest.mark.parametrize("seed", range(2))
def test_agrees_with_its_double(records: Records, seed: int) -> None:
    values = traffic(random.Random(seed))  # noqa: S311 - a test's
    topic, doubles = Topic(), Topic()
    topic.write(Gauges({}, now=0).apply(arrived(to_table(entries(records(CONNECTIONS, *values)))), now=0))
    doubles.write(Gauges({}, now=0).apply(rows((value, 1_767_398_399_000) for value in values), now=0))
    assert topic.series() and shown(topic) == shown(doubles)
    assert len(topic.gateways()) == 2
