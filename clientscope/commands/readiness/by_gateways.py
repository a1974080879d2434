"""Clients judged by what gateways recorded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from clientscope.clock import now_ms
from clientscope.commands.readiness import ReadinessSettings, recorded, table
from clientscope.commands.readiness.recorded import GatewayRecords
from clientscope.commands.readiness.run_result import ReadinessRun
from clientscope.commands.xray.result import NO_BROKER_RELEASE
from clientscope.commands.xray.upgrade import seen_on
from clientscope.errors import SettingsError
from clientscope.kafka.access import KafkaAccess
from clientscope.profiles.owners import Owners
from clientscope.query import Query
from clientscope.readiness.judging import UpgradeQuestion, judge_seen, utc
from clientscope.readiness.rows import JudgedClient, rows
from clientscope.readiness.searching import searched
from clientscope.readiness.seen import MOST_CLIENTS, MOST_LISTS, MOST_UNREAD
from clientscope.records.topics import CONNECTIONS
from udfs.kernels.applications import application_of

_NO_RECORD = "start a gateway of this release, or give PATH: brokers' logs with lines of kafka.request.logger"
UNREAD = (
    "Addresses with connections of which nothing was read, or that sent nothing: {count}. Nothing is read of TLS that passes through, "
    "by a gateway that is bypassed, and by gateways of earlier releases."
)


def look(settings: ReadinessSettings, target: str, owned: Owners, query: Query) -> ReadinessRun:
    """Reads the topics and judges the clients.

    Raises:
        EnvironmentProblem: no broker answers, a topic is missing, or the right to read it.
        SettingsError: a setting is invalid.
    """
    now, since_ms, given = now_ms(), _utc_ms(settings.since), seen_on(settings.broker_release)
    found = recorded.read(KafkaAccess.of(settings))
    seen = list(found.clients.clients(now))
    clusters = {key.cluster for key, _ in seen}
    releases = dict.fromkeys(clusters, given) if given else found.releases
    every = judge_seen(seen, UpgradeQuestion(target, releases, owned, application_of, since_ms), now)
    clients = searched(every, query)
    last_old = max((each.last_old for each in clients), default="")
    dropped = found.clients.dropped
    present = rows(each for each in clients if not each.past)
    return ReadinessRun(
        clients=tuple(clients),
        logs=(),
        sentences=tuple(table.sentences(target, present, last_old, settings.since, utc(found.clients.first_ms))),
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


def _utc_ms(text: str) -> int | None:
    """A time, UTC where it names no zone."""
    if not text:
        return None
    try:
        since = datetime.fromisoformat(text)
    except ValueError:
        raise SettingsError(f"--since: not a date and time: {text[:40]!r}", "write it as in '2026-11-20 08:00', which is UTC") from None
    return int((since if since.tzinfo else since.replace(tzinfo=UTC)).timestamp() * 1000)
