"""Checks of the demo's results: clientscope's topics, and the broker's own JMX."""

from __future__ import annotations

import json
import threading
import urllib.request
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from prometheus_client.parser import text_string_to_metric_families
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from clientscope.errors import RecordError
from clientscope.findings.wording import unmarked
from clientscope.kafka.reader import TopicReader
from clientscope.model.codec import decode
from clientscope.model.finding import Finding
from clientscope.model.topics import FINDINGS, GAUGES, RESULTS
from clientscope.report.findings import COLOURS, is_counted, said
from clientscope.report.text import plain

Series = tuple[str, str]
"""Software name and version."""


@dataclass(frozen=True)
class Snapshot:
    """What the topics say now.

    Attributes:
        connections: on listener CLIENT, those at zero left out.
        pushes: rows of pushes on ``clientscope.results``; no others count.
        pushing: the software names of the clients that pushed.
        findings: those that count (`clientscope.report.findings`), the most urgent first.
    """

    connections: dict[Series, int] = field(default_factory=dict)
    pushes: int = 0
    pushing: frozenset[Series] = frozenset()
    findings: tuple[Finding, ...] = ()


class DemoWatch:
    """Follows ``clientscope.gauges``, ``clientscope.results`` and ``clientscope.findings`` in a thread of its own."""

    def __init__(self, bootstrap_servers: str) -> None:
        self._reader = TopicReader(bootstrap_servers, "clientscope-demo")
        self._reader.seek(self._reader.ranges(GAUGES, RESULTS, FINDINGS))
        self._lock = threading.Lock()
        self._gauges: dict[bytes, dict[str, Any]] = {}
        self._pushes = 0
        self._pushing: set[Series] = set()
        self._findings: dict[bytes, Finding] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)
        self._thread.start()

    def snapshot(self) -> Snapshot:
        """What the topics say now; gauges of several gateways are summed."""
        with self._lock:
            sums: Counter[Series] = Counter()
            for gauge in self._gauges.values():
                if gauge.get("listener") == "CLIENT":  # a gateway's own row has none
                    sums[gauge["software_name"], gauge["software_version"]] += gauge["connections"]
            connections = {series: count for series, count in sums.items() if count}
            found = sorted(filter(is_counted, self._findings.values()), key=lambda finding: finding.urgency)
            return Snapshot(connections, self._pushes, frozenset(self._pushing), tuple(found))

    def close(self) -> None:
        """Stops reading."""
        self._stop.set()
        self._thread.join(10)
        self._reader.close()

    def _run(self) -> None:
        while not self._stop.is_set():
            for partition, messages in self._reader.poll(0.2).items():
                with self._lock:
                    for message in messages:
                        if partition.topic == GAUGES:
                            self._gauge(message.key, message.value)
                        elif partition.topic == FINDINGS:
                            with suppress(RecordError):  # somebody else's, which is passed over
                                self._finding(message.key, message.value)
                        elif message.value is not None:
                            self._result(json.loads(message.value))

    def _gauge(self, key: bytes, value: bytes | None) -> None:
        if value is None:
            self._gauges.pop(key, None)
        else:
            self._gauges[key] = json.loads(value)

    def _result(self, result: dict[str, Any]) -> None:
        if result["origin"] != "pushed":  # what was seen of the same clients' requests
            return
        self._pushes += 1
        self._pushing.add((result["software_name"], result["software_version"]))

    def _finding(self, key: bytes, value: bytes | None) -> None:
        if value is None:
            self._findings.pop(key, None)
        else:
            self._findings[key] = decode(Finding, value)


def jmx_connections(port: int, listener: str = "CLIENT") -> dict[Series, int]:
    """The broker's own count per software name and version, from its JMX exporter; those at zero left out."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as response:
        text = response.read().decode()
    sums: Counter[Series] = Counter()
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name == "kafka_client_connections" and sample.labels["listener"] == listener:
                sums[sample.labels["client_software_name"], sample.labels["client_software_version"]] += int(sample.value)
    return {series: count for series, count in sums.items() if count}


# Live summary of the demo in the terminal.

_BAR = 24
_WORST = 5


def render(snapshot: Snapshot, page: str, seconds: int) -> RenderableType:
    """A table of connections per software name and version, and a line each for pushes and findings."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("software")
    table.add_column("version")
    table.add_column("connections", justify="right")
    table.add_column("")
    table.add_column("pushes?", style="dim")
    most = max(snapshot.connections.values(), default=1)
    for (name, version), count in sorted(snapshot.connections.items(), key=lambda item: (-item[1], item[0])):
        bar = "█" * max(1, round(_BAR * count / most))
        table.add_row(Text(name), Text(version), str(count), Text(bar, "cyan"), "yes" if (name, version) in snapshot.pushing else "–")
    if not snapshot.connections:
        table.add_row("[dim]waiting for the first gauge…", "", "", "", "")
    status = Text.assemble(
        ("pushes    ", "bold"), str(snapshot.pushes), "    ", ("page  ", "bold"), page, f"    {seconds} s", "    Ctrl-C ends it"
    )
    return Group(Text(), table, Text(), _findings(snapshot), Text(), status)


def _findings(snapshot: Snapshot) -> RenderableType:
    """How many there are, as the page counts them, and the most urgent, a line each."""
    if not snapshot.findings:
        return Text.assemble(("findings  ", "bold"), ("none yet", "dim"))
    lines = Table.grid(padding=(0, 2, 0, 0))
    for finding in snapshot.findings[:_WORST]:
        lines.add_row(Text(finding.severity, COLOURS[finding.severity]), Text(finding.code), plain(unmarked(finding.message), "dim"))
    more = len(snapshot.findings) - _WORST
    return Group(
        Text(said(Counter(each.severity for each in snapshot.findings)), "bold"),
        lines,
        Text(f"and {more} more, on the page" if more > 0 else "", "dim"),
    )
