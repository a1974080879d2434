"""How soon the job tells what gateways saw, and how fast it catches up: ``make bench-stream``.

A real broker, gateway and job, all queries running, on this machine. First a steady load: 100 pushes and 20 connections a second, through
the gateway. From a push's arrival at the gateway to its result in the topic (Kafka's LogAppendTime), for every push; from each change of
a software's count to the first gauge in the topic that knows it, for every change. Then a backlog: records written straight to the topic
while the job is stopped, and how fast their results come once it runs.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import threading
import time
import uuid
from collections import defaultdict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import confluent_kafka
from rich.console import Console
from rich.table import Table

from bench.decode import KEYS, record
from bench.gateway.proc import cpu_seconds
from bench.installation import PUSHING, Installation
from clientscope.client.raw import RawClient
from clientscope.errors import EnvironmentProblem
from clientscope.records.codec import ClientConnectionRecord, Kind, decode
from clientscope.records.topics import CONFIGS, CONNECTIONS, GAUGES, RESULTS
from clientscope.session.state import UNKNOWN

PUSHES_PER_S, CONNECTIONS_PER_S = 100, 20
_PUSHERS = 4
_OPEN_S = 5.0
_READ_S = 60.0
_BACKLOG_S = 300.0
_NAMES = 8
_PUSH = [(key, "17", 1, True) for key in KEYS]


@dataclass(frozen=True)
class Figure:
    """Milliseconds, and what they should be."""

    what: str
    values: list[float]
    p50_goal: float
    p99_goal: float


class Running(Installation):
    """What an operator runs: the job too."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, *PUSHING)
        self._folder = folder

    def __enter__(self) -> Running:
        super().__enter__()
        try:
            self.start_job()
        except BaseException:
            self._stop()
            raise
        return self

    def start_job(self) -> None:
        """The job, again."""
        self.processes.start(
            "stream", "stream", "--bootstrap-servers", self.internal, "--checkpoint-dir", str(self._folder / "checkpoints"),
            "--history-dir", str(self._folder / "history"), "--metrics-listen", "127.0.0.1:0",
        )  # fmt: skip
        self.processes.await_ready("stream", "ready", 180)

    def read(self, topic: str, begin: int = 0) -> list[confluent_kafka.Message]:
        """A topic's records, from an offset on; our topics have one partition."""
        found: list[confluent_kafka.Message] = []
        end = self.end(topic)
        with self._consumer() as consumer:
            consumer.assign([confluent_kafka.TopicPartition(topic, 0, begin)])
            while begin < end:
                message = consumer.poll(10.0)
                if message is None or message.error():
                    raise EnvironmentProblem(f"{topic} could not be read beyond {begin} of {end}")
                found.append(message)
                begin = message.offset() + 1
        return found

    def appended_ms(self, topic: str, offset: int) -> int:
        """When the record there was appended."""
        with self._consumer() as consumer:
            consumer.assign([confluent_kafka.TopicPartition(topic, 0, offset)])
            message = consumer.poll(30.0)
            if message is None or message.error():
                raise EnvironmentProblem(f"{topic} has no record at {offset}")
            return int(message.timestamp()[1])

    def end(self, topic: str) -> int:
        """Where a topic ends."""
        with self._consumer() as consumer:
            return int(consumer.get_watermark_offsets(confluent_kafka.TopicPartition(topic, 0), 30.0)[1])

    @contextmanager
    def _consumer(self) -> Iterator[confluent_kafka.Consumer]:
        settings = {"bootstrap.servers": self.internal, "group.id": "bench", "enable.auto.commit": False, "auto.offset.reset": "earliest"}
        consumer = confluent_kafka.Consumer(settings)
        try:
            yield consumer
        finally:
            consumer.close()


@contextmanager
def every(period_s: float, act: Any) -> Iterator[None]:
    """Acts at a fixed rate in a thread, for as long as the context lasts."""
    over = threading.Event()

    def run() -> None:
        due = time.perf_counter()
        while not over.wait(max(0.0, due - time.perf_counter())):
            act()
            due += period_s

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


