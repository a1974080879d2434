"""Metrics of the gateway on ``/metrics``, by the official client library."""

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

COUNTERS = {
    "frames_refused": ("reason", "Connections closed for invalid bytes: not the Kafka protocol, or a push before authentication."),
    "requests_unserved": ("reason", "Requests with a key or version that the broker doesn't serve. They were passed to the broker."),
    "versions_unrecorded": ("reason", "Requests in one version more than are recorded of a connection. They were passed to the broker."),
    "traffic_unrecorded": ("reason", "Connections whose bytes per second a heartbeat left out, since others had more."),
    "unreadable_frames": ("reason", "Frames that could not be decoded. They were passed on unchanged."),
    "reads_held": ("reason", "Times that reading from a client, or with reason budget from all clients, paused at a bound."),
    "connections_evicted": (
        "reason",
        "Connections closed because all together held too much: their clients read nothing, or sent half a request.",
    ),
    "identity_changes_held": ("reason", "Changes of a client's name or version that came too often. Only the last one is recorded."),
    "settings_unread": (
        "reason",
        "Requests whose settings were not taken: the layout is invalid, or a bound was reached. They were passed on unchanged.",
    ),
    "observed_held": ("reason", "Times that the record of an observed client had to wait, by the quota."),
    "pushes_answered": ("error", "PushConfig requests that were answered, by the error code of the answer."),
    "pushes": ("outcome", "PushConfig requests that the policy processed, or during which its process ended."),
    "pushes_refused": ("reason", "PushConfig requests answered with an error before the policy, or whose connection ended first."),
    "pushes_answered_early": (
        "reason",
        "Pushes answered as success before the policy had finished, or before Kafka had acknowledged the record.",
    ),
    "pushes_rejected_late": ("outcome", "Pushes that the policy refused, or raised an error on, after they were answered as success."),
    "published": ("topic", "Records acknowledged by Kafka."),
    "lost": ("reason", "Records dropped, and pushes answered as success that the policy didn't finish."),
    "upstream_failures": ("reason", "Failed attempts to connect to the broker."),
    "connections_opened": ("listener", "Client connections accepted."),
    "connections_refused": ("reason", "Client connections refused: a limit, or an invalid or missing PROXY header."),
    "tls_handshakes_failed": ("reason", "Failed TLS handshakes of clients: OpenSSL's reason, connection_lost or timeout."),
    "names_redacted": ("field", "Names of clients redacted, by field of the record."),
    "request_log_dropped": ("reason", "Requests missing from the request log."),
    "connections_closed": ("reason", "Client connections closed."),
}
"""Every counter: its label, and what it counts. docs/metrics.md lists them (`make docs`)."""


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
            "Delay of an event loop's timer, measured at least once a second.",
            ["process"],
            buckets=_LAG_S,
            registry=self.registry,
        )
        self._counters = {
            name: Counter(f"clientscope_gateway_{name}", text, [label], registry=self.registry) for name, (label, text) in COUNTERS.items()
        }

    def count(self, what: str, reason: str, number: int = 1) -> None:
        """Adds to ``clientscope_gateway_<what>_total{…=reason}``; from any thread."""
        self._counters[what].labels(reason).inc(number)

    def show_bypassed(self, bypassed: Callable[[], bool]) -> None:
        """Shows whether the gateway is a plain relay now."""
        Gauge(
            "clientscope_gateway_bypassed", "1 while every byte passes unread and new clients are unknown.", registry=self.registry
        ).set_function(lambda: float(bypassed()))

    def lagged(self, process: str, lag_s: float) -> None:
        """An event loop woke up so much later than it had asked for: what a client's bytes may have waited."""
        self._lag.labels(process).observe(lag_s)

    def show_connections(self, counts: Callable[[], Mapping[tuple[str, str], int]], labels: dict[str, str]) -> None:
        """Shows the registry's counts under these labels."""
        self.registry.register(_Connections(counts, labels))
