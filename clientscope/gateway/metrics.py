"""The gateway's own metrics, on ``/metrics``, by the official client library."""

from __future__ import annotations

from collections import Counter as Counts
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

_MOST_SERIES = 1_000
_LAG_S = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0)

Series = Mapping[Any, int]
"""Numbers by label values."""

_COUNTERS = {
    "frames_refused": ("reason", "Streams closed because their bytes are no Kafka protocol."),
    "requests_unserved": ("reason", "Requests of a key or version that the broker doesn't serve; they went to it as they came."),
    "unreadable_frames": ("reason", "Frames that should be readable and went on as they came."),
    "reads_held": ("reason", "Times that nothing more was read from a client, or by the budget from any, since a bound was reached."),
    "connections_evicted": ("reason", "Connections closed since their clients took nothing while a bound was reached."),
    "identity_changes_held": ("reason", "Changes of who a client says it is that came too often to be recorded each; the last one is."),
    "pushes_answered": ("error", "PushConfig requests that were answered, whoever decided, by the answer's error."),
    "pushes": ("outcome", "PushConfig requests that the policy processed, or was killed on."),
    "pushes_refused": ("reason", "PushConfig requests that the policy did not get: answered with an error, or their connection ended."),
    "pushes_answered_early": ("reason", "Pushes answered as success before the policy had processed them, or before Kafka had the record."),
    "pushes_rejected_late": ("outcome", "Pushes that the policy refused, or failed on, after they had been answered as success."),
    "published": ("topic", "Records that Kafka has acknowledged."),
    "lost": ("reason", "Records that were given up."),
    "upstream_failures": ("reason", "Connections to the broker that failed."),
    "connections_opened": ("listener", "Client connections that were taken."),
    "connections_refused": ("reason", "Client connections closed at once: a limit, or a load balancer's header that is wrong or missing."),
    "tls_handshakes_failed": ("reason", "Client connections that never came to be, by OpenSSL's own reason."),
    "names_redacted": ("field", "Names that clients gave themselves and that were redacted, by the record's field."),
    "request_log_dropped": ("reason", "Requests that were to be logged and were not."),
    "connections_closed": ("reason", "Client connections that ended."),
}


class _Connections(Collector):
    """Open connections as draft 7 of KIP-511 counts them: by name and version, by either, and in total."""

    def __init__(self, counts: Callable[[], Mapping[tuple[str, str], int]], labels: dict[str, str]) -> None:
        self._counts = counts
        self._labels = labels

    def collect(self) -> Iterable[GaugeMetricFamily]:
        counts = self._counts()
        names: Counts[str] = Counts()
        versions: Counts[str] = Counts()
        for (name, version), number in counts.items():
            names[name] += number
            versions[version] += number
        label = "client_software_name", "client_software_version"
        yield self._family("client_connections", "Open client connections by software name and version.", label, counts)
        yield self._family("connected_clients", "Open client connections.", (), {(): sum(counts.values())})
        by_name = {(name,): number for name, number in names.items()}
        yield self._family("connected_clients_by_name", "Open client connections by software name.", label[:1], by_name)
        by_version = {(version,): number for version, number in versions.items()}
        yield self._family("connected_clients_by_version", "Open client connections by software version.", label[1:], by_version)

    def _family(self, name: str, text: str, own: tuple[str, ...], counts: Series) -> GaugeMetricFamily:
        """The 1,000 largest series, and the rest as ``other``."""
        family = GaugeMetricFamily(f"clientscope_gateway_{name}", text, labels=[*self._labels, *own])
        ranked = sorted(counts.items(), key=lambda item: -item[1])
        for series, number in ranked[:_MOST_SERIES]:
            family.add_metric([*self._labels.values(), *series], number)
        if rest := ranked[_MOST_SERIES:]:
            family.add_metric([*self._labels.values(), *("other" for _ in own)], sum(number for _, number in rest))
        return family


class GatewayMetrics:
    """Counters by name and reason, and the gauge of connections."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._lag = Histogram(
            "clientscope_gateway_event_loop_lag_seconds",
            "How much later than asked for an event loop woke up; once a second.",
            ["process"],
            buckets=_LAG_S,
            registry=self.registry,
        )
        self._counters = {
            name: Counter(f"clientscope_gateway_{name}", text, [label], registry=self.registry) for name, (label, text) in _COUNTERS.items()
        }

    def count(self, what: str, reason: str, number: int = 1) -> None:
        """Adds to ``clientscope_gateway_<what>_total{…=reason}``; from any thread."""
        self._counters[what].labels(reason).inc(number)

    def show_bypassed(self, bypassed: Callable[[], bool]) -> None:
        """Shows whether the gateway is a plain relay now."""
        Gauge(
            "clientscope_gateway_bypassed", "1 while every byte passes unread and new clients have no name.", registry=self.registry
        ).set_function(lambda: float(bypassed()))

    def lagged(self, process: str, lag_s: float) -> None:
        """An event loop woke up so much later than it had asked for: what a client's bytes may have waited."""
        self._lag.labels(process).observe(lag_s)

    def show_connections(self, counts: Callable[[], Mapping[tuple[str, str], int]], labels: dict[str, str]) -> None:
        """Shows the registry's counts under these labels."""
        self.registry.register(_Connections(counts, labels))
