"""Views of the whole state: the overview, lists, groups, one client, numbers by minute.

Where rows are many, they are fetched under the lock and made into answers outside of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

from clientscope.api.clients import (
    BrokerItem,
    Brokers,
    ClientDetail,
    ClientGroups,
    ClientList,
    ClientRow,
    Connections,
    Facets,
    GaugeList,
    GroupBy,
    Series,
)
from clientscope.api.common import Feed, Listing
from clientscope.api.findings import FindingGroups, FindingList, Results
from clientscope.api.overview import Check, GatewayStatus, Overview, SoftwareRow, Versions
from clientscope.model.enums import Origin
from clientscope.model.finding import Finding
from clientscope.model.finding import State as FindingState
from clientscope.model.gauge import GatewayGauge, Gauge
from clientscope.model.topics import CONNECTIONS, FINDINGS, GAUGES, RESULTS, STATUS
from clientscope.profiles.owners import NO_OWNERS, Owners
from clientscope.query import BROKERS, CLIENTS, Query, parse, parse_sort
from clientscope.query import FINDINGS as QUERY_FINDINGS
from clientscope.readiness.seen import SeenClients
from clientscope.report.findings import SORTS, FindingChoice
from clientscope.report.text import counted
from sinks.dashboard.rows import lists as rows
from sinks.dashboard.rows.judging import IndexedPush, key_of_client, tenant
from sinks.dashboard.rows.lists import GROUP_SORTS, Lists
from sinks.dashboard.rows.sql import CLIENT_SORTS, CONNECTION_SORTS
from sinks.dashboard.state.findings import FindingGroupBy
from sinks.dashboard.state.gauges import MINUTE_MS, MinuteTable
from sinks.dashboard.state.known import Known
from sinks.dashboard.state.pushes import unpack
from sinks.dashboard.state.status import differences

SOFTWARE_ROWS = 200
"""Rows of the gauge in an overview; the rest is summed."""


MOST_STARTS = 10
MOST_CONNECTIONS = 100
"""Connections on one client's page."""

Answer = TypeVar("Answer", bound=Listing)
Item = TypeVar("Item")


class SeenNow(NamedTuple):
    """What is known for upgrade readiness at one moment.

    Attributes:
        known: whether the topics have been read to their ends; else nothing here counts.
        clients: a copy.
        releases: by cluster, the oldest release of its brokers.
    """

    version: int
    feed: Feed
    known: bool
    clients: SeenClients
    releases: Mapping[str, str | None]


@dataclass(frozen=True)
class Counts:
    """For ``/metrics``.

    Attributes:
        series: the gauges as they are; none before the feed was first live.
        gateways: the topic's record of each gateway; likewise.
        findings: by severity and state; None while nothing is known of them, or nothing was judged.
        pushes, fired: since the feed was first live, so that a restart isn't taken for a burst.
        records, undecodable, dropped: since the start.
    """

    series: list[Gauge]
    gateways: list[GatewayGauge]
    findings: dict[tuple[str, FindingState], int] | None
    pushes: dict[str, int]
    fired: dict[tuple[str, str], int]
    records: dict[str, int]
    undecodable: dict[tuple[str, str], int]
    dropped: dict[str, int]


