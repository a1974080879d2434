"""The result of a run: who is connected in which versions, findings by application, upgrade readiness, and what couldn't be seen."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from clientscope.catalog.configs import ClientType
from clientscope.catalog.dialects import dialect_of
from clientscope.catalog.dialects.java import JAVA
from clientscope.catalog.sensitive_names import LEAKED_AS, judge_name
from clientscope.catalog.value_states import ValueState
from clientscope.commands.lint import credentials, linting
from clientscope.commands.lint.findings import FileFinding, FileSetting, Happened, Instance, LintReport, Read
from clientscope.commands.lint.formats import stated
from clientscope.commands.lint.judging import Subject
from clientscope.commands.lint.placed import Placed, Region
from clientscope.commands.lint.shown import client_name, is_secret, plain, redacted
from clientscope.commands.xray import XraySettings
from clientscope.commands.xray.incidents import Incidents, Place
from clientscope.commands.xray.inventory import (
    MOST_CLIENTS,
    MOST_CONNECTIONS,
    NO_REQUEST,
    NOTHING_CAME,
    ClientRequests,
    Inventory,
    LogRead,
    at_info,
    read_logs,
)
from clientscope.errors import SettingsError
from clientscope.logs import files
from clientscope.logs.events import EventKind
from clientscope.model.client import Client
from clientscope.profiles import owners
from clientscope.profiles.client_patterns import PatternSubject
from clientscope.profiles.owners import Owners
from clientscope.readiness import ApiUse, nearest_release, target_release
from clientscope.readiness.judging import UpgradeQuestion, judged
from clientscope.readiness.rows import JudgedClient, ReadinessRow, logged_ms, rows, software_of
from clientscope.severities import SEVERITIES
from udfs.kernels.applications import application_of


@dataclass
class SeenConfiguration:
    """Settings that one or more clients of an application were seen with.

    Attributes:
        client_type: None for clients that sent nothing that shows it.
        settings: by Kafka's name, each where it was first seen; in another log, where its client was.
        contradicted: settings with several values, as of clients that share an identity.
        clients: how many clients were seen with them.
        happened: to the application's clients; its first configuration has it.
    """

    key: Client
    client_type: ClientType | None
    place: Place
    settings: dict[str, Placed] = field(default_factory=dict)
    contradicted: frozenset[str] = frozenset()
    clients: int = 1
    happened: dict[EventKind, Happened] = field(default_factory=dict)

    @property
    def application(self) -> str:
        """client.id without its instance part."""
        return _application(self.key)


def clients_of(inventory: Inventory) -> dict[Client, ClientRequests]:
    """All that are no brokers, in the order in which they were first seen."""
    return {key: client for key, client in inventory.clients.items() if not client.acts_as_broker}


def _application(key: Client) -> str:
    return application_of(key.client_id or "")


def configurations(clients: Mapping[Client, ClientRequests], incidents: Incidents) -> list[SeenConfiguration]:
    """Every different one, in the order in which they were first seen."""
    different: dict[tuple[object, ...], SeenConfiguration] = {}
    for key, client in clients.items():
        for client_type in client.client_types or (None,):
            made = _configuration(key, client, client_type)
            values = frozenset((name, each.value) for name, each in made.settings.items() if name != "client.id")
            same = (key.principal, made.application, key.software_name, key.software_version, client_type, values, made.contradicted)
            if (before := different.get(same)) is not None:
                before.clients += 1
            else:
                different[same] = made
    found = list(different.values())
    _add_incidents(found, incidents)
    return found


def _add_incidents(found: list[SeenConfiguration], incidents: Incidents) -> None:
    of = {(each.key.principal or "", each.application): each for each in reversed(found)}
    for kind, principal, client_id, place, (name, value), note in incidents.found():
        who = principal, application_of(client_id)
        if who not in of:  # a transaction of which a broker speaks alone
            key = Client(principal=principal, client_id=client_id, software_name="unknown", software_version="unknown")
            of[who] = SeenConfiguration(key, None, place)
            found.append(of[who])
        each = of[who]
        line = _placed(name, value, place, each.place).line
        before = each.happened.get(kind, Happened(kind, line))
        setting = FileSetting(name, _fit_to_show(name, value), "set", note=plain(note), line=line)
        each.happened[kind] = before._replace(settings=(*before.settings, setting))


def _configuration(key: Client, client: ClientRequests, client_type: ClientType | None) -> SeenConfiguration:
    settings = {name: _placed(name, *found, client.place) for (of, name), found in client.settings.items() if of is client_type}
    if key.client_id:
        settings["client.id"] = _placed("client.id", key.client_id, client.place)
    said = {"software_name": key.software_name, "software_version": key.software_version, "principal": key.principal or ""}
    for which, name in said.items():
        if judge_name(name, False) is ValueState.VALUE_SHAPE:  # which a finding is to say
            settings[LEAKED_AS[which]] = _placed(LEAKED_AS[which], name, client.place)
    contradicted = frozenset(name for of, name in client.contradicted if of is client_type)
    return SeenConfiguration(key, client_type, client.place, settings, contradicted)


def reads(found: Iterable[SeenConfiguration]) -> Iterator[Read]:
    """What the rules read of each."""
    for each in found:
        library, version = dialect_of(each.key.software_name) or JAVA, each.key.software_version
        subject = Subject(each.settings, library, version, each.client_type, False, each.key.software_name, observed=True)
        notes = []
        if each.contradicted:
            names = ", ".join(sorted(each.contradicted)[:3])
            notes.append((each.place.line, f"{names}: several values were seen under this identity, so these settings are not judged"))
        instance = Instance(
            client_name(each.key.client_id or ""),
            client_name(version, "software_version"),
            each.place.line,
            each.clients,
        )
        happened = tuple(each.happened.values())
        yield Read(plain(each.place.log), (subject,), tuple(notes), instance, each.key.principal, happened=happened)


def other_lines(inventory: Inventory) -> Iterator[Read]:
    """The credentials in lines, which come behind all clients."""
    for log, search in inventory.credentials.items():
        if search.found:
            yield Read(plain(log), [*credentials.subjects(search.found)])


def _placed(name: str, value: str, place: Place, of: Place | None = None) -> Placed:
    """A setting where it was seen, or, if that is in another log, where its client was."""
    line = place.line if of is None or place.log == of.log else of.line
    return Placed(name, value, Region(line, 1, line, 1), line)


def question(target: str, release: str | None, owners: Owners, logs: Sequence[LogRead], since_ms: int | None = None) -> UpgradeQuestion:
    """What is asked about the clients in logs, whose cluster has no name; at INFO only brokers of 3.9 log requests.

    Args:
        release: of the brokers that wrote the logs; None where it isn't known.
        since_ms: by `logged_ms`.
    """
    info = at_info(logs)
    return UpgradeQuestion(target, {"": release or ("3.9.1" if info else None)}, owners, application_of, since_ms, info)


def seen_on(text: str) -> str | None:
    """The release that ``--broker-release`` means; None if it isn't given.

    Raises:
        SettingsError: no release that is known.
    """
    release = nearest_release(text) if text else None
    if text and release is None:
        raise SettingsError(f"--broker-release: unknown release of Kafka: {text[:40]!r}", "give the brokers' release, such as 3.9 or 3.9.2")
    return release


def judged_clients(clients: Mapping[Client, ClientRequests], asked: UpgradeQuestion) -> list[JudgedClient]:
    """Every client with its verdict."""
    return [_judge(key, client, asked) for key, client in clients.items()]


def _client_shown(key: Client) -> Client:
    return Client(
        principal=client_name(key.principal or "", "principal"),
        software_name=client_name(key.software_name, "software_name"),
        software_version=client_name(key.software_version, "software_version"),
    )


def _judge(key: Client, client: ClientRequests, asked: UpgradeQuestion) -> JudgedClient:
    logged = {ApiUse(*version): logged_ms(last) for version, last in client.versions.items()}
    texts = dict(zip(logged.values(), client.versions.values(), strict=True))
    # What was logged without a time may be of now.
    used = {use: (asked.since_ms or 0) if ms is None else ms for use, ms in logged.items()}
    shown, name = _client_shown(key), client_name(_application(key))
    return judged(shown, _subject(key, client), name, used, max(used.values(), default=0), asked, lambda ms: texts.get(ms, ""))


def _subject(key: Client, client: ClientRequests) -> PatternSubject:
    group = next((value for (_, name), (value, _) in client.settings.items() if name == "group.id"), None)
    return PatternSubject(key.principal, group, key.client_id)


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
    owner: str


@dataclass(frozen=True)
class ProblemRow:
    """One problem, with everybody who has it, most clients first."""

    code: str
    severity: str
    message: str
    use_instead: str
    link: str
    affected: tuple[AffectedApplication, ...]
    clients: int


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


def look(settings: XraySettings) -> XrayResult:
    """Reads logs, and judges the clients in them.

    Raises:
        ClientscopeError: something is wrong with the settings, the rules file or owners.toml.
    """
    target = target_release(settings.target)
    release = seen_on(settings.broker_release)
    if settings.level == "info" and not settings.seconds:
        raise SettingsError("--level needs --seconds", "--level info --seconds 86400 watches for a day")
    if settings.seconds:
        from clientscope.commands.xray.live import look_at

        looked = look_at(settings)
        release = release or looked.broker_release
    elif not settings.paths:
        raise SettingsError("no log is given", "give PATH, or --seconds 10 to have the brokers log requests for so long")
    else:
        looked = read_logs(files.find(settings.paths), settings.max_bytes)
    inventory, logs, errors = looked.inventory, looked.logs, looked.errors
    if not inventory.clients and not errors and settings.level == "debug":
        errors.append(NOTHING_CAME if settings.seconds else NO_REQUEST)
    upgrade = question(target, release, owners.read_if_given(settings.owners), logs)
    clients = clients_of(inventory)
    found = configurations(clients, inventory.incidents)
    lint = linting.report_on([*reads(found), *other_lines(inventory)], settings, datetime.now(UTC).date(), errors)
    shown = tuple(_shown(each) for each in found)
    return XrayResult(
        cluster=plain(", ".join(log.name for log in logs)),
        made_at=datetime.now(UTC),
        logs=tuple(logs),
        clients=len(clients),
        connections=sum(len(client.connections) for client in clients.values()),
        applications=len({(key.principal, _application(key)) for key in clients}),
        software=_software(clients),
        problems=_problems(shown, lint),
        configurations=shown,
        target=target,
        readiness=rows(judged_clients(clients, upgrade)),
        unseen=_unseen(logs, inventory, found, upgrade.releases[""]),
        lint=lint,
    )


def _shown(configuration: SeenConfiguration) -> ShownConfiguration:
    settings = {key: _fit_to_show(key, each.value or "") for key, each in configuration.settings.items()}
    key = configuration.key
    return ShownConfiguration(
        client_name(configuration.application) or "without client.id",
        client_name(key.principal or "", "principal"),
        configuration.client_type.value if configuration.client_type else "",
        software_of(_client_shown(key)),
        configuration.clients,
        settings,
        tuple(sorted(configuration.contradicted)),
    )


def _fit_to_show(key: str, value: str) -> str:
    return redacted(value, "sensitive") if is_secret(key, value) else plain(value)


def _software(clients: Mapping[Client, ClientRequests]) -> tuple[SeenSoftware, ...]:
    using: dict[tuple[str, str], list[Client]] = defaultdict(list)
    for key in clients:
        using[key.software_name, key.software_version].append(key)
    rows = [
        SeenSoftware(
            client_name(name, "software_name"),
            client_name(version, "software_version"),
            len(keys),
            sum(len(clients[key].connections) for key in keys),
            len({(key.principal, _application(key)) for key in keys}),
        )
        for (name, version), keys in using.items()
    ]
    return tuple(sorted(rows, key=lambda row: (-row.clients, row.name, row.version)))


def _problems(found: Sequence[ShownConfiguration], lint: LintReport) -> tuple[ProblemRow, ...]:
    rows: dict[tuple[str, str], tuple[FileFinding, Counter[AffectedApplication]]] = {}
    others = (ShownConfiguration(file.path, "of no client", "", "", 0, {}, ()) for file in lint.files[len(found) :])
    for configuration, file in zip((*found, *others), lint.files, strict=True):
        for finding in file.findings:
            _, affected = rows.setdefault((finding.rule.code, finding.severity), (finding, Counter()))
            affected[_affected(configuration, finding)] += configuration.clients
    problems = []
    for (code, severity), (first, affected) in rows.items():
        together = sorted(affected.items(), key=lambda each: (-each[1], each[0].application))
        listed = tuple(replace(each, clients=clients) for each, clients in together)
        use_instead = first.rule.documentation.get("Use instead", "").replace("``", "`")
        problems.append(ProblemRow(code, severity, first.message, use_instead, first.rule.link, listed, affected.total()))
    return tuple(sorted(problems, key=lambda row: (-SEVERITIES.index(row.severity), -row.clients, row.code)))


def _affected(configuration: ShownConfiguration, finding: FileFinding) -> AffectedApplication:
    """Whom it is about, without how many clients they are."""
    settings = ", ".join(map(stated, finding.settings[:3]))
    return AffectedApplication(
        configuration.application,
        configuration.principal,
        configuration.client_type,
        configuration.software or f"line {finding.line}",
        settings,
        0,
        str(finding.owner or ""),
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
    if at_info(logs):
        texts.append(
            "Clients that sent none of the versions that Kafka 4.0 removed: at INFO, brokers of 3.9.1 and later 3.9 log no other requests, "
            "so a client that isn't listed sent none while these logs were written."
        )
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
