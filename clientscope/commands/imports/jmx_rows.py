"""Implementation of ``clientscope import jmx``: connections by software, requests by version, and what becomes of both at the target."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from clientscope.catalog import sensitive
from clientscope.catalog.releases import Range, api_name
from clientscope.commands.imports.jmx import ImportJmxSettings
from clientscope.commands.imports.jmx_metrics import MOST_KEYS, JmxKey, JmxMetrics, ask_prometheus, read_page
from clientscope.commands.lint.linting import CLEAN, FOUND, WRONG
from clientscope.commands.lint.shown import plain
from clientscope.commands.xray.summary import READINESS_COLOURS
from clientscope.errors import SettingsError
from clientscope.readiness import ObservedClient, Readiness, judge_readiness, target_release
from clientscope.readiness.rows import NAMES, WORST_FIRST
from clientscope.readiness.served import served, within
from clientscope.readiness.verdict import API_VERSIONS, BETWEEN_BROKERS, OPTIONAL
from clientscope.report.listing import Listed, show

_HINT = (
    "export kafka.server:type=socket-server-metrics with labels clientSoftwareName and clientSoftwareVersion, and "
    "kafka.network:type=RequestMetrics,name=RequestsPerSec as a counter with labels request and version (docs/readiness.md)"
)
_KINDS = ("connections", "requests", "deprecated")


@dataclass(frozen=True)
class JmxRow:
    """One number, with the verdict at the target; every name may be shown.

    Attributes:
        kind: as in `JmxKey`.
        count: connections or requests.
    """

    kind: str
    software_name: str
    software_version: str
    api: str
    api_version: int | None
    count: int
    readiness: Readiness
    reason: str


FIELDS = tuple(JmxRow.__dataclass_fields__)


def run(settings: ImportJmxSettings) -> int:
    """Prints the rows; the command's exit status.

    Raises:
        EnvironmentProblem: a page or Prometheus doesn't answer.
        SettingsError: something is wrong with the settings, or there are no such metrics.
    """
    if bool(settings.pages) == bool(settings.prometheus):
        raise SettingsError("which metrics?", "give JMX exporters' pages, such as http://broker-1:9404/metrics, or --prometheus URL")
    target = target_release(settings.target)
    found: list[JmxRow] = []

    def listed() -> Listed[JmxRow]:
        metrics = read(settings)
        found[:] = rows(metrics, target)
        return Listed(
            found,
            row=asdict,
            name=lambda row: f"{row.software_name}/{row.software_version}" if row.kind == "connections" else f"{row.api}/{row.api_version}",
            table=lambda items, wide: table(items, target, wide=wide),
            left_out=tuple(_left_out(metrics)),
        )

    show(settings, FIELDS, listed)
    sys.stdout.flush()
    if not found:
        print(f"error: no connections by software and no requests by version in these metrics; {_HINT}", file=sys.stderr)
        return WRONG
    return FOUND if any(row.kind != "connections" and row.readiness is Readiness.BREAKS for row in found) else CLEAN


def read(settings: ImportJmxSettings) -> JmxMetrics:
    """All that the pages, or the Prometheus, have."""
    metrics = JmxMetrics()
    if settings.prometheus:
        ask_prometheus(settings.prometheus, settings.window, metrics)
    for page in settings.pages:
        read_page(page, metrics)
    return metrics


def rows(metrics: JmxMetrics, target: str) -> list[JmxRow]:
    """Connections by software, then requests and deprecated requests by API; the worst verdict first in each."""
    there = served(target)
    counted = [(key, count) for key, count in metrics.counts.items() if key.api_key not in BETWEEN_BROKERS]
    made = [_requests(key, key.api_key, count, target, there.get(key.api_key)) for key, count in counted if key.api_key is not None]
    broken = {(row.software_name, row.software_version): row for row in made if row.readiness is Readiness.BREAKS}
    made += [_connections(key, count, target, broken) for key, count in counted if key.api_key is None]
    return sorted(made, key=lambda row: (_KINDS.index(row.kind), WORST_FIRST.index(row.readiness), -row.count, row.api, row.software_name))


def _connections(key: JmxKey, count: int, target: str, broken: Mapping[tuple[str, str], JmxRow]) -> JmxRow:
    name, version = _shown(key)
    verdict = judge_readiness(ObservedClient((), key.software_name, key.software_version), target)
    readiness, reason = verdict.readiness, verdict.reasons[0].text
    if sent := broken.get((name, version)):
        readiness, reason = Readiness.BREAKS, f"It sends {sent.api} {sent.api_version}."
    elif readiness is Readiness.UNKNOWN:
        reason = "The metrics don't say which versions it sends."
    return JmxRow(key.kind, name, version, "", None, count, readiness, reason)


def _shown(key: JmxKey) -> tuple[str, str]:
    return plain(sensitive.shown(key.software_name)), plain(sensitive.shown(key.software_version))


def _requests(key: JmxKey, number: int, count: int, target: str, versions: Range | None) -> JmxRow:
    api, software = api_name(number) or f"API {number}", _shown(key)
    if within(key.api_version or 0, versions):
        return JmxRow(key.kind, *software, api, key.api_version, count, Readiness.FINE, "")
    # ApiVersions is answered with error 35 and asked again, and a client works without client metrics.
    readiness = Readiness.FALLS_BACK if number in OPTIONAL | {API_VERSIONS} else Readiness.BREAKS
    reason = f"Kafka {target} serves {api} {versions[0]} to {versions[1]}." if versions else f"Kafka {target} doesn't have {api}."
    return JmxRow(key.kind, *software, api, key.api_version, count, readiness, reason)


def table(items: Sequence[JmxRow], target: str, *, wide: bool) -> RenderableType:
    """Software, and requests in versions that the target doesn't serve; all requests where it is wide."""
    software, requests, deprecated = ([row for row in items if row.kind == kind] for kind in _KINDS)
    parts: list[RenderableType] = []
    if software:
        parts += [
            _table(("SOFTWARE", "VERSION", "CONNECTIONS"), ((row.software_name, row.software_version, row) for row in software)),
            Text(),
        ]
    shown = requests if wide else [row for row in requests if row.readiness is not Readiness.FINE]
    if shown:
        parts += [_table(("API", "VERSION", "REQUESTS"), ((row.api, str(row.api_version), row) for row in shown)), Text()]
    named = [row for row in deprecated if wide or row.readiness is not Readiness.FINE]
    if named:
        named_rows = ((f"{row.api} {row.api_version}", f"{row.software_name} {row.software_version}", row) for row in named)
        parts += [_table(("DEPRECATED API", "SOFTWARE", "REQUESTS"), named_rows), Text()]
    old = sum(row.count for row in requests if row.readiness is Readiness.BREAKS)
    if requests:
        parts.append(
            Text(f"Requests in versions that Kafka {target} doesn't serve: {old:,}. xray and readiness show which clients send them.")
        )
    return Group(*parts)


