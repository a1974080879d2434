"""Writes the tables of docs/metrics.md from the metrics that each process registers; what stands around the tables is written by hand.

``python docs/make/metrics.py``; a test compares.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry

from clientscope.bounded_http import refusals
from clientscope.gateway.metrics import GatewayMetrics
from clientscope.gateway.policy.metrics import PolicyMetrics
from sinks.alerts.delivery import DeliverMetrics
from sinks.dashboard.api.metrics import registry as of_serve
from sinks.dashboard.state.state import State
from sinks.quality.quality import QualityMetrics
from streaming.job_metrics import JobMetrics

FILE = Path(__file__).resolve().parents[1] / "metrics.md"
_TABLE = re.compile(r"(<!-- metrics: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def _gateway() -> CollectorRegistry:
    metrics = GatewayMetrics()
    metrics.show_bypassed(lambda: False)
    metrics.show_connections(dict, {"cluster": "", "broker": "", "listener": ""})
    return metrics.registry


def _policy() -> CollectorRegistry:
    registry = CollectorRegistry()
    PolicyMetrics(registry, lambda: 0)
    return registry


def _http() -> CollectorRegistry:
    registry = CollectorRegistry()
    refusals(registry)
    return registry


def _quality() -> CollectorRegistry:
    registry = CollectorRegistry()
    QualityMetrics(registry)
    return registry


def _serve() -> CollectorRegistry:
    state = State()
    state.live()
    return of_serve(state)


REGISTRIES: dict[str, Callable[[], CollectorRegistry]] = {
    "gateway": _gateway,
    "policy": _policy,
    "http": _http,
    "stream": lambda: JobMetrics().registry,
    "quality": _quality,
    "serve": _serve,
    "deliver": lambda: DeliverMetrics(()).registry,
}
"""The registry of each table, by the table's name in docs/metrics.md."""


def table(registry: CollectorRegistry) -> str:
    """A line for each metric: name, type, labels, and its HELP text."""
    # The library offers names of labels nowhere; a family without samples shows none either.
    wrappers: Iterable[Any] = registry._collector_to_names
    labels = {wrapper._name: wrapper._labelnames for wrapper in wrappers if hasattr(wrapper, "_labelnames")}
    lines = ["| metric | type | labels | meaning |", "|---|---|---|---|"]
    for family in registry.collect():
        names = getattr(family, "_labelnames", labels.get(family.name, ()))
        name = f"{family.name}_total" if family.type == "counter" else family.name
        lines.append(f"| `{name}` | {family.type} | {', '.join(f'`{label}`' for label in names)} | {family.documentation} |")
    return "\n".join(lines) + "\n"


def page(text: str) -> str:
    """The page with its tables as the code has them now.

    Raises:
        KeyError: a table of a process that has no metrics.
    """
    return _TABLE.sub(lambda found: f"{found[1]}{table(REGISTRIES[found[2]]())}{found[3]}", text)


if __name__ == "__main__":
    FILE.write_text(page(FILE.read_text()))
