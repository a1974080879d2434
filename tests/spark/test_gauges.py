"""The gauges' query against an oracle that replays the records one by one."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest
from gauge_rows import Topic, rows
from pyspark.sql import DataFrame, SparkSession
from record_bytes import Records, connection_record, heartbeat

from clientscope.records.codec import ClientConnectionRecord, decode
from clientscope.records.layouts import Kind
from clientscope.records.topics import CONNECTIONS
from streaming.gauges import Gauges
from streaming.internals.frames import to_table
from streaming.queries.gauges import arrived
from streaming.transforms.gauges import entries

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


def oracle(values: list[bytes]) -> Counter[tuple[str, str]]:
    newest: dict[tuple[str, str], tuple[int, int, int]] = {}
    heartbeats: dict[str, tuple[int, int]] = {}
    for value in values:
        try:
            record = decode(ClientConnectionRecord, value)
        except Exception:  # noqa: S112 - junk has no part in the gauges
            continue
        order = (record.gateway_epoch, record.sequence)
        if record.kind == Kind.HEARTBEAT:
            heartbeats[record.gateway_id] = max(order, heartbeats.get(record.gateway_id, order))
        for count in record.counts:
            key = (record.gateway_id, count.count_software_name)
            newest[key] = max(newest.get(key, (0, 0, 0)), (*order, count.open_connections))
    return Counter({key: count for key, (*order, count) in newest.items() if count and tuple(order) >= heartbeats[key[0]]})


def shown(topic: Topic) -> Counter[tuple[str, str]]:
    return Counter({(value["gateway"], value["software_name"]): value["connections"] for value in topic.series()})


@pytest.mark.parametrize("seed", range(3))
def test_agrees_with_the_oracle_and_with_its_double(records: Records, seed: int) -> None:
    values = traffic(random.Random(seed))  # noqa: S311 - a test's
    topic, doubles = Topic(), Topic()
    topic.write(Gauges({}, now=0).apply(arrived(to_table(entries(records(CONNECTIONS, *values)))), now=0))
    doubles.write(Gauges({}, now=0).apply(rows((value, 1_767_398_399_000) for value in values), now=0))
    assert shown(topic) == shown(doubles) == oracle(values)
    assert len(topic.gateways()) == 2


def test_a_query_that_stops_and_starts_over_and_over_ends_as_the_oracle(spark: SparkSession, records: Records, tmp_path: Path) -> None:
    """A real stream with its checkpoint: each start reads what the topic says; batches fail after a part of their changes was written."""
    values = traffic(random.Random(7))  # noqa: S311 - a test's
    source, topic = tmp_path / "source", Topic()
    for start in range(0, len(values), 20):
        records(CONNECTIONS, *values[start : start + 20]).coalesce(1).write.mode("append").parquet(str(source))
    failures = [True, False, True, False, False]

    class Killed(Exception):
        pass

    def run() -> None:
        gauges = Gauges(topic.values, now=0)

        def write(frame: DataFrame, batch_id: int) -> None:
            changes = gauges.apply(arrived(to_table(frame)), now=0)
            if failures and failures.pop():
                topic.write(dict(list(changes.items())[::2]))
                raise Killed
            topic.write(changes)

        frame = (
            spark.readStream.schema("value binary, topic string, partition int, offset long, timestamp timestamp")
            .option("maxFilesPerTrigger", 1)
            .parquet(str(source))
        )
        query = entries(frame).writeStream.foreachBatch(write).option("checkpointLocation", str(tmp_path / "checkpoint"))
        query.trigger(availableNow=True).start().awaitTermination()

    for _ in range(2):
        with pytest.raises(Exception, match="Killed"):
            run()
    run()
    assert failures == []
    # Files come in the order of their modification; the two heartbeats of the end may not come last.
    topic.write(Gauges(topic.values, now=0).apply(rows((value, 1_767_398_399_000) for value in values[-2:]), now=0))
    assert shown(topic) == oracle(values)