class Load:
    """Clients that push, and clients that come and go."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._pushers = deque(self._connect(f"pusher-{number}") for number in range(_PUSHERS))
        self._passing: deque[tuple[float, RawClient]] = deque()
        self._number = 0

    def _connect(self, name: str) -> RawClient:
        client = RawClient.connect(self._address, name)
        client.api_versions(name, "1.0", uuid.uuid4())
        return client

    def push(self) -> None:
        """One push, by each client in turn; its answer is waited for."""
        self._pushers.rotate()
        self._pushers[0].push_config(_PUSH)

    def connect(self) -> None:
        """One more connects, and whoever has stayed long enough leaves."""
        self._number += 1
        self._passing.append((time.monotonic(), self._connect(f"passing-{self._number % _NAMES}")))
        while self._passing[0][0] < time.monotonic() - _OPEN_S:
            self._passing.popleft()[1].close()

    def close(self) -> None:
        """All leave."""
        for client in (*self._pushers, *(client for _, client in self._passing)):
            client.close()


def steady(installation: Running, seconds: float) -> tuple[list[Figure], dict[str, float]]:
    """The latencies, and CPU seconds a second of the job."""
    load = Load(installation.address)
    with every(1 / PUSHES_PER_S, load.push), every(1 / CONNECTIONS_PER_S, load.connect):
        time.sleep(15)  # Spark warms up
        begin = {topic: installation.end(topic) for topic in (CONNECTIONS, RESULTS)}
        pid = installation.processes.pid("stream")
        cpu, started = cpu_seconds(pid), time.perf_counter()
        time.sleep(seconds)
        cores = (cpu_seconds(pid) - cpu) / (time.perf_counter() - started)
        counted = len(installation.read(RESULTS, begin[RESULTS])) / seconds
    time.sleep(5)
    load.close()
    pushes = [message.timestamp()[1] - json.loads(message.value())["received_ms"] for message in installation.read(RESULTS, begin[RESULTS])]
    gauges = _changes(installation, begin[CONNECTIONS])
    figures = [
        Figure("from a push at the gateway to its result", pushes, 400, 1000),
        Figure("from a change of a count to its gauge", gauges, 700, 1500),
    ]
    return figures, {"the job's cores": cores, "results/s": counted}


def _changes(installation: Running, begin: int) -> list[float]:
    """For each change of a series' count, how long until a gauge in the topic was at least as new."""
    told: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for message in installation.read(GAUGES):
        if message.value() is not None:
            value = json.loads(message.value())
            told[value["software_name"]].append((value["sequence"], message.timestamp()[1]))
    waits = []
    for message in installation.read(CONNECTIONS, begin):
        change = decode(ClientConnectionRecord, message.value())
        if change.kind in (Kind.OPENED, Kind.IDENTIFIED, Kind.CLOSED):
            for count in change.counts:
                if count.open_connections == 0 or count.count_software_name == UNKNOWN:
                    continue  # its gauge is a tombstone, or is one a moment later, which doesn't say what it knows
                later = [at for sequence, at in told[count.count_software_name] if sequence >= change.sequence]
                if later:
                    waits.append(min(later) - change.timestamp_ms)
    return waits


def backlog(installation: Running, pushes: int) -> float:
    """Results a second, from the first to the last."""
    installation.processes.stop("stream")
    before = installation.end(RESULTS)
    producer = confluent_kafka.Producer({"bootstrap.servers": installation.internal, "linger.ms": 20, "compression.type": "lz4"})
    values = [record(number) for number in range(2_000)]
    failed: list[confluent_kafka.KafkaError] = []

    def delivered(error: confluent_kafka.KafkaError | None, _: confluent_kafka.Message) -> None:
        if error:
            failed.append(error)

    for number in range(pushes):
        while True:
            try:
                producer.produce(CONFIGS, values[number % len(values)], key=b"%d" % number, on_delivery=delivered)
                break
            except BufferError:
                producer.poll(0.1)
    if producer.flush(120) or failed:
        raise EnvironmentProblem(f"not all pushes of the backlog could be written: {failed[:1]}")
    _say(f"{pushes} pushes wait; the job starts")
    installation.start_job()
    deadline = time.monotonic() + _BACKLOG_S
    while (end := installation.end(RESULTS)) < before + pushes:
        installation.processes.check()
        if time.monotonic() > deadline:
            raise EnvironmentProblem(f"{end - before} of {pushes} results came within {_BACKLOG_S:.0f} s")
        time.sleep(0.5)
    first, last = (installation.appended_ms(RESULTS, offset) for offset in (before, end - 1))
    return pushes / (last - first) * 1000


def _show(figures: list[Figure], more: dict[str, float]) -> None:
    view = Table(title=f"{PUSHES_PER_S} pushes/s, {CONNECTIONS_PER_S} connections/s, all queries running", title_justify="left")
    for heading in ("ms", "samples", "p50", "goal", "p99", "goal", "most"):
        view.add_column(heading, justify="left" if heading == "ms" else "right")
    for figure in figures:
        hundredths = statistics.quantiles(figure.values, n=100)
        row = (len(figure.values), hundredths[49], figure.p50_goal, hundredths[98], figure.p99_goal, max(figure.values))
        view.add_row(figure.what, *(f"{value:,.0f}" for value in row))
    Console(width=130).print(view)
    for name, value in more.items():
        print(f"{name}: {value:,.2f}")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench.stream", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, metavar="S", help="of the steady load (default: %(default)s)")
    parser.add_argument("--backlog", type=int, default=300_000, metavar="N", help="pushes; 0 leaves it out (default: %(default)s)")
    options = parser.parse_args()
    _say("starting everything")
    with tempfile.TemporaryDirectory(prefix="clientscope-bench-") as folder, Running(Path(folder)) as installation:
        _say("steady load")
        figures, more = steady(installation, options.seconds)
        _show(figures, more)
        if options.backlog:
            _say("backlog")
            print(f"backlog of {options.backlog:,}: {backlog(installation, options.backlog):,.0f} results/s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
