"""Implementation of ``clientscope import client-logs``: reads logs, judges each client as ``clientscope lint`` judges a file, and prints
the result.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

from clientscope.catalog.configs import TYPES, ClientType, Type
from clientscope.catalog.dialects import dialect as dialect_of
from clientscope.catalog.dialects.dialect import Dialect
from clientscope.catalog.sensitive import reason
from clientscope.commands.imports.client_logs import ImportClientLogsSettings
from clientscope.commands.imports.java_logs import JavaLogs
from clientscope.commands.imports.librdkafka_logs import LibrdkafkaLogs
from clientscope.commands.imports.logged_client import LoggedClient, LoggedSetting
from clientscope.commands.imports.logged_starts import LoggedStarts
from clientscope.commands.imports.publishing import Publishing
from clientscope.commands.lint import linting, shown
from clientscope.commands.lint.findings import Instance, LintReport, Read
from clientscope.commands.lint.judging import Subject, application_client_id
from clientscope.commands.lint.located import Placed, Region
from clientscope.errors import ClientscopeError
from clientscope.logs import files
from clientscope.logs.layouts import texts
from clientscope.logs.times import written_ms
from clientscope.policy.found_clients import AddedClient, FoundClient, FoundClients
from clientscope.policy.interface import ClientConfig
from clientscope.records.layouts import Origin, ValueState
from udfs.rules.engine.vocabulary import KEY_IDS, OWNERS, bit

MOST_CLIENTS = 10_000
"""Different configurations in one run; how many more there were is an error of the run."""


def run(settings: ImportClientLogsSettings, today: date | None = None) -> int:
    """Prints the rules' findings on the clients in the logs; returns the command's exit status.

    Raises:
        ClientscopeError: something is wrong with the settings, the rules file or owners.toml.
    """
    publishing = Publishing(settings) if settings.publish else None
    starts = LoggedStarts()
    made = import_logs(settings, today or datetime.now(UTC).date(), publishing.clients if publishing else None, starts)
    if publishing is not None:
        made = replace(made, errors=(*made.errors, *publishing.send(starts)))
    return linting.printed(settings, made)


def import_logs(
    settings: ImportClientLogsSettings, today: date, published: FoundClients | None = None, starts: LoggedStarts | None = None
) -> LintReport:
    """All that is found, and all that couldn't be read.

    Args:
        published: takes the clients whose log is whole.
        starts: takes when they started.

    Raises:
        ClientscopeError: something is wrong with the settings, the rules file or owners.toml.
    """
    different: dict[tuple[object, ...], _Seen] = {}
    parts: list[tuple[object, ...]] = []  # of those, which aren't whole: what a log can be made to hold most easily, so they go first
    errors: list[str] = []
    left_out = unpublished = 0
    for path in files.find(settings.paths):
        name = shown.plain(files.shown(path))
        try:
            for client in clients(files.lines(path)):
                if published is not None and not client.role:
                    unpublished += publish(client, files.shown(path), settings, published, starts) is None
                key = (name, client.dialect, client.client_type, client.version, client.whole, frozenset(_distinguishing(client)))
                if (seen := different.get(key)) is not None:
                    different[key] = _Seen(name, client, seen.starts + 1)
                    continue
                if len(different) >= MOST_CLIENTS:
                    left_out += 1
                    if not client.whole or not parts:
                        continue
                    del different[parts.pop()]
                different[key] = _Seen(name, client, 1)
                if not client.whole:
                    parts.append(key)
        except ClientscopeError as error:
            errors.append(shown.plain(f"{error}; {error.hint}", 400))
    if left_out:
        errors.append(f"{left_out:,} clients are left out, since a run takes {MOST_CLIENTS:,} different configurations: give fewer logs")
    if unpublished:
        print(
            f"not published, since the log ends before their last setting or contradicts itself: {unpublished:,} starts of clients",
            file=sys.stderr,
        )
    if not different and not errors:
        errors.append("no client's settings in these logs; Java clients log them at INFO when they start, librdkafka's with debug=conf")
    return linting.report_on([_read(seen, settings.principal or None) for seen in different.values()], settings, today, errors=errors)


class ClientsInLog:
    """Finds the clients in a log, line by line."""

    def __init__(self) -> None:
        self._readers = (JavaLogs(), LibrdkafkaLogs())
        self._number = 0

    def read(self, line: str) -> Iterator[LoggedClient]:
        """Takes a line, without its end, and gives clients that are complete by it."""
        self._number += 1
        for text in texts(line):
            for reader in self._readers:
                yield from reader.read(self._number, text)

    def end(self) -> Iterator[LoggedClient]:
        """Gives the rest, once the log has ended."""
        for reader in self._readers:
            yield from reader.end()


def clients(lines: Iterable[str]) -> Iterator[LoggedClient]:
    """The clients in a log, each once it is complete.

    Args:
        lines: without their ends.
    """
    log = ClientsInLog()
    for line in lines:
        yield from log.read(line)
    yield from log.end()


_ROTATED = re.compile(r"(?:\.gz|[._-]\d[\d._-]*)+$")
"""What a rotated log has behind the name of the current one."""


class _Seen(NamedTuple):
    """A configuration, at its last start."""

    path: str
    client: LoggedClient
    starts: int


_application = lru_cache(maxsize=10_000)(application_client_id)


def _distinguishing(client: LoggedClient) -> Iterator[tuple[str, str | None]]:
    """What makes it another configuration: not the number that a library adds to client.id at each start."""
    for key, setting in client.settings.items():
        yield key, _application(setting.value) if key == "client.id" and setting.value else setting.value


def _read(seen: _Seen, principal: str | None) -> Read:
    client = seen.client
    dialect = dialect_of(client.dialect)
    given = _given(client, dialect)
    values = {key: setting.value for key, setting in client.settings.items() if setting.value is not None}
    # Of an incomplete client, or a worker, only the logged settings are known; the rules take them as settings under a prefix.
    subject = (
        Subject({key: values[key] for key in given}, dialect, client.version, client.client_type, principal)
        if client.whole and not client.role
        else Subject(values, dialect, client.version, client.client_type, principal, {key: key for key in values}, observed=True)
    )
    placed = {key: _placed(key, setting, key not in given) for key, setting in client.settings.items() if setting.value is not None}
    notes = []
    if client.contradicted:
        names = ", ".join(shown.key(key) for key in sorted(client.contradicted)[:3])
        notes.append((client.line, f"{names}: more than one value is logged, so these settings and defaults are not judged"))
    elif not client.whole:
        notes.append((client.line, "the log ends before the last setting, so defaults are not judged"))
    identity = client.settings.get("client.id")
    client_id = identity.value if identity else None
    if client.role:
        named = client.settings.get("name") or client.settings.get("group.id")
        client_id = f"{client.role} {named.value if named and named.value else ''}".rstrip()
    instance = Instance(shown.client_name(client_id or ""), shown.plain(client.version), client.line, seen.starts)
    return Read(seen.path, placed, (subject,), tuple(notes), instance, principal)


def publish(
    client: LoggedClient,
    log: str,
    settings: ImportClientLogsSettings,
    published: FoundClients,
    starts: LoggedStarts | None = None,
    received_ms: int | None = None,
) -> AddedClient | None:
    """Adds a client to what is published; None for one whose log isn't whole: its record would claim defaults that it may not have.

    Args:
        received_ms: when its log was read; None for the start of the run.
    """
    if not client.whole:
        return None
    dialect = dialect_of(client.dialect)
    client_type = client.client_type or ClientType.ADMIN
    given = _given(client, dialect)
    values = {key: setting.value for key, setting in client.settings.items() if setting.value is not None}
    kafka_names = {key: dialect.kafka_name(key, client_type) for key in values}
    configs = (
        ClientConfig(key, value, int(TYPES.get(kafka_names[key], Type.STRING)), key not in given)
        for key, value in values.items()
        if _is_own(kafka_names[key], client_type)
    )
    # A default that may not be written down is the library's own, so the record does without it.
    kept = tuple(each for each in configs if not each.is_default or reason(each.key, each.value, each.type) is ValueState.PRESENT)
    kafka_values = {kafka_names[key]: value for key, value in values.items()}
    added = published.add(
        FoundClient(
            Origin.CLIENT_LOG,
            client.client_type,
            dialect.software[0],
            client.version,
            kafka_values.get("client.id"),
            settings.principal or None,
            kept,
            source=_ROTATED.sub("", log) + client.process,
            log=log,
            security_protocol=kafka_values.get("security.protocol", ""),
        ),
        received_ms,
    )
    if starts is not None:
        starts.add(added, dialect.name, written_ms(client.written, ZoneInfo(settings.time_zone)))
    return added


def _is_own(kafka_name: str, client_type: ClientType) -> bool:
    """Whether a setting has a meaning for such a client; one that Kafka doesn't have may be an interceptor's."""
    key_id = KEY_IDS.get(kafka_name)
    return key_id is None or bool(OWNERS[key_id] & bit(client_type))


def _given(client: LoggedClient, dialect: Dialect) -> set[str]:
    """Settings that differ from what the library would have without them. Java logs all, so the rest is as good as not set."""
    values = {key: setting.value for key, setting in client.settings.items() if setting.value is not None}
    if client.dialect != "java" or client.client_type is None:
        return set(values)
    release = dialect.release_of(client.version)
    defaults = dialect.defaults_of(client.client_type, client.version)
    written = {key: dialect.kafka_value(key, key, value) for key, value in values.items()}
    given = {key for key, value in written.items() if defaults.get(key) != value}
    settled = dialect.settle(client.client_type, {**defaults, **written}, (), release)
    return {key for key in given if settled.get(key) != written[key]}


def _placed(key: str, setting: LoggedSetting, is_default: bool) -> Placed:
    value = setting.value or ""
    region = Region(setting.line, setting.column, setting.line, setting.column + len(value))
    return Placed(key, value, region, f"{key} = {value}", setting.line, is_default=is_default)