def _table(headings: tuple[str, str, str], cells: Iterator[tuple[str, str, JmxRow]]) -> Table:
    view = Table(header_style="bold", box=None, pad_edge=False)
    for heading in ("VERDICT", *headings, "REASON"):
        view.add_column(heading, overflow="fold", justify="right" if heading in ("CONNECTIONS", "REQUESTS") else "left")
    for first, second, row in cells:
        texts = (NAMES[row.readiness], first, second, f"{row.count:,}", row.reason or "–")
        view.add_row(*(Text(text) for text in texts), style=READINESS_COLOURS[row.readiness])
    return view


def _left_out(metrics: JmxMetrics) -> Iterator[str]:
    if metrics.left_out:
        yield f"not in the result: {metrics.left_out:,} samples of software and versions beyond the first {MOST_KEYS:,}"
    if metrics.unknown:
        names = ", ".join(plain(name, 40) for name in sorted(metrics.unknown)[:3])
        yield f"not in the result: requests that Kafka 4.4 doesn't have: {names}"
    kinds = {key.kind for key in metrics.counts}
    if kinds and "connections" not in kinds:
        yield "not in the result: connections by software (Kafka 2.5 and later); the exporter's rules may leave them out"
    if kinds == {"connections"}:
        yield "not in the result: requests by version; the exporter's rules may leave them out, or drop the label version"
