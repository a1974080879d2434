"""Cost of the gauges of a large fleet: ``make bench-gauges``.

A thousand gateways of a hundred versions each, with a heartbeat each five seconds, made by a generator (the gateways' own registry, without
a gateway or a client). A batch is one second, so the heartbeats of two hundred gateways. Figures are CPU time of one core, as a share of
that second: of the live query's kernel, of reading what it wrote, and of the engine. ``make bench-stream`` has what Spark and Kafka take.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from bench.records import passed, taken
from clientscope.garbage import settle
from clientscope.gateway.place import GatewayPlace
from clientscope.gateway.registry import ConnectionRegistry
from clientscope.model.codec import encode
from clientscope.model.input import InputRecord
from clientscope.model.topics import CONNECTIONS
from clientscope.session.state import Identity
from streaming.gauges import Gauges

GATEWAYS, VERSIONS, HEARTBEAT_S = 1_000, 100, 5
_START_MS = 1_700_000_000_000
T = TypeVar("T")


def batches(seconds: int) -> Iterator[list[bytes]]:
    """The records of each second; the first has all that is open, and each gateway's first heartbeat."""
    places = (GatewayPlace("cluster", number, f"gateway-{number}:9092", _START_MS, "CLIENT") for number in range(GATEWAYS))
    registries = [ConnectionRegistry(place) for place in places]
    records = []
    for registry in registries:
        opened = (registry.opened(number, "10.0.0.1", _START_MS, Identity("app", "java", f"4.{number}.0")) for number in range(VERSIONS))
        records += [encode(each) for each in (*opened, *registry.heartbeat(_START_MS, HEARTBEAT_S * 1000))]
    yield records
    for second in range(1, seconds + 1):
        at_ms = _START_MS + second * 1000
        yield [encode(each) for one in registries[second % HEARTBEAT_S :: HEARTBEAT_S] for each in one.heartbeat(at_ms, HEARTBEAT_S * 1000)]


def _timed(work: Callable[[], T]) -> tuple[float, T]:
    began = time.process_time()
    result = work()
    return time.process_time() - began, result


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench.gauges", description=__doc__)
    parser.add_argument("--seconds", type=int, default=30, metavar="N", help="(default: %(default)s)")
    options = parser.parse_args()
    gauges = Gauges({}, now=0)
    spent: list[tuple[float, float, float]] = []
    for second, values in enumerate(batches(options.seconds)):
        kernel_s, made = _timed(lambda values=values: passed(CONNECTIONS, values))  # type: ignore[misc]
        reading_s, entries = _timed(lambda made=made: [each for each in taken(made) if isinstance(each, InputRecord)])  # type: ignore[misc]
        engine_s, _ = _timed(lambda entries=entries: gauges.apply(entries, now=0))  # type: ignore[misc]
        if second == HEARTBEAT_S:  # each gateway's second heartbeat is read
            settle()  # as the job does
        if second > HEARTBEAT_S:
            spent.append((kernel_s, reading_s, engine_s))
    assert gauges.size() >= GATEWAYS * VERSIONS
    print(f"{GATEWAYS:,} gateways of {VERSIONS} versions, a heartbeat each {HEARTBEAT_S} s: cores, median of {len(spent)} seconds")
    for name, seconds in zip(("kernel", "reading what it wrote", "engine"), zip(*spent, strict=True), strict=True):
        print(f"{name:24}{statistics.median(seconds):8.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
