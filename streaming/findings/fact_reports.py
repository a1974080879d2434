"""What clients said lately in their own metrics (KIP-714), as far as rules hold it against settings (AN210, AN212, AN406 to AN408)."""

from __future__ import annotations

import sys
import threading
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from clientscope.catalog.client_facts import ClientKind
from clientscope.fair_share import HeldEntry, beyond
from clientscope.findings.fingerprints import application_key
from clientscope.model.client_key import tenant_of
from streaming.findings.inputs import There
from streaming.limits import Limit, Overflow
from udfs.kernels.applications import of_client
from udfs.kernels.client_facts import MOST_TOPICS

REMEMBERED_MS = 60 * 60_000
"""The worst counts for so long."""

SAMPLED_MS = 60_000
"""A Java client's averages are those of the last minute (two of ``metrics.sample.window.ms``), however often it pushes them."""

LASTING_MS = 15 * 60_000
"""Reports that are no further apart belong together: three intervals of Kafka's default."""

INTERVAL_MS = 5 * 60_000
"""Retries are counted for each such interval of Kafka's clock."""

COMPARED = 12
"""So many intervals before a change are compared with as many after it."""

KEPT_MS = 3 * COMPARED * INTERVAL_MS
"""A client's retries are remembered for so long, and a client that doesn't report."""

REPORTS = Limit(
    "fact_reports",
    20_000,
    "clients whose own metrics are known",
    "AN210, AN212 and AN406 to AN408 don't judge those of whoever has most",
    "low",
    "ask fewer clients for their metrics (--client-telemetry-client-id, --client-telemetry-principal)",
)

CLIENT_TOPICS = Limit(
    "client_topics", MOST_TOPICS, "topics of one client whose metrics are known", "AN212 forgets those that it used longest ago", "low",
    "a client that mirrors a cluster may have so many; AN212 judges the others",
)  # fmt: skip

FactName = Literal["poll_interval_max_ms", "queue_time_avg_ms", "fetch_rate"]
"""Of what the worst is remembered; of ``fetch_rate`` beside ``fetch_size_avg_bytes``."""


class FactReport(NamedTuple):
    """One push of a client's metrics: facts by their names in `clientscope.catalog.client_facts`, None where the client doesn't say one.

    Attributes:
        at_ms: when Kafka took it.
        topics: that it wrote or read since its report before, by ``client_kind``.
    """

    there: There
    at_ms: int
    poll_interval_max_ms: float | None = None
    queue_time_avg_ms: float | None = None
    fetch_rate: float | None = None
    fetch_size_avg_bytes: float | None = None
    record_rate: float | None = None
    record_retries: float | None = None
    client_kind: ClientKind | None = None
    topics: Sequence[str] = ()


class Worst(NamedTuple):
    """The worst value of the last hour, when it was said, and what was said with it."""

    at_ms: int
    value: float
    beside: float = 0.0


@dataclass(slots=True)
class _Said:
    """What one client said.

    Attributes:
        application: `clientscope.findings.fingerprints.application_key` of its application, if it is a producer.
        lasting: what all reports of the last minute had in common, with the time of the first.
        retries: an interval's number → retries in it.
        topics: that it wrote or read → when it last said so; the newest last.
    """

    application: str
    at_ms: int = 0
    lasting: dict[FactName, Worst] = field(default_factory=dict)
    worst: dict[FactName, Worst] = field(default_factory=dict)
    retries: dict[int, float] = field(default_factory=dict)
    topics: dict[tuple[ClientKind, str], int] = field(default_factory=dict)


