"""Metrics of the gateway on ``/metrics``, by the official client library."""

from __future__ import annotations

from collections import Counter as Counts
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

_MOST_SERIES = 1_000
_LAG_S = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0)

Series = Mapping[Any, int]
"""Numbers by label values."""

_BrokerCounts = tuple[Callable[[], Mapping[tuple[str, str], int]], dict[str, str]]
"""What gives a broker's open connections by (name, version), and the labels that they are shown under."""

COUNTERS = {
    "frames_refused": (
        "Connections closed for what came: not the Kafka protocol, a push before authentication, or with `--broker-ports` a version or an"
        " answer that is not known."
    ),
    "addresses_left_out": (
        "Brokers left out of answers with `--broker-ports`: no_port if the id has none, closed_port if another process has it, no_room in"
        " ShareFetch."
    ),
    "requests_unserved": "Requests with a key or version that the broker doesn't serve. They were passed to the broker.",
    "versions_unrecorded": "Requests in one version more than are recorded of a connection. They were passed to the broker.",
    "traffic_unrecorded": "Connections whose bytes per second a heartbeat left out, since others had more.",
    "unreadable_frames": "Frames that could not be decoded. They were passed on unchanged.",
    "reads_held": "Times that reading from a client, or with reason budget from all clients, paused at a bound.",
    "connections_evicted": ("Connections closed because all together held too much: their clients read nothing, or sent half a request."),
    "identity_changes_held": "Changes of a client's name or version that came too often. Only the last one is recorded.",
    "settings_unread": (
        "Requests whose settings were not taken: the layout is invalid, or a bound was reached. Requests were passed on unchanged."
    ),
    "observed_held": "Times that the record of an observed client had to wait, by the quota.",
    "telemetry_answered": "Telemetry requests (KIP-714) that the gateway answered, by the error code of the answer.",
    "telemetry_dropped": (
        "Accepted telemetry that was not published: a quota, queue_full, busy, compression, too_large, too_many_points, too_many_labels or"
        " unreadable."
    ),
    "telemetry_judged": (
        "Accepted telemetry judged in full: new, where names, labels or their order differ from the connection's last push; no_room, at the"
        " bound of what is remembered of connections. Last pushes of clients don't count."
    ),
    "pushes_answered": "PushConfig requests that were answered, by the error code of the answer.",
    "pushes": "PushConfig requests that the policy processed, or during which its process ended.",
    "pushes_refused": "PushConfig requests answered with an error before the policy, or whose connection ended first.",
    "pushes_answered_early": ("Pushes answered as success before the policy had finished, or before Kafka had acknowledged the record."),
    "pushes_rejected_late": "Pushes that the policy refused, or raised an error on, after they were answered as success.",
    "published": "Records acknowledged by Kafka.",
    "lost": "Records dropped, and pushes answered as success that the policy didn't finish.",
    "upstream_failures": "Failed attempts to connect to the broker.",
    "connections_opened": "Client connections accepted.",
    "connections_refused": "Client connections refused: a limit, or an invalid or missing PROXY header.",
    "tls_handshakes_failed": "Failed TLS handshakes of clients: OpenSSL's reason, connection_lost or timeout.",
    "names_redacted": "Names of clients redacted, by field of the record.",
    "request_log_dropped": "Requests missing from the request log.",
    "connections_closed": "Client connections closed.",
}
"""Every counter, and what it counts. docs/metrics.md lists them (`make docs`)."""
_LABELS = {
    "telemetry_answered": "error",
    "pushes_answered": "error",
    "pushes": "outcome",
    "pushes_rejected_late": "outcome",
    "published": "topic",
    "connections_opened": "listener",
    "names_redacted": "field",
}
"""Of counters whose label isn't ``reason``."""


class _Connections(Collector):
    """Open connections as draft 7 of KIP-511 counts them: by name and version, by either, and in total."""

    def __init__(self) -> None:
        self.brokers: list[_BrokerCounts] = []

    def collect(self) -> Iterable[GaugeMetricFamily]:
        brokers = list(self.brokers)
        shared = list(brokers[0][1]) if brokers else []
        label = "client_software_name", "client_software_version"
        families = (
            _family("client_connections", "Open client connections by software name and version.", shared, label),
            _family("connected_clients", "Open client connections.", shared, ()),
            _family("connected_clients_by_name", "Open client connections by software name.", shared, label[:1]),
            _family("connected_clients_by_version", "Open client connections by software version.", shared, label[1:]),
        )
        for counted, labels in brokers:
            counts = counted()
            names: Counts[tuple[str]] = Counts()
            versions: Counts[tuple[str]] = Counts()
            for (name, version), number in counts.items():
                names[name,] += number
                versions[version,] += number
            listed: tuple[Series, ...] = (counts, {(): sum(counts.values())}, names, versions)
            for family, series in zip(families, listed, strict=True):
                _add(family, [*labels.values()], series)
        yield from families


def _family(name: str, text: str, shared: list[str], own: tuple[str, ...]) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"clientscope_gateway_{name}", text, labels=[*shared, *own])


def _add(family: GaugeMetricFamily, labels: Sequence[str], counts: Series) -> None:
    """Adds the 1,000 largest series of a broker, and the rest as ``other``."""
    ranked = sorted(counts.items(), key=lambda item: -item[1])
    for series, number in ranked[:_MOST_SERIES]:
        family.add_metric([*labels, *series], number)
    if rest := ranked[_MOST_SERIES:]:
        family.add_metric([*labels, *("other" for _ in rest[0][0])], sum(number for _, number in rest))


class GatewayMetrics:
    """Counters by name and reason, and the gauge of connections."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._connections = _Connections()
        self.registry.register(self._connections)
        self._lag = Histogram(
            "clientscope_gateway_event_loop_lag_seconds",
            "Delay of an event loop's timer, measured at least once a second.",
            ["process"],
            buckets=_LAG_S,
            registry=self.registry,
        )
        self._counters = {
            name: Counter(f"clientscope_gateway_{name}", text, [_LABELS.get(name, "reason")], registry=self.registry)
            for name, text in COUNTERS.items()
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

    def show_connections(self, counts: Callable[[], Mapping[tuple[str, str], int]], labels: dict[str, str]) -> Callable[[], None]:
        """Shows the counts of a broker's registry under these labels, whose names are the same for all; returns what ends that."""
        shown = (counts, labels)
        self._connections.brokers.append(shown)
        return lambda: self._connections.brokers.remove(shown)
