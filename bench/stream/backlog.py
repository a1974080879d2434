"""How fast the job reads what was written while it was stopped: pushes of a fleet, as `bench.rules` has them."""

from __future__ import annotations

import sys
import time
from itertools import islice

import confluent_kafka

from bench.rules import fleet
from bench.stream.running import Running
from clientscope.errors import EnvironmentProblem
from clientscope.records.topics import CONFIGS, RESULTS

_BACKLOG_S = 600.0
_DISTINCT = 10_000


def backlog(installation: Running, pushes: int) -> float:
    """Results a second, from the first to the last."""
    installation.processes.stop("stream")
    before = installation.end(RESULTS)
    producer = confluent_kafka.Producer({"bootstrap.servers": installation.internal, "linger.ms": 20, "compression.type": "lz4"})
    values = list(islice(fleet(), _DISTINCT))
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
    print(f"{pushes:,} pushes wait; the job starts", file=sys.stderr, flush=True)
    installation.start_job()
    deadline = time.monotonic() + _BACKLOG_S
    while (end := installation.end(RESULTS)) < before + pushes:
        installation.processes.check()
        if time.monotonic() > deadline:
            raise EnvironmentProblem(f"{end - before} of {pushes} results came within {_BACKLOG_S:.0f} s")
        time.sleep(0.5)
    first, last = (installation.appended_ms(RESULTS, offset) for offset in (before, end - 1))
    return pushes / (last - first) * 1000