class FactReports:
    """The worst that each client said in the last hour, and its retries. From any thread.

    The longest time between polls is a maximum already. Of averages and rates that counts which lasts for a minute or more, by two reports
    at least: one alone may be a start, or a broker's.

    Attributes:
        full: counts clients that were left out; topics_full: topics of a client.
    """

    def __init__(self, most: int = REPORTS.most) -> None:
        self.full, self.topics_full = Overflow(REPORTS), Overflow(CLIENT_TOPICS)
        self._most = most
        self._lock = threading.Lock()
        self._clients: dict[There, _Said] = {}

    def take(self, reports: Iterable[FactReport], now_ms: int) -> None:
        """Takes in what clients said."""
        with self._lock:
            for report in reports:
                client = self._clients.get(report.there)
                if client is None:
                    client = self._clients[report.there] = _Said(
                        application_key(report.there.principal, of_client(report.there.client_id), None)
                    )
                _take(client, report)
                if _take_topics(client, report):
                    self.topics_full.left_out(tenant_of(report.there.principal, report.there.address))
            self._make_room(now_ms)

    def worst(self, fact: FactName, now_ms: int) -> dict[There, Worst]:
        """Of each client that said it within the last hour."""
        with self._lock:
            found = {there: client.worst[fact] for there, client in self._clients.items() if fact in client.worst}
        return {there: each for there, each in found.items() if now_ms - each.at_ms < REMEMBERED_MS}

    def topics(self, kind: ClientKind, now_ms: int) -> dict[There, list[str]]:
        """Of each client the topics that it wrote or read within the last hour."""
        found: defaultdict[There, list[str]] = defaultdict(list)
        with self._lock:
            for there, client in self._clients.items():
                for (its_kind, topic), at_ms in client.topics.items():
                    if its_kind == kind and now_ms - at_ms < REMEMBERED_MS:
                        found[there].append(topic)
        return found

    def retries(self, applications: Iterable[str]) -> Mapping[str, Mapping[int, float]]:
        """Of these applications' producers: an interval's number, which is its begin divided by `INTERVAL_MS` → retries in it.

        An interval in which no producer reported is missing.
        """
        counts: dict[str, defaultdict[int, float]] = {application: defaultdict(float) for application in applications}
        with self._lock:
            for client in self._clients.values():
                if client.retries and client.application in counts:
                    for interval, count in client.retries.items():
                        counts[client.application][interval] += count
        return counts

    def _make_room(self, now_ms: int) -> None:
        self._clients = {there: client for there, client in self._clients.items() if now_ms - client.at_ms < KEPT_MS}
        if len(self._clients) > self._most:
            held = [HeldEntry(there, tenant_of(there.principal, there.address), 0, client.at_ms) for there, client in self._clients.items()]
            gone = beyond(held, self._most)
            self.full.dropped(gone)
            left_out = {each.key for each in gone}
            self._clients = {there: client for there, client in self._clients.items() if there not in left_out}


def _take(client: _Said, report: FactReport) -> None:
    at_ms = report.at_ms
    client.at_ms = max(client.at_ms, at_ms)
    if report.poll_interval_max_ms is not None:
        _candidate(client, "poll_interval_max_ms", Worst(at_ms, report.poll_interval_max_ms))
    if report.queue_time_avg_ms is not None:
        _lasts(client, "queue_time_avg_ms", Worst(at_ms, report.queue_time_avg_ms))
    if report.fetch_rate is not None and report.fetch_size_avg_bytes is not None and report.record_rate is not None:
        # A fetch that ends by fetch.max.wait.ms brings no record, and a consumer without news has two a second at each broker.
        _lasts(client, "fetch_rate", Worst(at_ms, min(report.fetch_rate, report.record_rate), report.fetch_size_avg_bytes))
    if report.record_retries is not None:
        interval = at_ms // INTERVAL_MS
        client.retries[interval] = client.retries.get(interval, 0) + report.record_retries
        if len(client.retries) > KEPT_MS // INTERVAL_MS:
            del client.retries[min(client.retries)]


def _take_topics(client: _Said, report: FactReport) -> bool:
    """Whether there were too many."""
    if report.client_kind is None or not report.topics:
        return False
    for topic in reversed(report.topics):  # the one with the most records last, so that it stays
        place = report.client_kind, sys.intern(topic)
        client.topics.pop(place, None)
        client.topics[place] = report.at_ms
    is_full = len(client.topics) > CLIENT_TOPICS.most
    while len(client.topics) > CLIENT_TOPICS.most:
        del client.topics[next(iter(client.topics))]
    return is_full


def _lasts(client: _Said, fact: FactName, new: Worst) -> None:
    begun = client.lasting.get(fact)
    if begun is None or not 0 <= new.at_ms - begun.at_ms <= LASTING_MS:
        client.lasting[fact] = new
        return
    lasting = Worst(begun.at_ms, min(begun.value, new.value), max(begun.beside, new.beside))
    if new.at_ms - begun.at_ms < SAMPLED_MS:
        client.lasting[fact] = lasting
    else:
        client.lasting[fact] = new
        _candidate(client, fact, lasting._replace(at_ms=new.at_ms))


def _candidate(client: _Said, fact: FactName, new: Worst) -> None:
    known = client.worst.get(fact)
    if known is None or new.value >= known.value or new.at_ms - known.at_ms >= REMEMBERED_MS:
        client.worst[fact] = new
