"""Consumers that read what transactional producers write, without waiting for commits (AN212)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from streaming.findings import fleet
from streaming.findings.fact_reports import FactReports
from streaming.findings.inputs import There
from udfs.kernels.applications import of_client
from udfs.rules.reading import isolation_level_unfit

_ISOLATION, _UNCOMMITTED = "isolation.level", "read_uncommitted"
_MOST_NAMED = 5

_Written = Mapping[tuple[str, str], tuple[str, str]]
"""Cluster and `_alike` of a topic → its name, and an application that writes it in transactions."""


def uncommitted_reads(live: fleet.Live, reports: FactReports, judges: fleet.Judges, now_ms: int) -> dict[str, fleet.Found]:
    """One finding for each application that reads such a topic, by what its clients and the topic's producers say in their metrics."""
    written = _written(live, reports.topics("producer", now_ms))
    topics_read = reports.topics("consumer", now_ms) if written else {}
    found: dict[str, fleet.Found] = {}
    for application, clients in live.items() if topics_read else ():
        lines: dict[str, str] = {}
        for there in {push.there for push in clients.pushes if push.settings.get(_ISOLATION) == _UNCOMMITTED}:
            for topic in topics_read.get(there, ()):
                if (writer := written.get((there.cluster, _alike(topic)))) is not None:
                    lines[writer[0]] = f"{writer[0]}: {writer[1]} writes it in transactions"
        if lines and judges.limits(isolation_level_unfit, application) is not None:
            named = [lines[topic] for topic in sorted(lines)]
            if len(named) > _MOST_NAMED:
                named[_MOST_NAMED:] = [f"and {len(named) - _MOST_NAMED} more topics"]
            of_one = fleet.of_application(live, application)
            found |= fleet.one(isolation_level_unfit, application, {_ISOLATION: (_UNCOMMITTED, named)}, of_one, clients.newest_ms)
    return found


def _written(live: fleet.Live, said: Mapping[There, list[str]]) -> _Written:
    transactional = {
        push.there for clients in live.values() if said for push in clients.pushes if push.transactional and push.there in said
    }
    topics: defaultdict[tuple[str, str], set[tuple[str, str]]] = defaultdict(set)
    for there in transactional:
        for topic in said[there]:
            topics[there.cluster, _alike(topic)].add((topic, of_client(there.client_id) or f"a producer at {there.address}"))
    return {place: min(writers) for place, writers in topics.items()}  # the same one each time


def _alike(topic: str) -> str:
    """A consumer before Kafka 4.1 names topics without dots (KIP-1109); Kafka warns of two topics that differ in that alone."""
    return topic.replace(".", "_")
