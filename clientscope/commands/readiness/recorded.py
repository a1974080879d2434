"""Clients by what gateways recorded: both topics, read from their beginnings to their ends."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from contextlib import closing

from kafka.errors import KafkaError

from clientscope import topics
from clientscope.errors import RecordError
from clientscope.kafka.access import KafkaAccess
from clientscope.kafka.admin import no_broker
from clientscope.kafka.compacted import read_compacted
from clientscope.kafka.reader import TopicReader
from clientscope.readiness.judging import oldest_release
from clientscope.readiness.seen import SeenClients
from clientscope.records.topics import CONNECTIONS, STATUS
from clientscope.status.record import BrokerStatus
from clientscope.topic_values import parse
from sinks.dashboard.state.connection_events import event

CLIENT_ID = "clientscope-readiness"


class GatewayRecords:
    """What the topics have.

    Attributes:
        clients: all that gateways have seen.
        releases: by cluster, the oldest release of its brokers; None where it isn't known.
        records: of connections that were read, of which ``unreadable`` could not be decoded.
    """

    def __init__(self) -> None:
        self.clients = SeenClients()
        self.releases: dict[str, str | None] = {}
        self.records = self.unreadable = 0

    def add_connections(self, records: Iterable[tuple[int, bytes | None]]) -> None:
        """Takes values of ``clientscope.connections``, each with Kafka's time."""
        timed = [(at_ms, value) for at_ms, value in records if value is not None]
        self.records += len(timed)
        for at_ms, value in timed:
            try:
                self.clients.apply(event(value), at_ms)
            except RecordError:
                self.unreadable += 1

    def add_status(self, values: Iterable[bytes]) -> None:
        """Takes all values of ``clientscope.status``; those of brokers count."""
        versions: dict[str, list[str]] = defaultdict(list)
        for value in values:
            try:
                broker = parse(BrokerStatus, value)
            except RecordError:
                continue  # a process's
            versions[broker.cluster].append(broker.software_version)
        self.releases = {cluster: oldest_release(of) for cluster, of in versions.items()}


def read(kafka: KafkaAccess) -> GatewayRecords:
    """All that gateways have recorded up to now.

    Raises:
        EnvironmentProblem: no broker answers, a topic is missing, or the right to read it.
    """
    topics.verify(kafka, reads=(CONNECTIONS, STATUS))
    found = GatewayRecords()
    try:
        found.add_status(read_compacted(kafka, STATUS, CLIENT_ID).values())
        with closing(TopicReader(kafka, CLIENT_ID)) as reader:
            reader.seek(reader.ranges(CONNECTIONS))
            for batches in reader.read():
                for batch in batches.values():
                    found.add_connections((record.timestamp, record.value) for record in batch)
    except (KafkaError, TimeoutError) as error:
        raise no_broker(kafka, error) from None
    return found
