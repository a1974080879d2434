"""All that the page knows, rebuilt from topics: records in, views out.  No I/O; time is passed in."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from clientscope.errors import RecordError
from clientscope.findings.record import State as FindingState
from clientscope.records.codec import ClientConnectionRecord, Kind, decode
from clientscope.records.topics import CONNECTIONS, FINDINGS, GAUGES, RESULTS
from clientscope.topic_values import parse
from sinks.dashboard.connections import ConnectionTable
from sinks.dashboard.findings import Choice, FindingTable
from sinks.dashboard.gauges import GaugeTable
from sinks.dashboard.models import (
    Check,
    Clients,
    Connections,
    Feed,
    Findings,
    Gateway,
    Gauges,
    Overview,
    Progress,
    Results,
    SoftwareRow,
    Versions,
)
from sinks.dashboard.pushes import PushTable
from sinks.dashboard.values import GatewayValue, GaugeValue, ResultValue

_KINDS = frozenset(Kind)

SOFTWARE_ROWS = 200
"""Rows of the gauge in an overview; the rest is summed."""

DISAGREE_AFTER_MS = 5_000
"""For how long the gauges may differ from the gateways' records before that is worth telling: they are two ways through."""


@dataclass(frozen=True)
class Record:
    """One record of a topic.

    Attributes:
        timestamp_ms: LogAppendTime.
        ahead: whether it has the header `clientscope.records.topics.AHEAD`.
    """

    topic: str
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    ahead: bool = False


@dataclass(frozen=True)
class Counts:
    """Counters since the feed was first live, so that a restart isn't taken for a burst; and of records since the start."""

    pushes: dict[str, int]
    findings: dict[tuple[str, str], int]
    records: dict[str, int]
    undecodable: dict[tuple[str, str], int]
    dropped: dict[str, int]


