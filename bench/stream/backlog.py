"""Reading of a backlog that was written while the job was stopped: its speed, and the delay of records that arrive meanwhile.

The backlog is pushes of a fleet, as `bench.rules` has them, written straight to the topic. The new ones go through the gateway.
"""

from __future__ import annotations

import json
import re
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice

import confluent_kafka
from rich.table import Table

from bench.decode import KEYS
from bench.rules import fleet
from bench.stream.load import every
from bench.stream.running import Running
from clientscope.client.raw import RawClient
from clientscope.errors import EnvironmentProblem
from clientscope.model.topics import CONFIGS, FINDINGS, RESULTS

_LEAST_S, _LEAST_RATE = 600.0, 10_000
"""Seconds that anything may take, and results a second that are no failure."""

_DISTINCT = 10_000
_EVERY_S = 0.1
_NEW = "new-push"
_PUSH = [("client.id", _NEW, 1, False), *((key, "17", 1, True) for key in KEYS if key != "client.id")]
_PLACE = re.compile(rb'"partition":(\d+),"offset":(\d+)')


@dataclass(frozen=True)
class Caught:
    """How it was read.

    Attributes:
        rate: results a second, from the first to the last.
        waits_s: from the gateway to its first result, of each push that came between the first and the last result of the backlog.
        cpu_s: what the job's processes took for it, with their start, by command.
    """

    rate: float
    waits_s: list[float]
    cpu_s: dict[str, float]


def backlog(installation: Running, pushes: int, *flags: str) -> Caught:
    """Reads one; ``flags`` are the job's."""
    installation.stop_job()
    before = installation.ends(RESULTS)
    _write(installation.internal, pushes)
    print(f"{pushes:,} pushes wait; the job starts", file=sys.stderr, flush=True)
    with _new_pushes(installation.address):
        installation.start_job(*flags)
        deadline = time.monotonic() + max(_LEAST_S, pushes / _LEAST_RATE)
        while (came := sum(end := installation.ends(RESULTS)) - sum(before)) < pushes:
            installation.processes.check()
            if time.monotonic() > deadline:
                raise EnvironmentProblem(f"{came} of {pushes} results came in time")
            time.sleep(0.5)
        cpu_s = installation.job_cpu_seconds()
    time.sleep(5)
    new = [(number, *each) for number, each in enumerate(zip(before, end, strict=True)) if each[0] < each[1]]
    first = min(installation.appended_ms(RESULTS, number, begin) for number, begin, _ in new)
    last = max(installation.appended_ms(RESULTS, number, end - 1) for number, _, end in new)
    found: dict[tuple[bytes, bytes], float] = {}
    for message in installation.each(RESULTS, before):
        place = _PLACE.search(message.value())
        if place and _NEW.encode() in message.value():
            received = json.loads(message.value())["received_ms"]
            if first <= received <= last:
                found.setdefault((place[1], place[2]), (message.timestamp()[1] - received) / 1000)
    return Caught(pushes / (last - first) * 1000, sorted(found.values()), cpu_s)


def leak_behind(installation: Running, pushes: int) -> tuple[float, float]:
    """How long a secret that is pushed while the job reads its backlog waits for its finding.

    Returns:
        Seconds from the push at the gateway, right after the job's start, to its finding; and until all of the backlog had a result.
    """
    installation.stop_job()
    before = sum(installation.ends(RESULTS))
    _write(installation.internal, pushes)
    print(f"{pushes:,} pushes wait; the job starts", file=sys.stderr, flush=True)
    began = time.time()
    installation.start_job()
    leaked = _leak(installation)
    found_ms = worked_off = 0.0
    while not (found_ms and worked_off):
        installation.processes.check()
        if time.time() - began > _LEAST_S:
            raise EnvironmentProblem("the finding or the results did not come in time")
        if not worked_off and sum(installation.ends(RESULTS)) - before >= pushes:
            worked_off = time.time() - began
        found_ms = found_ms or _found_ms(installation)
        time.sleep(0.5)
    return found_ms / 1000 - leaked, worked_off


def _leak(installation: Running) -> float:
    """When the secret was pushed whose record is on the topic: a policy that has no CPU for too long is ended, and its push refused."""
    before = installation.ends(CONFIGS)
    with RawClient.connect(installation.address, "leaky") as client:
        client.api_versions("leaky", "1.0", None)
        while True:
            leaked = time.time()
            client.push_config([("sasl.password", f"hunter2-{leaked:.0f}", 2, False)])
            time.sleep(1.0)
            if installation.ends(CONFIGS) != before:
                return leaked


def _found_ms(installation: Running) -> int:
    for message in installation.each(FINDINGS):
        if message.value() and b'"SK001"' in message.value() and b'"leaky"' in message.value():
            return int(message.timestamp()[1])
    return 0


def table(pushes: int, caught: dict[str, Caught]) -> Table:
    """One line for each way to read it."""
    view = Table(title=f"a backlog of {pushes:,} pushes, and {1 / _EVERY_S:.0f} new ones a second", title_justify="left")
    for heading in ("", "results/s", "new pushes", "waited s: p50", "p99", "most"):
        view.add_column(heading, justify="right" if heading else "left")
    for name, each in caught.items():
        hundredths = statistics.quantiles(each.waits_s, n=100)
        waits = (f"{value:,.1f}" for value in (hundredths[49], hundredths[98], each.waits_s[-1]))
        view.add_row(name, f"{each.rate:,.0f}", f"{len(each.waits_s):,}", *waits)
    return view


def _write(internal: str, pushes: int) -> None:
    producer = confluent_kafka.Producer({"bootstrap.servers": internal, "linger.ms": 20, "compression.type": "lz4"})
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


@contextmanager
def _new_pushes(address: str) -> Iterator[None]:
    with RawClient.connect(address, _NEW) as client:
        client.api_versions(_NEW, "1.0", None)
        with every(_EVERY_S, lambda: client.push_config(_PUSH)):
            yield
