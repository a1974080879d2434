"""Latency from a gateway's record to the job's result, under a steady load."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench.stream.load import NEW, PUSHES_PER_S, Load
from bench.stream.running import Running, Spent
from clientscope.clock import now_ms
from clientscope.model.codec import decode
from clientscope.model.connection import ClientConnectionRecord
from clientscope.model.enums import Kind
from clientscope.model.topics import CONNECTIONS, FINDINGS, GAUGES, RESULTS
from clientscope.session.state import UNKNOWN

_LAST_S = 8.0
"""How long the last records have for what follows from them."""


@dataclass(frozen=True)
class Figure:
    """Milliseconds, and what they should be."""

    what: str
    values: list[float]
    p50_goal: float | None
    p99_goal: float


@dataclass(frozen=True)
class Steady:
    """What was seen of the job for so many seconds.

    Attributes:
        spent: by query.
        cores: CPU seconds a second of the job's, by its processes.
        pushes: that had a result, a second.
        driver_mb: resident memory of the Python driver at the end.
    """

    figures: list[Figure]
    spent: dict[str, Spent]
    cores: dict[str, float]
    seconds: float
    pushes: float
    driver_mb: float


def steady(installation: Running, warm_up_s: float, seconds: float, pushes_per_s: float = PUSHES_PER_S) -> Steady:
    """All latencies of records that came in these seconds."""
    with Load(installation.address, pushes_per_s):
        time.sleep(warm_up_s)
        begin = {topic: installation.ends(topic) for topic in (CONNECTIONS, RESULTS)}
        since_ms = now_ms()
        cpu, before, started = installation.job_cpu_seconds(), installation.spent(), time.perf_counter()
        time.sleep(seconds)
        took = time.perf_counter() - started
        cores = {name: (seconds - cpu.get(name, 0.0)) / took for name, seconds in installation.job_cpu_seconds().items()}
        spent = {query: after.since(before[query]) for query, after in installation.spent().items()}
        until_ms, driver_mb = now_ms(), installation.driver_megabytes()
    time.sleep(_LAST_S)
    read = ((json.loads(message.value()), message.timestamp()[1]) for message in installation.each(RESULTS, begin[RESULTS]))
    results = [(value["client_id"], value["received_ms"], at) for value, at in read if since_ms <= value["received_ms"] < until_ms]
    pushed = {client: received for client, received, _ in results}
    figures = [
        Figure("from a push at the gateway to its result", [at - received for _, received, at in results], 400, 1000),
        Figure("from the first push with a mistake to its finding", _found(installation, pushed), None, 2500),
        Figure("from a change of a count to its gauge", _changes(installation, begin[CONNECTIONS]), 700, 1500),
    ]
    return Steady(figures, spent, cores, took, len(results) / took, driver_mb)


def _found(installation: Running, pushed: Mapping[str, int]) -> list[float]:
    """For each application that is new, how long until its mistake was a finding.

    Args:
        pushed: client id → when the gateway received its push.
    """
    first: dict[str, int] = {}
    for message in installation.each(FINDINGS):
        if message.value() is not None:
            value = json.loads(message.value())
            if value["code"] == "AN101":
                first.setdefault(value["application"].get("client_id"), message.timestamp()[1])
    return [first[client] - at for client, at in pushed.items() if client.startswith(f"{NEW}-") and client in first]


def _changes(installation: Running, begin: Sequence[int]) -> list[float]:
    """For each change of a series' count, how long until a gauge in the topic was at least as new."""
    written: dict[str | None, list[tuple[int, int]]] = defaultdict(list)  # under None what is of a gateway as a whole
    for message in installation.each(GAUGES):
        if message.value() is not None:
            value = json.loads(message.value())
            written[value.get("software_name")].append((value["sequence"], message.timestamp()[1]))
    waits = []
    for message in installation.each(CONNECTIONS, begin):
        change = decode(ClientConnectionRecord, message.value())
        if change.kind in (Kind.OPENED, Kind.IDENTIFIED, Kind.CLOSED):
            for count in change.counts:
                if count.connections == 0 or count.software_name == UNKNOWN:
                    continue  # its gauge is a tombstone, or is one a moment later, which doesn't say what it knows
                later = [at for sequence, at in written[count.software_name] if sequence >= change.sequence]
                if later:
                    waits.append(min(later) - change.timestamp_ms)
    return waits