class State:
    """What the topics say, as of the last record applied.

    Every method may be called from any thread.  Before the feed is live, views say so and hold no numbers.
    """

    def __init__(
        self, gauge_limit: int = 100_000, connection_limit: int = 100_000, result_limit: int = 1_000, finding_limit: int = 10_000
    ) -> None:
        self._lock = threading.RLock()
        self._gauges = GaugeTable(gauge_limit)
        self._connections = ConnectionTable(connection_limit)
        self._pushes = PushTable(result_limit)
        self._findings = FindingTable(finding_limit)
        self._records: Counter[str] = Counter()
        self._undecodable: Counter[tuple[str, str]] = Counter()
        self._versions: Counter[str] = Counter()
        self._feed: Feed = "starting"
        self._feed_detail: str | None = None
        self._progress: Progress | None = None
        self._was_live = False
        self._before_live: tuple[Counter[str], Counter[tuple[str, str]]] = (Counter(), Counter())
        self._last_record_ms: int | None = None
        self._last_change_ms: int | None = None
        self._disagree_since_ms: int | None = None
        self._disagree = False
        self._overview: Overview | None = None

    @property
    def version(self) -> int:
        """Rises with every change."""
        return self._versions.total()

    def apply(self, records: Iterable[Record]) -> None:
        """Takes records, in the order of their partitions.  One that can't be decoded is counted, by reason, and skipped."""
        with self._lock:
            for record in records:
                self._records[record.topic] += 1
                self._last_record_ms = max(record.timestamp_ms, self._last_record_ms or 0)
                try:
                    changed = self._apply(record)
                except RecordError as error:
                    self._undecodable[record.topic, error.reason] += 1
                    self._touch("checks", record.timestamp_ms)
                else:
                    if changed:
                        self._touch(record.topic, record.timestamp_ms)

    def catching_up(self, read: int, total: int) -> None:
        """The topics are being read, from the start or after they could not be reached."""
        with self._lock:
            self._set_feed("catching_up", None, Progress(read=min(read, total), total=total))

    def live(self) -> None:
        """Every topic has been read to its end."""
        with self._lock:
            if not self._was_live:
                self._was_live = True
                self._before_live = (self._pushes.pushes.copy(), self._pushes.findings.copy())
            self._set_feed("live", None, None)

    def unreachable(self, detail: str) -> None:
        """The topics can't be read; ``detail`` says why.  What is known stays, marked as stale."""
        with self._lock:
            self._set_feed("unreachable", detail, None)

    def tick(self, now_ms: int) -> None:
        """Lets time do its work; about once a second."""
        with self._lock:
            if self._pushes.expire(now_ms):
                self._touch(RESULTS, now_ms)
            if self._feed != "live":  # blind, so nobody else is to blame for being silent
                return
            if self._connections.expire(now_ms):
                self._touch(CONNECTIONS, now_ms)
            agree = self._gauges.counts() == self._connections.counts()
            self._disagree_since_ms = None if agree else self._disagree_since_ms or now_ms
            disagree = not agree and now_ms - (self._disagree_since_ms or now_ms) >= DISAGREE_AFTER_MS
            if disagree != self._disagree:
                self._disagree = disagree
                self._touch("checks", now_ms)

    def feed(self) -> tuple[Feed, str | None]:
        """Where the reading stands, and why it isn't live."""
        with self._lock:
            return self._feed, self._feed_detail

    def counts(self) -> Counts:
        """For ``/metrics``."""
        with self._lock:
            pushes, findings = self._before_live
            return Counts(
                pushes=dict(self._pushes.pushes - pushes) if self._was_live else {},
                findings=dict(self._pushes.findings - findings) if self._was_live else {},
                records=dict(self._records),
                undecodable=dict(self._undecodable),
                dropped=dict(self._gauges.dropped + self._connections.dropped + self._findings.dropped),
            )

    def overview(self, now_ms: int) -> Overview:
        """See `Overview`."""
        with self._lock:
            if self._overview is None or self._overview.version != self.version:
                self._overview = self._make_overview(now_ms)
            return self._overview.model_copy(update={"now_ms": now_ms, "last_record_ms": self._last_record_ms})

    def gauges(self, limit: int) -> Gauges:
        """See `Gauges`."""
        with self._lock:
            items = sorted(self._gauges.series.values(), key=lambda g: (-g.connections, g.model_dump_json())) if self._was_live else []
            return Gauges(version=self._versions[GAUGES], feed=self._feed, total=self._total(items), items=items[:limit])

    def connections(self, limit: int) -> Connections:
        """See `Connections`."""
        with self._lock:
            items = self._connections.connections() if self._was_live else []
            version = self._versions[CONNECTIONS]
            return Connections(version=version, feed=self._feed, total=self._total(items), items=items[:limit])

    def clients(self, limit: int) -> Clients:
        """See `Clients`."""
        with self._lock:
            items = self._connections.clients() if self._was_live else []
            version = self._versions[CONNECTIONS]
            return Clients(version=version, feed=self._feed, total=self._total(items), items=items[:limit])

    def results(self, limit: int, fired_only: bool = False) -> Results:
        """See `Results`."""
        with self._lock:
            items = self._pushes.results(fired_only) if self._was_live else []
            return Results(version=self._versions[RESULTS], feed=self._feed, total=self._total(items), items=items[:limit])

    def findings(self, choice: Choice, offset: int, limit: int) -> Findings:
        """See `Findings`."""
        with self._lock:
            items, total = self._findings.find(choice, offset, limit) if self._was_live else ([], None)
            return Findings(version=self._versions[FINDINGS], feed=self._feed, total=total, offset=offset, items=items)

    def finding_counts(self) -> dict[tuple[str, FindingState], int] | None:
        """Findings by severity and state; None while nothing is known of them, or nothing was judged."""
        with self._lock:
            if not self._was_live or self._nothing_judged():
                return None
            return dict(self._findings.counts())

    def series(self) -> list[GaugeValue]:
        """The gauges as they are; none before the feed was first live."""
        with self._lock:
            return list(self._gauges.series.values()) if self._was_live else []

    def gateway_values(self) -> list[GatewayValue]:
        """What the topic says of each gateway; nothing before the feed was first live."""
        with self._lock:
            return list(self._gauges.gateways.values()) if self._was_live else []

    def _apply(self, record: Record) -> bool:
        if record.topic == GAUGES:
            return self._gauges.apply(record.key, record.value)
        if record.topic == FINDINGS:
            return self._findings.apply(record.key, record.value)
        if record.value is None:
            raise RecordError("tombstone")
        if record.topic == CONNECTIONS:
            connection = decode(ClientConnectionRecord, record.value)
            if connection.kind not in _KINDS:
                raise RecordError("unknown_kind")
            return self._connections.apply(connection, record.timestamp_ms)
        return self._pushes.apply(parse(ResultValue, record.value), record.timestamp_ms, record.ahead)

    def _touch(self, what: str, at_ms: int) -> None:
        self._versions[what] += 1
        self._last_change_ms = max(at_ms, self._last_change_ms or 0)

    def _set_feed(self, feed: Feed, detail: str | None, progress: Progress | None) -> None:
        if (feed, detail, progress) != (self._feed, self._feed_detail, self._progress):
            self._feed, self._feed_detail, self._progress = feed, detail, progress
            self._versions["feed"] += 1

    def _total(self, items: Sequence[object]) -> int | None:
        return len(items) if self._was_live else None

    def _make_overview(self, now_ms: int) -> Overview:
        known, nothing_judged = self._was_live, self._nothing_judged()
        rows: Counter[tuple[str, str, str]] = Counter()
        for g in self._gauges.series.values() if known else ():
            rows[g.listener, g.software_name, g.software_version] += g.connections
        largest = sorted(rows.items(), key=lambda row: (-row[1], row[0]))[:SOFTWARE_ROWS]
        gateways = [self._with_figures(gateway) for gateway in self._connections.gateways()] if known else []
        return Overview(
            version=self.version,
            versions=Versions(
                gauges=self._versions[GAUGES],
                connections=self._versions[CONNECTIONS],
                results=self._versions[RESULTS],
                findings=self._versions[FINDINGS],
            ),
            feed=self._feed,
            feed_detail=self._feed_detail,
            progress=self._progress,
            now_ms=now_ms,
            last_record_ms=self._last_record_ms,
            last_change_ms=self._last_change_ms,
            clusters=sorted({g.cluster for g in gateways} | {g.cluster for g in self._gauges.series.values()}) if known else [],
            connections=rows.total() if known else None,
            software_versions=len({row[1:] for row in rows}) if known else None,
            clients=self._connections.client_count() if known else None,
            pushes=self._pushes.pushes_of_day() if known else None,
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

    def _nothing_judged(self) -> str:
        """Why it can't be told whether anything is wrong; empty where it can."""
        if len(self._findings):
            return ""
        if self._pushes.fired_of_day():
            return "Rules fired, but no finding has come of it yet: is clientscope stream running?"
        return "" if self._pushes.judged_of_day() else "Nothing was judged yet."

    def _with_figures(self, gateway: Gateway) -> Gateway:
        row = self._gauges.of_gateway(gateway.cluster, gateway.broker, gateway.gateway)
        if row is None:
            return gateway
        update = {"instances": row.instances, "opened_per_minute": row.opened_per_minute, "closed_per_minute": row.closed_per_minute}
        return gateway.model_copy(update=update)

    def _checks(self) -> list[Check]:
        gateways, lost = self._connections.gateways(), self._connections.lost()
        late = sorted(gateway.gateway for gateway in gateways if gateway.late)
        undecodable = self._undecodable.total()
        dropped = (self._gauges.dropped + self._connections.dropped + self._findings.dropped).total()
        disagree = "The gauges differ from what the gateways say: is clientscope stream running?" if self._disagree else ""
        return [
            _check("gateways", f"No heartbeat from {', '.join((lost + late)[:3])}." if lost or late else ""),
            _check("stream", disagree),
            _check("records", f"{_plural(undecodable)} could not be decoded." if undecodable else ""),
            _check("capacity", f"{_plural(dropped)} did not fit into what is kept in memory." if dropped else ""),
        ]


def _plural(records: int) -> str:
    return f"{records} record" if records == 1 else f"{records} records"


def _check(name: str, warning: str) -> Check:
    return Check(name=name, state="warn" if warning else "ok", detail=warning)