class State(Known):
    """What the topics say, as of the last record applied.

    Every method may be called from any thread.  Before the feed is live, views say so and hold no numbers.  Those that take a search or an
    order raise QueryError where it can't be read.
    """

    def __init__(self, owners: Owners = NO_OWNERS, **limits: int) -> None:
        super().__init__(owners=owners, **limits)
        self._overview: Overview | None = None
        # Each open page asks for the same ones at each change, and 32,000 clients take 25 ms.
        self._facets = lru_cache(100)(self._facets_of_second)

    def overview(self, now_ms: int) -> Overview:
        """See `Overview`."""
        with self._lock:
            if self._overview is None or self._overview.version != self.version:
                self._overview = self._make_overview(now_ms)
            return replace(
                self._overview,
                now_ms=now_ms,
                last_record_ms=self._last_record_ms,
                health=self._status.health(now_ms) if self._was_live else [],
                pushes_per_minute=self._pushes_of_minute(now_ms) if self._was_live else None,
            )

    def _make_overview(self, now_ms: int) -> Overview:
        known, nothing_judged = self._was_live, self._nothing_judged()
        clients, judged = self._reading.counts() if known else (None, None)
        rows: Counter[tuple[str, str, str]] = Counter()
        for g in self._gauges.series.values() if known else ():
            rows[g.listener, g.software_name, g.software_version] += g.connections
        largest = sorted(rows.items(), key=lambda row: (-row[1], row[0]))[:SOFTWARE_ROWS]
        gateways = self._gateways() if known else []
        return Overview(
            version=self.version,
            versions=Versions(
                gauges=self._versions[GAUGES],
                connections=self._versions[CONNECTIONS],
                results=self._versions[RESULTS],
                findings=self._versions[FINDINGS],
                status=self._versions[STATUS],
            ),
            feed=self.feed.now,
            feed_detail=self.feed.detail,
            progress=self.feed.progress,
            now_ms=now_ms,
            last_record_ms=self._last_record_ms,
            last_change_ms=self._last_change_ms,
            clusters=sorted({g.cluster for g in gateways} | {g.cluster for g in self._gauges.series.values()}) if known else [],
            connections=rows.total() if known else None,
            software_versions=len({row[1:] for row in rows}) if known else None,
            clients=clients,
            judged=judged,
            pushes=self._pushes.day[Origin.PUSHED] if known else None,
            findings=self._findings.overview() if known and not nothing_judged else None,
            findings_detail=nothing_judged or None if known else None,
            software=[
                SoftwareRow(listener=listener, software_name=name, software_version=version, connections=count)
                for (listener, name, version), count in sorted(largest)  # by name, so that rows stay where they are
            ],
            software_other=rows.total() - sum(count for _, count in largest),
            gateways=gateways,
            checks=self._checks() if known else [],
        )

    def _pushes_of_minute(self, now_ms: int) -> int | None:
        """Pushes in the last whole minute."""
        *_, last, _present = self._pushes_by_minute(now_ms, self._series.minutes(now_ms, 2))
        return last

    def _pushes_by_minute(self, now_ms: int, minutes: list[int]) -> list[int | None]:
        """Pushes; None before the first that was judged in the day, and after the last one while the query that judges isn't well."""
        pushes = {minute: counted[Origin.PUSHED] for minute, counted in self._pushes.minutes.items()}
        first, last = min(pushes, default=None), max(pushes, default=None)
        well = self._status.condition("query", "live", now_ms) in (None, "ok")
        return [
            pushes.get(minute, 0) if first is not None and last is not None and first <= minute and (well or minute <= last) else None
            for minute in minutes
        ]

    def _nothing_judged(self) -> str:
        """Why it is unknown whether anything is wrong; empty if it is known."""
        if len(self._findings):
            return ""
        if self._pushes.day["fired"]:
            return "Rules fired, but no finding has come of it yet: is clientscope stream running?"
        return "" if self._pushes.day["judged"] else "Nothing was judged yet."

    def _gateways(self) -> list[GatewayStatus]:
        told = {row.place: row for row in self._gauges.gateways.values()}
        found = []
        for each in self._connections.gateways():
            row = told.get((each.cluster, each.broker, each.gateway))
            update = {name: getattr(row, name) for name in ("instances", "opened_per_minute", "closed_per_minute")} if row else {}
            found.append(replace(each, **update))
        return found

    def _checks(self) -> list[Check]:
        gateways, lost = self._connections.gateways(), self._connections.lost()
        late = sorted(gateway.gateway for gateway in gateways if gateway.late)
        undecodable = self._undecodable.total()
        dropped = self._dropped().total()
        return [
            _check("gateways", f"No heartbeat from {', '.join((lost + late)[:3])}." if lost or late else ""),
            _check("records", f"{counted(undecodable, 'record')} could not be decoded." if undecodable else ""),
            _check("capacity", f"{counted(dropped, 'record')} did not fit into what is kept in memory." if dropped else ""),
        ]

    @property
    def _reading(self) -> Lists:
        return self._connections.reading

    def _listed(
        self,
        answer: type[Answer],
        topic: str,
        read: Callable[[], tuple[list[Any], int]],
        offset: int = 0,
        shown: Callable[[Any], object] | None = None,
        **more: Any,
    ) -> Answer:
        """A list: of what is read under the lock, and shown outside of it; unknown before the topics were read to their ends."""
        with self._lock:
            version, feed = self._versions[topic], self.feed.now
            items, total = read() if self._was_live else ([], None)
        items = [*map(shown, items)] if shown else items
        return answer(version=version, feed=feed, total=total, offset=offset, **{"items": items, **more})

    def gauges(self, limit: int) -> GaugeList:
        """See `GaugeList`."""

        def read() -> tuple[list[Gauge], int]:
            return _page(sorted(self._gauges.series.values(), key=lambda g: (-g.connections, g.series)), 0, limit)

        return self._listed(GaugeList, GAUGES, read)

    def connections(self, limit: int, *, offset: int = 0, q: str = "", sort: str = "", key: str = "", now_ms: int = 0) -> Connections:
        """See `Connections`."""
        query, keys = parse(q, CLIENTS, now_ms), parse_sort(sort, CONNECTION_SORTS)
        return self._listed(
            Connections, CONNECTIONS, lambda: self._reading.connections(query, keys, offset, limit, key), offset, rows.connection
        )

    def clients(self, limit: int, *, offset: int = 0, q: str = "", sort: str = "", now_ms: int = 0) -> ClientList:
        """See `ClientList`."""
        query, keys = parse(q, CLIENTS, now_ms), parse_sort(sort, CLIENT_SORTS)
        return self._listed(ClientList, CONNECTIONS, lambda: self._reading.clients(query, keys, offset, limit), offset, rows.client)

    def client_groups(self, group: GroupBy, limit: int, *, offset: int = 0, q: str = "", sort: str = "", now_ms: int = 0) -> ClientGroups:
        """See `ClientGroups`."""
        query, keys = parse(q, CLIENTS, now_ms), parse_sort(sort, GROUP_SORTS)
        return self._listed(
            ClientGroups,
            CONNECTIONS,
            lambda: self._reading.groups(query, group, keys, offset, limit),
            offset,
            group=group,
        )

    def facets(self, limit: int, *, q: str = "", now_ms: int = 0) -> Facets:
        """See `Facets`."""
        with self._lock:  # who asks meanwhile finds them made
            return self._facets(limit, q, now_ms // 1_000, self.feed.now)

    def _facets_of_second(self, limit: int, q: str, second: int, feed: Feed) -> Facets:
        query = parse(q, CLIENTS, second * 1_000)
        return self._listed(Facets, CONNECTIONS, lambda: self._reading.facets(query, limit))

    def export(self, *, q: str = "", sort: str = "", now_ms: int = 0) -> Iterator[ClientRow] | None:
        """All clients that ``q`` leaves, as they are when each is reached; None while the topics are being read for the first time."""
        query, keys = parse(q, CLIENTS, now_ms), parse_sort(sort, CLIENT_SORTS)
        with self._lock:
            if not self._was_live:
                return None
            ids = self._reading.client_ids(query, keys)
        return self._exported(ids)

    def _exported(self, ids: list[int]) -> Iterator[ClientRow]:
        for part in rows.chunks(ids):
            with self._lock:
                found = self._reading.client_rows(part)
            yield from map(rows.client, found)

    def may_have_pushes(self, from_ms: int) -> bool:
        """Whether a record of ``clientscope.configs`` is of that time or later, or may be, as the topics aren't read to their ends."""
        with self._lock:
            return self.feed.now != "live" or self._index.has_any(from_ms)

    def one_client(self, key: str) -> tuple[ClientDetail, IndexedPush | None, list[IndexedPush]] | None:
        """What is known of one client at one moment, without its configuration and starts; None where nothing is.

        Returns:
            With it its last push, and pushes of its starts, the newest first, one more than is shown.
        """
        with self._lock:
            row = self._reading.one(key) if self._was_live else None
            if row is None:
                return None
            client = rows.client(row)
            names = tenant(client.principal), client.client_id or "", client.address
            key_of_push = key_of_client(client.cluster, client.principal, client.address, client.instance_id)
            push = self._index.of_client(*names, key_of_push)
            starts, of_application = self._index.starts(push, MOST_STARTS + 1) if push else ([], False)
            fingerprints = self._connections.writing.judging.fingerprints(*names, client.application or "")
            found = sorted(filter(None, map(self._findings.one, fingerprints)), key=lambda finding: finding.urgency)
            opened, _ = self._reading.connections(Query(), (), 0, MOST_CONNECTIONS, key)
            detail = ClientDetail(
                version=self._versions[CONNECTIONS],
                feed=self.feed.now,
                client=client,
                connected=client.disconnected_ms is None,
                connections=[*map(rows.connection, opened)],
                findings=found if found or client.findings is not None else None,
                not_judged_by=None if push is None or push.not_judged_by is None else unpack(push.not_judged_by),
                starts_of="application" if of_application else "client",
            )
            return detail, push, starts

    def brokers(self, now_ms: int, q: str = "") -> Brokers:
        """See `Brokers`."""
        query = parse(q, BROKERS, now_ms)

        def read() -> tuple[list[BrokerItem], int]:
            return _page(self._status.brokers(now_ms, query))

        answer = self._listed(Brokers, STATUS, read, differences=[])
        return replace(answer, differences=differences(answer.items))

    def seen_clients(self) -> SeenNow:
        """What gateways have seen of clients, for upgrade readiness."""
        with self._lock:
            return SeenNow(
                version=self._versions[CONNECTIONS],
                feed=self.feed.now,
                known=self._was_live,
                clients=self._seen.copy(),
                releases=self._status.releases(),
            )

    def series_by_minute(self, now_ms: int, count: int) -> Series:
        """See `Series`."""
        with self._lock:
            minutes = self._series.minutes(now_ms, count)
            total, versions, other, opened, closed = (self._series if self._was_live else MinuteTable()).numbers(minutes)
            return Series(
                version=self.version,
                feed=self.feed.now,
                minutes=[minute * MINUTE_MS for minute in minutes],
                connections=total,
                versions=versions,
                other=other,
                opened=opened,
                closed=closed,
                pushes=self._pushes_by_minute(now_ms, minutes) if self._was_live else [None] * count,
            )

    def results(self, limit: int, pushed_only: bool = False) -> Results:
        """See `Results`."""
        return self._listed(Results, RESULTS, lambda: _page(self._pushes.results(pushed_only), 0, limit))

    def findings(self, choice: FindingChoice, offset: int, limit: int, sort: str = "", now_ms: int = 0) -> FindingList:
        """See `FindingList`."""
        query, keys = parse(choice.q, QUERY_FINDINGS, now_ms), parse_sort(sort, SORTS)
        return self._listed(FindingList, FINDINGS, lambda: self._findings.find(choice, query, keys, offset, limit), offset)

    def finding_groups(self, choice: FindingChoice, group: FindingGroupBy, offset: int, limit: int, now_ms: int = 0) -> FindingGroups:
        """See `FindingGroups`."""
        query = parse(choice.q, QUERY_FINDINGS, now_ms)
        return self._listed(FindingGroups, FINDINGS, lambda: _page(self._findings.grouped(choice, query, group), offset, limit), offset)

    def finding(self, fingerprint: str) -> Finding | None:
        """One finding; None if unknown."""
        with self._lock:
            return self._findings.one(fingerprint)

    def counts(self) -> Counts:
        """See `Counts`."""
        with self._lock:
            return Counts(
                series=list(self._gauges.series.values()) if self._was_live else [],
                gateways=list(self._gauges.gateways.values()) if self._was_live else [],
                findings=self._findings.counts() if self._was_live and not self._nothing_judged() else None,
                pushes=dict(self._pushes.pushes),
                fired=dict(self._pushes.findings),
                records=dict(self._records),
                undecodable=dict(self._undecodable),
                dropped=dict(self._dropped()),
            )


def _page(items: list[Item], offset: int = 0, limit: int | None = None) -> tuple[list[Item], int]:
    """A part of a list, and its length."""
    return items[offset:][:limit], len(items)


def _check(name: str, warning: str) -> Check:
    return Check(name=name, state="warn" if warning else "ok", detail=warning)
