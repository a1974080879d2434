"""A new push doesn't wait for a backlog, even if its lane fails; and results are the same without the lane."""

from __future__ import annotations

import json
import re
import signal
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import confluent_kafka
import pytest
from every import every
from observe import metrics
from patience import LIMIT_S, until
from record_bytes import config_record, setting

from clientscope import topics
from clientscope.demo.fleet import Fleet
from clientscope.local.broker import BrokerPlan, EmbeddedBroker
from clientscope.local.process import free_port
from clientscope.records.topics import AHEAD, CONFIGS, RESULTS
from streaming.fresh_lane import BEGINS_ABOVE
from streaming.sources import LIVE

BACKLOG = BEGINS_ABOVE + 60_000
PARTITIONS = 3
_PLACE = re.compile(rb'"partition":(\d+),"offset":(\d+)')

Place = tuple[int, int]


class Pushes:
    """Writes pushes straight to the topic, and reads their results.

    Attributes:
        places: of all pushes, with the client of each.
        results: number of results of each.
        ahead: pushes whose result came ahead of the backlog, and when (Kafka's time).
        backlog_ms: when the last result of the backlog came.
        values: results of all pushes but the backlog's.
    """

    def __init__(self, internal: str) -> None:
        self._producer = confluent_kafka.Producer({"bootstrap.servers": internal, "linger.ms": 20, "compression.type": "lz4"})
        self._consumer = confluent_kafka.Consumer({"bootstrap.servers": internal, "group.id": "t", "enable.auto.commit": False})
        self._consumer.assign([confluent_kafka.TopicPartition(RESULTS, number, 0) for number in range(PARTITIONS)])
        self._written = 0
        self.places: dict[Place, str] = {}
        self.results: Counter[Place] = Counter()
        self.ahead: dict[Place, int] = {}
        self.backlog_ms = 0
        self.values: dict[Place, set[bytes]] = defaultdict(set)

    def write(self, client_id: str, number: int) -> None:
        """So many, over all partitions; returns once Kafka has them."""
        value = config_record(setting("acks", "all"), client_id=client_id)

        def delivered(error: object, message: confluent_kafka.Message) -> None:
            assert error is None
            self.places[message.partition(), message.offset()] = client_id

        for each in range(number):
            self._written += 1
            key = b"%d" % self._written
            self._producer.produce(CONFIGS, value, key, partition=each % PARTITIONS, on_delivery=delivered)
            if each % 10_000 == 0:
                self._producer.flush()
        assert self._producer.flush(LIMIT_S) == 0

    def read(self) -> None:
        """Takes in some of what has come since the last time."""
        for message in self._consumer.consume(20_000, 0.2):
            assert message.error() is None
            found = _PLACE.search(message.value())
            assert found is not None
            place, at_ms = (int(found[1]), int(found[2])), message.timestamp()[1]
            self.results[place] += 1
            if b"backlog" in message.value():
                self.backlog_ms = max(self.backlog_ms, at_ms)
            else:
                self.values[place].add(message.value())
            if message.headers():
                assert dict(message.headers()).keys() == {AHEAD}
                self.ahead[place] = min(at_ms, self.ahead.get(place, at_ms))

    def close(self) -> None:
        self._consumer.close()


@pytest.fixture
def internal(tmp_path: Path) -> Iterator[str]:
    plan = BrokerPlan(free_port(), free_port(), f"127.0.0.1:{free_port()}", tmp_path / "broker")
    with EmbeddedBroker(plan):
        topics.create(plan.internal, partitions=PARTITIONS)
        yield plan.internal


@pytest.fixture
def pushes(internal: str) -> Iterator[Pushes]:
    writing = Pushes(internal)
    yield writing
    writing.close()


def batches(checkpoints: Path) -> list[int]:
    """Records of each batch of results, by Spark's own log."""
    (checkpoint,) = (checkpoints / "results").iterdir()
    logs = (checkpoint / "offsets").iterdir()
    numbered = sorted((path for path in logs if path.name.isdigit()), key=lambda path: int(path.name))
    ends = [sum(json.loads(path.read_text().splitlines()[-1])[CONFIGS].values()) for path in numbered]
    return [end - begin for begin, end in pairwise([0, *ends])]


@pytest.mark.long
def test_f27_a_new_push_is_judged_beside_a_backlog(internal: str, pushes: Pushes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    address = f"127.0.0.1:{free_port()}"
    flags = (
        "stream", "--bootstrap-servers", internal, "--checkpoint-dir", str(tmp_path / "checkpoints"),
        "--history-dir", str(tmp_path / "history"), "--metrics-listen", address, "--quality", "off",
    )  # fmt: skip
    processes = Fleet(tmp_path / "logs", lambda line: None)

    def fresh_lane() -> dict[tuple[str, ...], float]:
        return metrics(f"http://{address}/metrics")

    def folders() -> list[Path]:
        return list(scratch.glob("clientscope-fresh-*"))

    def each_partition_has_one_ahead() -> bool:
        """Since nobody sees from where on the lane reads, more are written each time that somebody asks."""
        pushes.write("fresh", PARTITIONS)
        pushes.read()
        return len({partition for partition, _ in pushes.ahead}) == PARTITIONS

    def some_wait_still() -> bool:
        pushes.read()
        return pushes.backlog_ms > max(pushes.ahead.values())

    def in_all() -> bool:
        pushes.read()
        return pushes.results.keys() == pushes.places.keys()

    pushes.write("backlog", BACKLOG)
    try:
        processes.start("stream", *flags)
        processes.await_ready("stream", "new pushes have a lane of their own", 180)
        assert len(folders()) == 1
        until(each_partition_has_one_ahead)
        until(some_wait_still, why="the backlog was read before")
        processes.signal("stream", signal.SIGTERM)
        assert folders() == []
        processes.start("stream", *flags)
        processes.await_ready("stream", timeout_s=LIMIT_S)
        pushes.write("fresh", PARTITIONS)
        until(in_all)
        until(lambda: fresh_lane()["clientscope_stream_fresh_lane_running",], 0)
        assert fresh_lane()["clientscope_stream_fresh_lane_failures",] == 0
        assert folders() == []
    finally:
        processes.stop()
    assert len(batches(tmp_path / "checkpoints")) >= 2
    assert max(batches(tmp_path / "checkpoints")) <= LIVE.most, "whatever waits, a batch is as large as the memory was made for"
    assert pushes.ahead.keys() <= pushes.values.keys()
    assert all(pushes.places[place] == "fresh" and pushes.results[place] >= 2 for place in every(pushes.ahead)), (
        "they come in their turn too"
    )
    assert {len(values) for values in pushes.values.values()} == {1}, "two results of one push differ"
