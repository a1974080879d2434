"""The demo's results: by the page, by the broker's own JMX, and as a terminal shows them."""

from __future__ import annotations

import urllib.request
from collections import Counter
from dataclasses import dataclass

from prometheus_client.parser import text_string_to_metric_families
from rich.console import Group, RenderableType
from rich.text import Text

from clientscope.api.findings import FindingList, Results
from clientscope.api.overview import Overview
from clientscope.clock import now_ms
from clientscope.model.finding import Finding
from clientscope.report.api import Api
from clientscope.report.findings import findings_table, listed
from clientscope.report.text import counted, table

Series = tuple[str, str]
"""Software name and version."""


@dataclass(frozen=True)
class Snapshot:
    """What the page says now.

    Attributes:
        connections: on listener CLIENT, those at zero left out.
        pushing: whose clients pushed.
        findings: what to do, of high confidence; the most urgent first.
    """

    connections: dict[Series, int]
    pushes: int
    pushing: frozenset[Series]
    findings: list[Finding]


def snapshot(api: Api) -> Snapshot:
    """Asks the page.

    Raises:
        EnvironmentProblem: it doesn't answer.
    """
    overview = api.get("overview", {}, Overview)
    connections = {
        (row.software_name, row.software_version): row.connections
        for row in overview.software
        if row.listener == "CLIENT" and row.connections
    }
    pushed = api.get("results", {"pushed": True}, Results).items
    pushing = frozenset((row.software_name, row.software_version) for row in pushed)
    findings = api.get("findings", {"confidence": "high"}, FindingList).items
    return Snapshot(connections, overview.pushes or 0, pushing, findings)


def jmx_connections(port: int) -> dict[Series, int]:
    """The broker's own count for listener CLIENT, from its JMX exporter; those at zero left out."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as response:
        text = response.read().decode()
    sums: Counter[Series] = Counter()
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name == "kafka_client_connections" and sample.labels["listener"] == "CLIENT":
                sums[sample.labels["client_software_name"], sample.labels["client_software_version"]] += int(sample.value)
    return {series: count for series, count in sums.items() if count}


_WORST = 5


def said(now: Snapshot) -> str:
    """How much there is of all, in a line."""
    return f"{counted(sum(now.connections.values()), 'connection')}, {counted(now.pushes, 'push', 'pushes')}, {listed(now.findings)}"


def render(now: Snapshot, page: str) -> RenderableType:
    """Connections by software, how much there is of all, and the most urgent findings."""
    software = table(("SOFTWARE", "VERSION", "CONNECTIONS", "PUSHES"), right=("CONNECTIONS",))
    for (name, version), count in sorted(now.connections.items(), key=lambda item: (-item[1], item[0])):
        software.add_row(Text(name), Text(version), f"{count}", "yes" if (name, version) in now.pushing else "–")
    more = f"{said(now)}; all on the page: {page} (Ctrl-C ends the demo)"
    return Group(software, Text(f"\n{more}\n"), findings_table(now.findings[:_WORST], now_ms()))
