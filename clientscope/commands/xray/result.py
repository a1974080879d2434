"""The result of a run: who is connected in which versions, findings by application, upgrade readiness, and what couldn't be seen."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from clientscope.commands.lint.findings import FileFinding, LintReport
from clientscope.commands.lint.shown import client_name, is_secret, plain, redacted
from clientscope.commands.xray.configurations import SeenConfiguration
from clientscope.commands.xray.inventory import MOST_CLIENTS, MOST_CONNECTIONS, ClientKey, InventoriedClient, Inventory
from clientscope.commands.xray.upgrade import (
    Upgrade,
    application_shown,
    judged,
    owner_shown,
    principal_shown,
    software_shown,
)
from clientscope.readiness.rows import ReadinessRow, rows
from clientscope.severities import SEVERITIES


@dataclass(frozen=True)
class LogRead:
    """One log, as far as it was read.

    Attributes:
        name: the file, the standard input or the broker.
        size: bytes that were read.
        requests: lines of the request logger that were understood.
        unreadable: lines of it that weren't.
        stopped: why reading ended before the log did; empty if it didn't.
    """

    name: str
    size: int
    requests: int
    unreadable: int
    stopped: str = ""


@dataclass(frozen=True)
class SeenSoftware:
    """Clients of one software and version (KIP-511)."""

    name: str
    version: str
    clients: int
    connections: int
    applications: int


@dataclass(frozen=True)
class AffectedApplication:
    """Clients of one application with the same problem.

    Attributes:
        client_type: empty where it isn't known.
        settings: those that decided, as ``key = value``.
        owner: team and contact; empty for none.
    """

    application: str
    principal: str
    client_type: str
    software: str
    settings: str
    clients: int
    owner: str = ""


@dataclass(frozen=True)
class ProblemRow:
    """One problem, with everybody who has it, most clients first."""

    code: str
    severity: str
    message: str
    use_instead: str
    link: str
    affected: tuple[AffectedApplication, ...]

    @property
    def clients(self) -> int:
        return sum(each.clients for each in self.affected)


@dataclass(frozen=True)
class ShownConfiguration:
    """What requests showed of the settings of clients of one application, under Kafka's names; secrets are replaced.

    Attributes:
        client_type: empty where it isn't known.
        shared: settings that came with several values under one identity.
    """

    application: str
    principal: str
    client_type: str
    software: str
    clients: int
    settings: Mapping[str, str]
    shared: tuple[str, ...]


@dataclass(frozen=True)
class XrayResult:
    """What a run found.

    Attributes:
        cluster: what was looked at, for a heading.
        made_at: UTC.
        target: the release of `readiness`.
        unseen: sentences on what couldn't be seen, and why.
        lint: the rules' report, which SARIF and JSON have in full.
    """

    cluster: str
    made_at: datetime
    logs: tuple[LogRead, ...]
    clients: int
    connections: int
    applications: int
    software: tuple[SeenSoftware, ...]
    problems: tuple[ProblemRow, ...]
    configurations: tuple[ShownConfiguration, ...]
    target: str
    readiness: tuple[ReadinessRow, ...]
    unseen: tuple[str, ...]
    lint: LintReport

    @property
    def requests(self) -> int:
        return sum(log.requests for log in self.logs)


def result(
    cluster: str,
    logs: Sequence[LogRead],
    inventory: Inventory,
    of: Mapping[ClientKey, str],
    found: Sequence[SeenConfiguration],
    lint: LintReport,
    upgrade: Upgrade,
) -> XrayResult:
    """Puts together what was seen and what the rules say of it.

    Args:
        of: the clients, with their applications.
        found: the configurations, in the order of the report's files.
        upgrade: what is asked about upgrade readiness.
    """
    clients = {key: inventory.clients[key] for key in of}
    return XrayResult(
        cluster=plain(cluster),
        made_at=datetime.now(UTC),
        logs=tuple(logs),
        clients=len(clients),
        connections=sum(len(client.connections) for client in clients.values()),
        applications=len({(key.principal, application) for key, application in of.items()}),
        software=_software(clients, of),
        problems=_problems(found, lint),
        configurations=tuple(_shown(each) for each in found),
        target=upgrade.target,
        readiness=rows(judged(clients, of, upgrade)),
        unseen=_unseen(logs, inventory, found, upgrade.broker_release),
        lint=lint,
    )


def _shown(configuration: SeenConfiguration) -> ShownConfiguration:
    settings = {
        key: redacted(value, "sensitive") if is_secret(key, value) else plain(value) for key, (value, _) in configuration.settings.items()
    }
    key = configuration.key
    return ShownConfiguration(
        application_shown(configuration.application),
        principal_shown(key.principal),
        configuration.client_type.value if configuration.client_type else "",
        software_shown(key),
        configuration.clients,
        settings,
        tuple(sorted(configuration.contradicted)),
    )


def _software(clients: Mapping[ClientKey, InventoriedClient], of: Mapping[ClientKey, str]) -> tuple[SeenSoftware, ...]:
    counts: Counter[tuple[str, str]] = Counter()
    connections: Counter[tuple[str, str]] = Counter()
    applications = defaultdict(set)
    for key, client in clients.items():
        counts[key.software_name, key.software_version] += 1
        connections[key.software_name, key.software_version] += len(client.connections)
        applications[key.software_name, key.software_version].add((key.principal, of[key]))
    rows = [
        SeenSoftware(
            client_name(name, "client_software_name"),
            client_name(version, "client_software_version"),
            count,
            connections[name, version],
            len(applications[name, version]),
        )
        for (name, version), count in counts.items()
    ]
    return tuple(sorted(rows, key=lambda row: (-row.clients, row.name, row.version)))


def _problems(found: Sequence[SeenConfiguration], lint: LintReport) -> tuple[ProblemRow, ...]:
    rows: dict[tuple[str, str], list[tuple[FileFinding, AffectedApplication]]] = defaultdict(list)
    for configuration, file in zip(found, lint.files, strict=False):
        for finding in file.findings:
            rows[finding.rule.code, finding.severity].append((finding, _affected(configuration, finding)))
    problems = []
    for (code, severity), affected in rows.items():
        first = affected[0][0]
        together: dict[AffectedApplication, int] = defaultdict(int)
        for _, each in affected:
            together[replace(each, clients=0)] += each.clients
        counted = [replace(each, clients=count) for each, count in together.items()]
        listed = sorted(counted, key=lambda each: (-each.clients, each.application))
        use_instead = first.rule.documentation.get("Use instead", "").replace("``", "`")
        problems.append(ProblemRow(code, severity, first.message, use_instead, first.rule.link, tuple(listed)))
    return tuple(sorted(problems, key=lambda row: (-SEVERITIES.index(row.severity), -row.clients, row.code)))


def _affected(configuration: SeenConfiguration, finding: FileFinding) -> AffectedApplication:
    settings = ", ".join(f"{each.key} = {'not known' if each.value is None else each.value}" for each in finding.settings[:3])
    key = configuration.key
    return AffectedApplication(
        application_shown(configuration.application),
        principal_shown(key.principal),
        configuration.client_type.value if configuration.client_type else "",
        software_shown(key),
        settings,
        configuration.clients,
        owner_shown(finding.owner),
    )


def _unseen(
    logs: Sequence[LogRead],
    inventory: Inventory,
    found: Sequence[SeenConfiguration],
    broker_release: str | None,
) -> tuple[str, ...]:
    texts = [
        "Clients that sent no request meanwhile: an idle producer sends Metadata every 5 minutes. Look for longer to see them.",
        "Settings that no request shows, such as linger.ms, batch.size, retries and enable.auto.commit: "
        "clientscope lint reads them in clients' own logs.",
        *not_read(logs, inventory),
    ]
    if any(each.contradicted for each in found):
        texts.append("Settings of clients that share client.id, principal and address but differ in values.")
    if broker_release is None:
        texts.append(NO_BROKER_RELEASE)
    return tuple(texts)


NO_BROKER_RELEASE = "The brokers' release: with --broker-release more clients can be judged for the upgrade."


def not_read(logs: Sequence[LogRead], inventory: Inventory) -> list[str]:
    """Sentences on what is in the logs and not in the result: every bound that was reached."""
    texts = []
    if unreadable := sum(log.unreadable for log in logs):
        texts.append(
            f"{unreadable:,} lines of the request logger: cut by a log collector, of an unknown format, "
            "or (before Kafka 2.8) with names that could be read in two ways."
        )
    texts += [f"What follows in {plain(log.name)}: {log.stopped}." for log in logs if log.stopped]
    if inventory.left_out:
        texts.append(f"{inventory.left_out:,} requests of clients beyond the first {MOST_CLIENTS:,}.")
    if inventory.uncounted:
        texts.append(f"Connections beyond the first {MOST_CONNECTIONS:,}: the numbers of connections are too small.")
    if brokers := sorted({plain(key.address) for key, client in inventory.clients.items() if client.acts_as_broker}):
        more = f" and {len(brokers) - 5} more" if len(brokers) > 5 else ""
        texts.append(f"Brokers' own connections, from {', '.join(brokers[:5])}{more}: left out, since they replicate or coordinate.")
    return texts
