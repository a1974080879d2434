"""Clients that push metrics of their own, by their newest facts, as `/metrics` shows them: by version of a library, never by client."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from clientscope.catalog.client_facts import FACTS, Fact
from clientscope.fair_share import HeldEntry, beyond
from clientscope.model.client_key import Tenant, scope, tenant_of
from streaming.limits import Limit, Overflow

RECENT_MS = 15 * 60_000
"""A client reports for so long after a push: three intervals of Kafka's default."""

REPORTING = Limit(
    "reporting_clients", 20_000, "client instances that push metrics", "those of whoever has most are not counted in `/metrics`", "low"
)

MOST_SERIES = 200
"""Combinations of kind, name and version: beyond them clients count under other."""

OTHER = "other"
_LABELS = ("client_kind", "client_software_name", "client_software_version")
_QUANTILES = (0.5, 0.9, 1.0)
_PREFIX = "clientscope_stream_client_"

_GAUGES = tuple(fact for fact in FACTS if fact.exported and not fact.is_counted)
_COUNTERS = tuple(fact for fact in FACTS if fact.exported and fact.is_counted)

_IDENTITY = (
    "cluster", "principal", "address", "instance_id", "client_kind", "software_name", "software_version",
    "terminating",
)  # fmt: skip
COLUMNS = (*_IDENTITY, *(fact.name for fact in (*_GAUGES, *_COUNTERS)))
"""What is read of a row of the table ``client_facts``, behind ``at_ms``, when Kafka took its record."""

_ROWS_AT_ONCE = 5_000

Series = tuple[str, str, str]
"""Kind, software's name and version."""


class Reporting(NamedTuple):
    """One client instance.

    Attributes:
        values: of `_GAUGES`; NaN of what it doesn't say.
    """

    at_ms: int
    tenant: Tenant
    series: Series
    values: Sequence[float]


class ReportingClients:
    """Takes in rows of facts; for one thread at a time.

    Attributes:
        full: counts clients that were left out.
    """

    def __init__(self, most: int = REPORTING.most) -> None:
        self.full = Overflow(REPORTING)
        self._most = most
        self._clients: dict[str, Reporting] = {}
        self._counts: dict[Series, list[float]] = {}

    def take(self, rows: pa.Table, now_ms: int) -> None:
        """Takes in a batch.

        Args:
            rows: ``at_ms`` and `COLUMNS`.
            now_ms: since the epoch.
        """
        for batch in rows.sort_by("at_ms").to_batches(max_chunksize=_ROWS_AT_ONCE):
            for row in zip(*(batch.column(name).to_pylist() for name in ("at_ms", *COLUMNS)), strict=True):
                self._take(row)
        self._clients = {key: each for key, each in self._clients.items() if now_ms - each.at_ms < RECENT_MS}
        if len(self._clients) > self._most:
            held = [HeldEntry(key, each.tenant, 0, each.at_ms) for key, each in self._clients.items()]
            gone = beyond(held, self._most)
            self.full.dropped(gone)
            for each in gone:
                del self._clients[str(each.key)]

    def families(self, now_ms: int) -> list[Metric]:
        """The metrics as they are now."""
        recent = [each for each in self._clients.values() if now_ms - each.at_ms < RECENT_MS]
        sizes = Counter(each.series for each in recent)
        shown = {series for series, _ in sorted(sizes.items(), key=lambda item: (-item[1], item[0]))[:MOST_SERIES]}
        of: defaultdict[Series, list[Reporting]] = defaultdict(list)
        for each in recent:
            of[each.series if each.series in shown else (each.series[0], OTHER, OTHER)].append(each)
        return families({series: [each.values for each in found] for series, found in of.items()}, self._counts)

    def _take(self, row: tuple[object, ...]) -> None:
        at_ms, cluster, principal, address, instance, kind, name, version, ends, *values = row
        key = f"{instance}/{scope(cluster, principal, address)}"  # as `client_key` has it
        series = (str(kind or OTHER), str(name), str(version))
        gauges, counts = values[: len(_GAUGES)], values[len(_GAUGES) :]
        if ends:
            self._clients.pop(key, None)
        else:
            numbers = np.array([np.nan if value is None else value for value in gauges], np.float32)
            self._clients[key] = Reporting(at_ms, tenant_of(principal, address), series, numbers)  # type: ignore[arg-type]
        if any(counts):
            if series not in self._counts and len(self._counts) >= MOST_SERIES:
                series = (series[0], OTHER, OTHER)
            sums = self._counts.setdefault(series, [0.0] * len(_COUNTERS))
            for place, count in enumerate(counts):
                sums[place] += count or 0.0  # type: ignore[operator]


class ClientFactsCollector(Collector):
    """Asks at each scrape, so that clients fall silent while the query is parked.

    Attributes:
        ask: what the query says, as `families`; from any thread.
    """

    def __init__(self) -> None:
        self.ask: Callable[[], list[Metric]] = lambda: families({}, {})

    def describe(self) -> Iterable[Metric]:
        """The families, without clients."""
        return families({}, {})

    def collect(self) -> Iterable[Metric]:
        """The families."""
        return self.ask()


def families(clients: Mapping[Series, Sequence[Sequence[float]]], counts: Mapping[Series, Sequence[float]]) -> list[Metric]:
    """Every family, with a sample for each series that has one.

    Args:
        clients: of each series, the values of each client that reports.
        counts: sums of `_COUNTERS`.
    """
    reporting = GaugeMetricFamily(
        f"{_PREFIX}instances",
        f"Client instances that pushed metrics of their own in the last {RECENT_MS // 60_000} minutes.",
        labels=_LABELS,
    )
    gauges = [GaugeMetricFamily(_name(fact), _about(fact), labels=(*_LABELS, "quantile")) for fact in _GAUGES]
    counters = [CounterMetricFamily(_name(fact), _about(fact), labels=_LABELS) for fact in _COUNTERS]
    for series, values in sorted(clients.items()):
        reporting.add_metric(series, len(values))
        for fact, family, column in zip(_GAUGES, gauges, np.array(values, np.float64).T, strict=True):
            said = column[~np.isnan(column)]
            for quantile in _QUANTILES if said.size else ():
                family.add_metric((*series, f"{quantile:g}"), float(np.quantile(said, quantile)) / _divisor(fact))
    for series, sums in sorted(counts.items()):
        for counter, number in zip(counters, sums, strict=True):
            counter.add_metric(series, number)
    return [reporting, *gauges, *counters]


def _name(fact: Fact) -> str:
    return _PREFIX + (fact.name.removesuffix("ms") + "seconds" if fact.unit == "ms" else fact.name)


def _about(fact: Fact) -> str:
    if fact.is_counted:
        return f"{fact.title}, by clients that push metrics of their own."
    return f"{fact.title}, by each client's newest push: the median, the 90th percentile and the greatest of all clients."


def _divisor(fact: Fact) -> float:
    """Prometheus has seconds."""
    return 1000.0 if fact.unit == "ms" else 1.0
