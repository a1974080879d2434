"""Clients in a client's own log: what Java clients, workers of Kafka Connect and librdkafka log of their settings, before it is judged."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from clientscope.catalog.dialects import dialect as dialect_of
from clientscope.catalog.dialects.java import JAVA
from clientscope.catalog.setting_names import judge
from clientscope.commands.lint import credentials, shown
from clientscope.commands.lint.findings import Happened, Instance, Read
from clientscope.commands.lint.judging import Subject
from clientscope.commands.lint.placed import on_line
from clientscope.logs.client_logs import JavaLogs, LibrdkafkaLogs, LoggedStart, texts
from clientscope.logs.events import EventLog
from udfs.kernels.applications import application_of

MOST_CLIENTS = 10_000
"""Different configurations in one log, and as many that aren't whole."""


def clients(lines: Iterable[str], events: EventLog | None = None, search: credentials.Search | None = None) -> Iterator[LoggedStart]:
    """The clients in a log, each once it is complete.

    Args:
        lines: without their ends.
        events: gets what happened to them.
        search: gets all lines.
    """
    readers = (JavaLogs(), LibrdkafkaLogs())
    for number, line in enumerate(lines, 1):
        if search is not None:
            search.add(number, line)
        for text in texts(line):
            if events is not None:
                events.read(number, text)
            for reader in readers:
                yield from reader.read(number, text)
    for reader in readers:
        yield from reader.end()


def reads(path: str, lines: Iterable[str]) -> list[Read]:
    """What is to be judged: each different configuration once, at its last start; nothing where there is none, nor a credential."""
    # A log can most easily be made to hold clients that aren't whole, so they take no room from the others.
    different: dict[bool, dict[tuple[object, ...], tuple[LoggedStart, int]]] = {True: {}, False: {}}
    left_out = 0
    search = credentials.Search()
    events = EventLog()
    for client in clients(lines, events, search):
        # The number that a library adds to client.id at each start makes no other configuration.
        values = (
            (key, application_of(setting.value) if key == "client.id" and setting.value else setting.value)
            for key, setting in client.settings.items()
        )
        key = (client.dialect, client.client_type, client.version, frozenset(values))
        kept = different[client.whole]
        if key in kept or len(kept) < MOST_CLIENTS:
            kept[key] = client, kept.get(key, (client, 0))[1] + 1
        else:
            left_out += 1
    found = [*different[True].values(), *different[False].values()]
    settled = {setting.line for client, _ in found for setting in client.settings.values()}
    loose = [*credentials.subjects(each for each in search.found if each.line not in settled)]
    made = [_read(path, client, starts) for client, starts in found]
    if loose:
        notes = ((1, f"{credentials.ALONE}: lines that log no client's settings"),)
        made.append(Read(path, loose, notes))
    _add_events(made, path, events)
    left_out += events.left_out
    if left_out:
        made[-1] = replace(made[-1], notes=(*made[-1].notes, (1, f"{left_out:,} clients not judged: too many configurations")))
    return made


def _add_events(made: list[Read], path: str, events: EventLog) -> None:
    """Adds each event to the settings of its application, or else as a client of its own."""
    named = (
        (subject.places["client.id"].value, at)
        for at, read in enumerate(made)
        for subject in read.subjects
        if "client.id" in subject.places
    )
    of = {application_of(client_id): at for client_id, at in named if client_id}
    for (kind, client_id, group), line in events.found.items():
        name = application_of(client_id)
        if name not in of:
            of[name] = len(made)
            instance = Instance(shown.client_name(client_id), "unknown", line, 1)
            made.append(Read(path, instance=instance, named={"client.id": client_id, "group.id": group}))
        at = of[name]
        made[at] = replace(made[at], happened=(*made[at].happened, Happened(kind, line)))


def given(client: LoggedStart) -> Collection[str]:
    """Settings that differ from what the library would have without them.  Java logs all, so the rest is as good as not set."""
    values = {key: setting.value for key, setting in client.settings.items() if setting.value is not None}
    if client.dialect != "java" or client.client_type is None:
        return values
    defaults = JAVA.defaults_of(client.client_type, client.version)
    written = {key: JAVA.kafka_value(key, key, value) for key, value in values.items()}
    settled = JAVA.settle(client.client_type, {**defaults, **written}, (), JAVA.release_of(client.version))
    return {key for key, value in written.items() if value not in (defaults.get(key), settled.get(key))}


def _read(path: str, client: LoggedStart, starts: int) -> Read:
    dialect = dialect_of(client.dialect)
    was_given = given(client)
    places = {
        key: on_line(key, setting.value, setting.line, setting.column - 1)._replace(is_default=key not in was_given)
        for key, setting in client.settings.items()
        if setting.value is not None
    }
    # Applications give their clients settings of plug-ins, and Connect its own, so only what is close to one of the client's counts.
    release = dialect.release_of(client.version)
    for name, line in client.unused.items():
        if judge(dialect, release, client.client_type, name).instead:
            places[name] = on_line(name, "", line, 0)
    # Of an incomplete client, or a worker, only the logged settings are known; the rules take them as settings under a prefix.
    complete = client.whole and not client.role
    subject = Subject(places, dialect, client.version, client.client_type, complete, observed=not complete and bool(client.settings))
    notes = []
    if client.contradicted:
        names = ", ".join(shown.key(key) for key in sorted(client.contradicted)[:3])
        notes.append((client.line, f"{names}: more than one value is logged, so these settings and defaults are not judged"))
    elif not client.whole and client.settings:
        notes.append((client.line, "the log ends before the last setting, so defaults are not judged"))
    naming = ("name", "group.id") if client.role else ("client.id",)
    named = next((client.settings[key].value for key in naming if key in client.settings), "")
    name = f"{client.role} {named or ''}".strip()
    instance = Instance(shown.client_name(name), shown.plain(client.version), client.line, starts)
    return Read(path, (subject,), tuple(notes), instance)
