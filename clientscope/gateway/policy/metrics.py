"""Metrics of KIP-1324's group ``client-config``, as Prometheus metrics; docs/metrics.md has the table."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

_SECONDS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0)


class PolicyMetrics:
    """What the policy does; KIP-1324's four, and what its process does.

    Attributes:
        pushes: that have come.
        errors: by the policy, or by the end of its process, with the reason.
        process_time: of ``process``, in seconds.
        restarts: of its process, with the reason.

    Args:
        registry: where they are shown.
        instances: how many different client instance ids are connected now; asked at each scrape.
    """

    def __init__(self, registry: CollectorRegistry, instances: Callable[[], int]) -> None:
        Gauge(
            "clientscope_client_config_instances",
            "Connected client instances: distinct instance ids within their principal or address.",
            registry=registry,
        ).set_function(instances)
        self.pushes = Counter(
            "clientscope_client_config_pushes",
            "PushConfig requests that are valid and within their quotas.",
            registry=registry,
        )
        self.errors = Counter(
            "clientscope_client_config_errors",
            "Pushes on which the policy raised an error, took too long, or ended.",
            ["reason"],
            registry=registry,
        )
        self.process_time = Histogram(
            "clientscope_client_config_process_time_seconds", "Duration of the policy's process().", buckets=_SECONDS, registry=registry
        )
        self.restarts = Counter(
            "clientscope_client_config_policy_restarts", "Restarts of the policy's process.", ["reason"], registry=registry
        )
        self._waiting = Gauge("clientscope_client_config_pushes_waiting", "Pushes that wait for the policy.", registry=registry)
        self._bypassed = Gauge("clientscope_client_config_policy_bypassed", "1 while the policy receives no pushes.", registry=registry)

    def show(self, waiting: Callable[[], int], bypassed: Callable[[], bool]) -> None:
        """Shows these, asked at each scrape."""
        self._waiting.set_function(waiting)
        self._bypassed.set_function(lambda: float(bypassed()))
