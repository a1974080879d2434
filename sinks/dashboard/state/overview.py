"""Overview of everything, in one small answer."""

from __future__ import annotations

from collections import Counter

from clientscope.api.overview import Check, GatewayStatus, Overview, SoftwareRow, Versions
from clientscope.profiles.owners import NO_OWNERS, Owners
from clientscope.records.topics import CONNECTIONS, FINDINGS, GAUGES, RESULTS, STATUS
from sinks.dashboard.state.known import Known

SOFTWARE_ROWS = 200
"""Rows of the gauge in an overview; the rest is summed."""


class Summary(Known):
    """`Known`, with an overview of everything."""

    def __init__(self, owners: Owners = NO_OWNERS, **limits: int) -> None:
        super().__init__(owners=owners, **limits)
        self._overview: Overview | None = None

    def overview(self, now_ms: int) -> Overview:
        """See `Overview`."""
        with self._lock:
            if self._overview is None or self._overview.version != self.version:
                self._overview = self._make_overview(now_ms)
            update = {
                "now_ms": now_ms,
                "last_record_ms": self._feed.last_record_ms,
                "health": self._status.health(now_ms) if self._feed.was_live else [],
                "pushes_per_minute": self._pushes_of_minute(now_ms) if self._feed.was_live else None,
            }
            return self._overview.model_copy(update=update)

    def _make_overview(self, now_ms: int) -> Overview:
        known, nothing_judged = self._feed.was_live, self._nothing_judged()
        rows: Counter[tuple[str, str, str]] = Counter()
        for g in self._gauges.series.values() if known else ():
            rows[g.listener, g.software_name, g.software_version] += g.connections
        largest = sorted(rows.items(), key=lambda row: (-row[1], row[0]))[:SOFTWARE_ROWS]
        gateways = [self._with_figures(gateway) for gateway in self._connections.gateways()] if known else []
        return Overview(
            version=self.version,
            versions=Versions(
                gauges=self._versions.of[GAUGES],
                connections=self._versions.of[CONNECTIONS],
                results=self._versions.of[RESULTS],
                findings=self._versions.of[FINDINGS],
                status=self._versions.of[STATUS],
            ),
            feed=self._feed.now,
            feed_detail=self._feed.detail,
            progress=self._feed.progress,
            now_ms=now_ms,
            last_record_ms=self._feed.last_record_ms,
            last_change_ms=self._versions.last_change_ms,
            clusters=sorted({g.cluster for g in gateways} | {g.cluster for g in self._gauges.series.values()}) if known else [],
            connections=rows.total() if known else None,
            software_versions=len({row[1:] for row in rows}) if known else None,
            clients=self._connections.reading.client_count() if known else None,
            judged=self._connections.reading.judged_count() if known else None,
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
            pushes_per_minute=None,
            health=[],
        )

    def _pushes_of_minute(self, now_ms: int) -> int | None:
        """Pushes in the last whole minute."""
        *_, last, _present = self._pushes_by_minute(now_ms, self._series.minutes(now_ms, 2))
        return last

    def _pushes_by_minute(self, now_ms: int, minutes: list[int]) -> list[int | None]:
        """Pushes; None before the first that was judged in the day, and after the last one while the query that judges isn't well."""
        judged, pushes = self._pushes.by_minute(), self._pushes.pushes_by_minute()
        first, last = min(judged, default=None), max(judged, default=None)
        well = self._status.condition("query", "results", now_ms) in (None, "ok")
        return [
            pushes.get(minute, 0) if first is not None and last is not None and first <= minute and (well or minute <= last) else None
            for minute in minutes
        ]

    def _nothing_judged(self) -> str:
        """Why it is unknown whether anything is wrong; empty if it is known."""
        if len(self._findings):
            return ""
        if self._pushes.fired_of_day():
            return "Rules fired, but no finding has come of it yet: is clientscope stream running?"
        return "" if self._pushes.judged_of_day() else "Nothing was judged yet."

    def _with_figures(self, gateway: GatewayStatus) -> GatewayStatus:
        row = self._gauges.of_gateway(gateway.cluster, gateway.broker, gateway.gateway)
        if row is None:
            return gateway
        update = {"instances": row.instances, "opened_per_minute": row.opened_per_minute, "closed_per_minute": row.closed_per_minute}
        return gateway.model_copy(update=update)

    def _checks(self) -> list[Check]:
        gateways, lost = self._connections.gateways(), self._connections.lost()
        late = sorted(gateway.gateway for gateway in gateways if gateway.late)
        undecodable = self._counted.undecodable.total()
        dropped = self._dropped().total()
        disagree = "The gauges differ from what the gateways say: is clientscope stream running?" if self._agreement.disagree else ""
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
