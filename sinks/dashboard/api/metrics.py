"""Metrics of the page, ``/metrics`` for Prometheus: made from `State` for each scrape, so that a series ends when its clients do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, get_args

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from clientscope.model.finding import State as FindingState
from clientscope.model.gauge import GatewayGauge, Gauge
from clientscope.severities import SEVERITIES
from sinks.dashboard.state.pushes import OTHER
from sinks.dashboard.state.state import State

SERIES_LIMIT = 1_000

_Series = tuple[str, str, str, str, str]


class StateCollector(Collector):
    """The metrics of one `State`.  While the topics are being read for the first time, what is not known is absent, not zero."""

    def __init__(self, state: State) -> None:
        self._state = state

    def describe(self) -> Iterable[Metric]:
        """Nothing: registering must not read the state."""
        return ()

    def collect(self) -> Iterable[Metric]:
        """See the help text of each."""
        counts = self._state.counts()
        series, folded = fold(counts.series, SERIES_LIMIT)
        connections = GaugeMetricFamily(
            "clientscope_client_connections",
            "Open client connections, summed over gateways; equal in every copy of serve.",
            labels=("cluster", "broker", "listener", "client_software_name", "client_software_version"),
        )
        for labels, count in series.items():
            connections.add_metric(labels, count)
        yield connections
        yield GaugeMetricFamily(
            "clientscope_client_connections_folded_series",
            f"Series beyond {SERIES_LIMIT}, counted under the name and version {OTHER}.",
            value=folded,
        )
        yield from _of_gateways(counts.gateways)
        yield _counter(
            "clientscope_results",
            "Configurations judged since serve was up to date, by origin: pushed, observed or request_log.",
            ("origin",),
            counts.pushes,
        )
        yield _counter(
            "clientscope_rules_fired",
            "Rules that fired since serve was up to date, once for each judged configuration.",
            ("code", "severity"),
            counts.fired,
        )
        yield from _of_findings(counts.findings)
        yield _counter(
            "clientscope_serve_records_read",
            "Records read from clientscope's topics since serve started.",
            ("topic",),
            counts.records,
        )
        yield _counter(
            "clientscope_serve_records_undecodable",
            "Records that can't be decoded.",
            ("topic", "reason"),
            counts.undecodable,
        )
        yield _counter(
            "clientscope_serve_records_dropped",
            "Records dropped because a table in memory was full.",
            ("kind",),
            counts.dropped,
        )
        yield GaugeMetricFamily(
            "clientscope_serve_up_to_date",
            "1 while all topics are read to their ends.",
            value=float(self._state.feed.now == "live"),
        )


def _of_findings(counts: Mapping[tuple[str, FindingState], int] | None) -> Iterable[Metric]:
    family = GaugeMetricFamily(
        "clientscope_findings",
        "Findings, without suppressed ones and ones of low confidence.",
        labels=("severity", "state"),
    )
    if counts is not None:
        for severity in SEVERITIES:
            for state in get_args(FindingState):
                family.add_metric((severity, state), counts.get((severity, state), 0))
    yield family


def _of_gateways(values: Iterable[GatewayGauge]) -> Iterable[Metric]:
    figures = {
        "client_instances": ("Connected client instances (KIP-1324).", "instances"),
        "client_connections_opened_per_minute": ("Connections opened in the last minute.", "opened_per_minute"),
        "client_connections_closed_per_minute": ("Connections closed in the last minute.", "closed_per_minute"),
    }
    values = sorted(values, key=lambda value: (value.cluster, value.broker, value.gateway))
    for name, (text, field) in figures.items():
        family = GaugeMetricFamily(f"clientscope_{name}", text, labels=("cluster", "broker", "gateway"))
        for value in values:
            if getattr(value, field) is not None:
                family.add_metric((value.cluster, str(value.broker), value.gateway), getattr(value, field))
        yield family


def registry(state: State) -> CollectorRegistry:
    """A registry of its own, without the process's defaults."""
    made = CollectorRegistry()
    made.register(StateCollector(state))
    return made


def fold(gauges: Iterable[Gauge], limit: int) -> tuple[dict[_Series, int], int]:
    """The gauges summed over gateways, by label values: at most ``limit`` series, the largest; and how many went into ``other``.

    There is one ``other`` per (cluster, broker, listener), within the limit as long as there are fewer of those.
    """
    sums: Counter[_Series] = Counter()
    for g in gauges:
        sums[g.cluster, str(g.broker), g.listener, g.software_name, g.software_version] += g.connections
    if len(sums) <= limit:
        return dict(sums), 0
    places = {series[:3] for series in sums}
    largest = sorted(sums, key=lambda series: (-sums[series], series))[: max(0, limit - len(places))]
    folded = {series: sums[series] for series in largest}
    for series in sums.keys() - set(largest):
        other = (*series[:3], OTHER, OTHER)
        folded[other] = folded.get(other, 0) + sums[series]
    return folded, len(sums) - len(largest)


def _counter(name: str, text: str, labels: tuple[str, ...], values: Mapping[Any, int]) -> CounterMetricFamily:
    family = CounterMetricFamily(name, text, labels=labels)
    for label_values, count in sorted(values.items()):
        family.add_metric((label_values,) if isinstance(label_values, str) else label_values, count)
    return family
