"""Effect of a policy that misbehaves for some clients on the others: their produce latency, and when their pushes are processed.

``python -m bench.policy_isolation [--rounds 12] [--seconds 4] [--kinds none loop]``: a real broker and gateway; 100 producers at
5 records/s each and 10 good pushes a second all the time. Short phases without and with a bad client (one push a second, each of a
new client instance) alternate. The ratio is that of the p99 over all phases of either sort; its range is that of three thirds of the
rounds. ``none`` has no bad client in either phase: what it shows is noise. ``elsewhere`` has none either, but a process that has nothing to
do with the gateway, which loops for half of each second in the lowest scheduling class (SCHED_IDLE): what the machine itself makes of
that. Nothing else should run meanwhile.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

import confluent_kafka
import kafka
from rich.console import Console
from rich.table import Table

from bench.installation import Installation
from clientscope.client.raw import RawClient
from clientscope.model.client_key import instance_of
from clientscope.model.codec import decode
from clientscope.model.push import Push
from clientscope.model.topics import CONFIGS

ROOT = Path(__file__).parents[1]
TOPIC = "bench.isolation"
PRODUCERS = 100
RECORDS_PER_S = 5
KINDS = ("none", "elsewhere", "raise", "sleep", "loop")
_ELSEWHERE = """\
import os, time
os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
while True:
    until = time.perf_counter() + 0.5
    while time.perf_counter() < until:
        pass
    time.sleep(0.5)
"""
PUSH = [("acks", "all", 1, True), ("linger.ms", "5", 4, False)]


@dataclass
class Phase:
    """What was seen in one phase, in ms."""

    produce: list[float] = field(default_factory=list)
    round_trip: list[float] = field(default_factory=list)
    pushed: set[str] = field(default_factory=set)


def produce(producer: confluent_kafka.Producer, delay_s: float, until: float, into: list[float]) -> None:
    """A fixed rate, whatever the answers take; ``poll`` waits outside of Python, and returns as soon as one has come."""

    def delivered(error: object, message: confluent_kafka.Message) -> None:
        if error is None:
            into.append(message.latency() * 1000)

    due = time.perf_counter() + delay_s
    while due < until:
        if (left := due - time.perf_counter()) > 0:
            producer.poll(left)
            continue
        producer.produce(TOPIC, b"x" * 1024, on_delivery=delivered)
        due += 1 / RECORDS_PER_S
    producer.flush(10)


def push(address: str, name: str) -> str:
    """One client instance connects, identifies itself, and pushes."""
    instance = uuid.uuid4()
    with suppress(OSError), closing(RawClient.connect(address, name, 5.0)) as client:
        client.api_versions(name, "1.0", instance)
        client.push_config(PUSH)
    return str(instance)


def every(period_s: float, until: float, act: Callable[[], None]) -> None:
    """Acts at a fixed rate."""
    due = time.perf_counter()
    while due < until:
        time.sleep(max(0.0, due - time.perf_counter()))
        act()
        due += period_s


def run_phase(address: str, producers: list[confluent_kafka.Producer], seconds: float, bad: str | None) -> Phase:
    """All load for so long."""
    phase, until = Phase(), time.perf_counter() + seconds
    with ExitStack() as stack:
        probe = stack.enter_context(RawClient.connect(address, "probe"))
        pool = stack.enter_context(ThreadPoolExecutor(PRODUCERS + 4))
        if bad == "elsewhere":
            looping = subprocess.Popen([sys.executable, "-c", _ELSEWHERE])
            stack.callback(looping.wait)
            stack.callback(looping.kill)

        def round_trip() -> None:
            started = time.perf_counter()
            probe.api_versions("probe", "1.0")
            phase.round_trip.append((time.perf_counter() - started) * 1000)

        work = [
            pool.submit(produce, producer, number / PRODUCERS / RECORDS_PER_S, until, phase.produce)
            for number, producer in enumerate(producers)
        ]
        work.append(pool.submit(every, 0.1, until, lambda: phase.pushed.add(push(address, "good"))))
        work.append(pool.submit(every, 0.01, until, round_trip))
        if bad and bad != "elsewhere":
            work.append(pool.submit(every, 1.0, until, lambda: threading.Thread(target=push, args=(address, f"act-{bad}")).start()))
        for one in work:
            one.result()
    return phase


def p(values: list[float], part: float) -> float:
    """A quantile."""
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]


def processed(internal: str, wanted: set[str]) -> tuple[int, list[float]]:
    """How many of these pushes have no record, and how long the others took until Kafka had theirs, in ms."""
    consumer = kafka.KafkaConsumer(
        CONFIGS, bootstrap_servers=internal, auto_offset_reset="earliest", enable_auto_commit=False, consumer_timeout_ms=2000
    )
    with closing(consumer):
        delays = {instance_of(m.key.decode()): m.timestamp - decode(Push, m.value).received_ms for m in consumer if m.value}
    return len(wanted - set(delays)), [float(delays[key]) for key in wanted & set(delays)]


def main() -> None:
    """Measures, and prints one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    arguments = parser.parse_args()
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "tests" / "pure")])
    table = Table(
        "bad client", "produce p99 without, ms", "with, ms", "ratio", "round trip p99 with, ms", "pushes", "processed p99, max", "lost"
    )
    with (
        tempfile.TemporaryDirectory() as folder,
        Installation(Path(folder), "--client-config-policy-class-name", "bad_policies.ActingPublisher", topic=TOPIC) as installation,
    ):
        internal, address = installation.internal, installation.address
        producers = [
            confluent_kafka.Producer({"bootstrap.servers": address, "acks": 1, "linger.ms": 0, "log_level": 0}) for _ in range(PRODUCERS)
        ]
        run_phase(address, producers, 5, None)  # warm-up
        for kind in arguments.kinds:
            without, with_bad = [], []
            for number in range(arguments.rounds):
                order = [(without, None), (with_bad, kind if kind != "none" else None)]
                for phases, bad in order if number % 2 == 0 else reversed(order):
                    phases.append(run_phase(address, producers, arguments.seconds, bad))
            third = max(1, arguments.rounds // 3)
            ratios = [
                produce_p99(with_bad[start : start + third]) / produce_p99(without[start : start + third])
                for start in range(0, arguments.rounds, third)
            ]
            base, worse = produce_p99(without), produce_p99(with_bad)
            pushed = set().union(*(phase.pushed for phase in with_bad))
            lost, delays = processed(internal, pushed)
            trip = p([took for phase in with_bad for took in phase.round_trip], 0.99)
            ratio = f"{worse / base:.2f} [{min(ratios):.2f}-{max(ratios):.2f}]"
            table.add_row(
                kind,
                f"{base:.2f}",
                f"{worse:.2f}",
                ratio,
                f"{trip:.1f}",
                str(len(pushed)),
                f"{p(delays, 0.99):.0f}, {max(delays):.0f} ms",
                str(lost),
            )
            print(f"{kind} done", file=sys.stderr)
    Console(width=160).print(table)


def produce_p99(phases: list[Phase]) -> float:
    """Of all records of these phases."""
    return p([latency for phase in phases for latency in phase.produce], 0.99)


if __name__ == "__main__":
    main()
