"""Recorder of two tables from compacted topics: ``gauges``, every series once a period, and ``findings``, each state of each finding.

It works without Spark: those topics are small, and a query's batch lacks values that didn't change in it or were there before it.
Tables grow by a file a period, a minute or less; ``clientscope history maintain`` makes one of each day.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder, write_deltalake
from deltalake.exceptions import DeltaError, TableNotFoundError
from kafka.errors import KafkaError

from clientscope.background import Background
from clientscope.errors import RecordError
from clientscope.kafka.access import Kafka
from clientscope.kafka.compacted import Follower
from clientscope.model.codec import decode
from clientscope.model.finding import Finding
from clientscope.model.gauge import Gauge
from clientscope.model.topics import FINDINGS, GAUGES
from sinks.history.tables import committed

log = logging.getLogger(__name__)

_News = Callable[[], Mapping[str, bytes | None]]

_AT = pa.timestamp("us", tz="UTC")
GAUGE_ROWS = pa.schema(
    {
        "date": pa.date32(), "minute": _AT, "cluster": pa.string(), "broker": pa.int32(), "gateway": pa.string(),
        "listener": pa.string(), "software_name": pa.string(), "software_version": pa.string(), "connections": pa.int64(),
    }
)  # fmt: skip
FINDING_ROWS = pa.schema(
    {
        "date": pa.date32(), "recorded": _AT, "fingerprint": pa.string(), "revision": pa.int64(), "code": pa.string(),
        "name": pa.string(), "kind": pa.string(), "severity": pa.string(), "confidence": pa.string(), "state": pa.string(),
        "message": pa.string(), "principal": pa.string(), "client_id": pa.string(), "group": pa.string(),
        "client_count": pa.int64(), "first_seen": _AT, "last_seen": _AT, "opened": _AT, "ended": _AT, "reopened": pa.int64(),
        "owner": pa.string(), "decided_as": pa.string(), "decided_by": pa.string(),
    }
)  # fmt: skip
_WITHOUT_NAMES = {"delta.dataSkippingNumIndexedCols": "1"}
"""Delta keeps statistics in its log; with them, names that clients chose would remain there."""


class Recorder(Background):
    """Feeds both tables until `stop`, and then with the findings that wait.

    An error of Kafka or the disk is logged once, and the work is retried: findings are kept, a period's gauges are not.

    Args:
        period_s: seconds between rows of a series, and between writes of findings.
        clock: seconds since the epoch.
    """

    def __init__(self, kafka: Kafka, history_dir: str, period_s: int = 60, clock: Callable[[], float] = time.time) -> None:
        super().__init__("recorder")
        self._kafka, self._period_s, self._clock = kafka, period_s, clock
        self._tables = f"{history_dir}/gauges", f"{history_dir}/findings"
        self._series: dict[str, Gauge] = {}
        self._findings: list[dict[str, Any]] = []
        self._written: set[str] = set()
        self._erased: set[str] = set()
        self._revisions: dict[str, int] | None = None
        self._period: int | None = None
        self._failing = False

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._follow()
            except (KafkaError, OSError, DeltaError) as error:
                self._say(f"a topic or a table can't be read: {type(error).__name__}")
                self._stopping.wait(5.0)

    def _follow(self) -> None:
        self._series.clear()
        self._period = None
        with closing(Follower(self._kafka, GAUGES)) as gauges, closing(Follower(self._kafka, FINDINGS)) as findings:
            while not self._stopping.wait(1.0):
                news = gauges.news(), findings.news()
                self.look(*news, whole=gauges.has_caught_up() and findings.has_caught_up(), later=findings.read_to_end)
            self._write_findings(findings.read_to_end)

    def look(
        self, gauges: Mapping[str, bytes | None], findings: Mapping[str, bytes | None], whole: bool = True, later: _News = lambda: {}
    ) -> None:
        """Takes in what is new on both topics, and writes where a period has begun.

        Args:
            whole: whether all that was there at the start has been read.
            later: what of findings has come since.
        """
        for key, value in gauges.items():
            self._series.pop(key, None)
            if value is not None:
                with suppress(RecordError):  # a gateway's own row, or another program's
                    self._series[key] = decode(Gauge, value)
        self._take_findings(findings)
        before, period = self._period, int(self._clock()) // self._period_s
        if not whole or (before is not None and period <= before):
            return
        self._period = period
        if before is not None:
            self._write_gauges(datetime.fromtimestamp(period * self._period_s, UTC))
        self._write_findings(later)

    def _take_findings(self, news: Mapping[str, bytes | None]) -> None:
        if self._revisions is None:
            self._revisions = _revisions(self._tables[1])
        now = datetime.fromtimestamp(self._clock(), UTC)
        for key, value in news.items():
            if value is None:  # erased perhaps: what waits must not come after that
                self._findings = [row for row in self._findings if row["fingerprint"] != key]
                self._revisions.pop(key, None)
                if key in self._written:
                    self._erased.add(key)
                continue
            with suppress(RecordError):
                finding = decode(Finding, value)
                if finding.revision > self._revisions.get(finding.fingerprint, -1):
                    self._revisions[finding.fingerprint] = finding.revision
                    self._findings.append(_finding_row(finding, now))

    def _write_gauges(self, minute: datetime) -> None:
        if self._series:
            when = {"date": minute.date(), "minute": minute}
            self._append(self._tables[0], GAUGE_ROWS, [when | asdict(series) for series in self._series.values()])

    def _write_findings(self, later: _News) -> None:
        if self._erased:  # they could not be taken back the last time
            self._take_back()
        if not self._findings:
            return
        self._take_findings(later())
        if not self._findings or not self._append(self._tables[1], FINDING_ROWS, self._findings):
            return
        self._written |= {row["fingerprint"] for row in self._findings}
        self._findings = []
        # Who erases a client waits until its findings have left the topic, and then deletes its rows. What was written meanwhile is
        # taken back here: either this sees that they have left, or they leave after it, and the rows are deleted there.
        self._take_findings(later())
        self._written = set()
        if self._erased:
            self._take_back()

    def _append(self, table: str, schema: pa.Schema, rows: Sequence[Mapping[str, object]]) -> bool:
        try:
            write_deltalake(table, pa.Table.from_pylist(rows, schema), mode="append", partition_by=["date"], configuration=_WITHOUT_NAMES)
        except (DeltaError, OSError) as error:
            self._say(f"{table} can't be written: {str(error)[:200]}")
            return False
        self._failing = False
        return True

    def _take_back(self) -> None:
        """Deletes the rows of findings that were erased; fingerprints are hexadecimal digits."""
        table = DeltaTable(self._tables[1])
        named = ", ".join(f"'{fingerprint}'" for fingerprint in sorted(self._erased))
        committed(table, lambda: table.delete(f"fingerprint IN ({named})"))
        self._erased = set()

    def _say(self, problem: str) -> None:
        if not self._failing:
            log.warning("history of gauges and findings: %s; it is tried again", problem)
        self._failing = True


def _revisions(table: str) -> dict[str, int]:
    """The newest revision of each finding that the table has: higher revisions on the topic were written while no job ran."""
    try:
        known = DeltaTable(table)
    except TableNotFoundError:
        return {}
    sql = "SELECT fingerprint, max(revision) AS revision FROM findings GROUP BY fingerprint"
    found = pa.table(QueryBuilder().register("findings", known).execute(sql).read_all())
    return dict(zip(found["fingerprint"].to_pylist(), found["revision"].to_pylist(), strict=True))


def _at(ms: int | None) -> datetime | None:
    return None if ms is None else datetime.fromtimestamp(ms / 1000, UTC)


def _finding_row(finding: Finding, now: datetime) -> dict[str, Any]:
    same = {name: getattr(finding, name) for name in FINDING_ROWS.names if hasattr(finding, name)}
    return {
        **same,
        **asdict(finding.application),
        **{name: _at(getattr(finding, f"{name}_ms")) for name in ("first_seen", "last_seen", "opened", "ended")},
        "date": now.date(),
        "recorded": now,
        "owner": finding.owner.team if finding.owner else None,
        "decided_as": finding.decided.resolution if finding.decided else None,
        "decided_by": finding.decided.by if finding.decided else None,
    }
