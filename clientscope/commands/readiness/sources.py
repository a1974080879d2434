"""Clients judged by what gateways recorded, or by the brokers' request logs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime

from clientscope import topics
from clientscope.clock import now_ms, utc
from clientscope.commands.readiness import ReadinessSettings
from clientscope.commands.xray.inventory import NO_REQUEST, LogRead, read_logs
from clientscope.commands.xray.result import NO_BROKER_RELEASE, clients_of, judged_clients, not_read, question, seen_on
from clientscope.errors import RecordError, SettingsError
from clientscope.kafka.access import KafkaAccess
from clientscope.kafka.admin import broker_errors
from clientscope.kafka.compacted import read_compacted
from clientscope.kafka.reader import TopicReader
from clientscope.logs import files
from clientscope.model.codec import decode
from clientscope.model.status import BrokerStatus
from clientscope.model.topics import CONNECTIONS, STATUS
from clientscope.profiles.owners import Owners
from clientscope.query import Query
from clientscope.readiness.judging import UpgradeQuestion, judge_seen, oldest_release
from clientscope.readiness.rows import JudgedClient, searched
from clientscope.readiness.seen import MOST_CLIENTS, MOST_LISTS, MOST_UNREAD, SeenClients
from sinks.dashboard.state.connections import event
from udfs.kernels.applications import application_of


@dataclass(frozen=True)
class ReadinessRun:
    """What was read and judged.

    Attributes:
        first: the time of the first record; empty for logs.
        unseen: sentences on what isn't in the result: every bound that was reached.
        complete: whether no bound kept clients from being judged.
        errors: of logs that couldn't be read.
        nothing: why there is nothing to judge; empty if there is something.
        source: what showed the clients.
        times: what its times are.
        read: how much of it was read, and what that number is of, one and several.
    """

    clients: tuple[JudgedClient, ...]
    logs: tuple[LogRead, ...]
    first: str
    unseen: tuple[str, ...]
    complete: bool
    errors: tuple[str, ...]
    nothing: str
    source: str
    times: str
    read: tuple[int, str, str]


_CLIENT_ID = "clientscope-readiness"


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
                broker = decode(BrokerStatus, value)
            except RecordError:
                continue  # a process's
            versions[broker.cluster].append(broker.software_version)
        self.releases = {cluster: oldest_release(of) for cluster, of in versions.items()}


def read_records(kafka: KafkaAccess) -> GatewayRecords:
    """All that gateways have recorded up to now.

    Raises:
        EnvironmentProblem: no broker answers, a topic is missing, or the right to read it.
    """
    topics.verify(kafka, reads=(CONNECTIONS, STATUS))
    found = GatewayRecords()
    with broker_errors(kafka):
        found.add_status(read_compacted(kafka, STATUS, _CLIENT_ID).values())
        with closing(TopicReader(kafka, _CLIENT_ID)) as reader:
            reader.seek(reader.ranges(CONNECTIONS))
            for batches in reader.read():
                for batch in batches.values():
                    found.add_connections((record.timestamp, record.value) for record in batch)
    return found


_NO_RECORD = "start a gateway of this release, or give PATH: brokers' logs with lines of kafka.request.logger"
UNREAD = (
    "Addresses with connections of which nothing was read, or that sent nothing: {count}. Nothing is read of TLS that passes through, "
    "by a gateway that is bypassed, and by gateways of earlier releases."
)


def by_gateways(settings: ReadinessSettings, target: str, owned: Owners, query: Query) -> ReadinessRun:
    """Reads the topics and judges the clients.

    Raises:
        EnvironmentProblem: no broker answers, a topic is missing, or the right to read it.
        SettingsError: a setting is invalid.
    """
    now, since_ms, given = now_ms(), _since_ms(settings.since, of_logs=False), seen_on(settings.broker_release)
    found = read_records(KafkaAccess.of(settings))
    seen = list(found.clients.clients(now))
    clusters = {key.cluster for key, _ in seen}
    releases = dict.fromkeys(clusters, given) if given else found.releases
    every = judge_seen(seen, UpgradeQuestion(target, releases, owned, application_of, since_ms), now)
    clients = searched(every, query)
    dropped = found.clients.dropped
    return ReadinessRun(
        clients=tuple(clients),
        logs=(),
        first=utc(found.clients.first_ms),
        unseen=tuple(_unseen(settings, found, clients, all(releases.get(cluster) for cluster in clusters), now)),
        complete=not (dropped["seen_clients"] or dropped["seen_versions"] or found.unreadable),
        errors=(),
        nothing="" if every else f"no client in the {found.records:,} records of {CONNECTIONS}: {_NO_RECORD}",
        source="gateways' records of connections",
        times="times are UTC",
        read=(found.records, "record read", "records read"),
    )


def _unseen(
    settings: ReadinessSettings, found: GatewayRecords, clients: Sequence[JudgedClient], releases_known: bool, now_ms: int
) -> Iterator[str]:
    dropped = found.clients.dropped
    if past := sum(each.past for each in clients):
        yield f"Clients of which nothing was recorded since {settings.since}, which are not judged: {past:,}."
    if unread := found.clients.unread(now_ms):
        yield UNREAD.format(count=f"{unread:,}")
    if dropped["seen_clients"]:
        yield f"Clients beyond {MOST_CLIENTS:,}, which were forgotten: {dropped['seen_clients']:,}."
    if dropped["unread_addresses"]:
        yield f"Records of addresses of which nothing was read, beyond {MOST_UNREAD:,}: {dropped['unread_addresses']:,}."
    if dropped["seen_versions"]:
        yield f"Lists of versions of one client beyond {MOST_LISTS}, which were forgotten: {dropped['seen_versions']:,}."
    if found.unreadable:
        yield f"Records of connections that could not be decoded: {found.unreadable:,}."
    if not releases_known:
        yield NO_BROKER_RELEASE


def _since_ms(text: str, of_logs: bool) -> int | None:
    """A time, UTC where it names no zone; those of logs name none."""
    if not text:
        return None
    try:
        since = datetime.fromisoformat(text)
    except ValueError:
        since = None
    if since is None or (of_logs and since.tzinfo):
        how = "as the logs do, without a time zone, such as '2026-11-20 08:00'" if of_logs else "as in '2026-11-20 08:00', which is UTC"
        raise SettingsError(f"--since: not a date and time: {text[:40]!r}", f"write it {how}")
    return int((since if since.tzinfo else since.replace(tzinfo=UTC)).timestamp() * 1000)


def by_logs(settings: ReadinessSettings, target: str, owned: Owners, query: Query) -> ReadinessRun:
    """Reads the logs and judges their clients.

    Raises:
        SettingsError: there is no such log, or a setting is invalid.
    """
    release, since_ms = seen_on(settings.broker_release), _since_ms(settings.since, of_logs=True)
    looked = read_logs(files.find(settings.paths), settings.max_bytes)
    inventory, logs = looked.inventory, looked.logs
    asked = question(target, release, owned, logs, since_ms)
    clients = searched(judged_clients(clients_of(inventory), asked), query)
    unseen = not_read(logs, inventory)
    if past := sum(each.past for each in clients):
        unseen.append(f"Clients that sent nothing since {settings.since}, which are not judged: {past:,}.")
    if since_ms is not None and (timeless := sum(not each.last_seen for each in clients)):
        unseen.append(f"Times of clients whose requests are logged without one, which count as sent since then: {timeless:,}.")
    if asked.releases[""] is None:
        unseen.append(NO_BROKER_RELEASE)
    requests = sum(log.requests for log in logs)
    return ReadinessRun(
        clients=tuple(clients),
        logs=tuple(logs),
        first="",
        unseen=tuple(unseen),
        complete=not inventory.left_out and not any(log.stopped for log in logs),
        errors=tuple(looked.errors),
        nothing="" if requests else NO_REQUEST,
        source="the brokers' request logs",
        times="times are as logged",
        read=(requests, "request read", "requests read"),
    )
