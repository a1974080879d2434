"""``clientscope readiness``: reads the logs, judges the clients, and prints the groups."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from clientscope.commands.lint.linting import CLEAN, FOUND, WRONG
from clientscope.commands.readiness import ReadinessSettings, page, table
from clientscope.commands.xray import html_file
from clientscope.commands.xray.configurations import applications
from clientscope.commands.xray.reading import NO_REQUEST, read_logs
from clientscope.commands.xray.result import NO_BROKER_RELEASE, LogRead, not_read
from clientscope.commands.xray.upgrade import Upgrade, judged, seen_on
from clientscope.errors import SettingsError
from clientscope.logs import files
from clientscope.profiles import owners
from clientscope.readiness import Readiness, target_release
from clientscope.readiness.groups import FIELDS, ReadinessGroup, grouped, name_of
from clientscope.readiness.rows import WORST_FIRST, JudgedClient, logged_ms, rows
from clientscope.report.listing import Listed, show


@dataclass(frozen=True)
class ReadinessRun:
    """What was read and judged.

    Attributes:
        sentences: what is true of all clients.
        unseen: sentences on what isn't in the result: every bound that was reached.
        complete: whether no bound kept clients from being judged.
        errors: of logs that couldn't be read.
    """

    clients: tuple[JudgedClient, ...]
    logs: tuple[LogRead, ...]
    sentences: tuple[str, ...]
    unseen: tuple[str, ...]
    complete: bool
    errors: tuple[str, ...]


def run(settings: ReadinessSettings) -> int:
    """Prints the groups; the command's exit status.

    Raises:
        ClientscopeError: something is wrong with the settings or owners.toml.
    """
    if not settings.paths:
        raise SettingsError("no log is given", "give PATH: brokers' logs with lines of kafka.request.logger")
    if settings.watch:
        raise SettingsError("--watch is not for logs", "clientscope xray --seconds looks at a running cluster")
    target = target_release(settings.target)
    owned = owners.read_if_given(settings.owners)
    asked = Upgrade(target, seen_on(settings.broker_release), owned, _since_ms(settings.since))
    made = _look(settings, asked)
    if not made.logs or not sum(log.requests for log in made.logs):
        return _wrong(made.errors or (NO_REQUEST,))
    if all(each.past for each in made.clients):
        latest = max((each.last_seen for each in made.clients), default="")
        return _wrong((f"no request since {settings.since} in these logs: the latest is of {latest}", *made.errors))
    if settings.html:  # first, since a limit or a broken pipe concerns only what is printed
        html = page.page(target, made.clients, made.logs, made.sentences, made.unseen)
        html_file.write(settings.html, html)
        print(f"wrote {settings.html}", file=sys.stderr)
    _print(settings, made)
    if made.errors:
        return _wrong(made.errors)
    return FOUND if _fails(settings, made) else CLEAN


def _look(settings: ReadinessSettings, asked: Upgrade) -> ReadinessRun:
    inventory, logs, errors = read_logs(files.find(settings.paths), settings.max_bytes)
    of = applications(inventory)
    clients = judged({key: inventory.clients[key] for key in of}, of, asked)
    last_old = max((each.last_old for each in clients), default="")
    present = rows(each for each in clients if not each.past)
    unseen = not_read(logs, inventory)
    if past := sum(each.past for each in clients):
        unseen.append(f"Clients that sent nothing since {settings.since}, which are not judged: {past:,}.")
    if asked.since_ms is not None and (timeless := sum(not each.last_seen for each in clients)):
        unseen.append(f"Times of clients whose requests are logged without one, which count as sent since then: {timeless:,}.")
    if asked.broker_release is None:
        unseen.append(NO_BROKER_RELEASE)
    sentences = table.sentences(asked.target, present, last_old, settings.since)
    complete = not inventory.left_out and not any(log.stopped for log in logs)
    return ReadinessRun(tuple(clients), tuple(logs), tuple(sentences), tuple(unseen), complete, tuple(errors))


def _print(settings: ReadinessSettings, made: ReadinessRun) -> None:
    by = settings.group_by
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # a terminal of few characters

    def listed() -> Listed[ReadinessGroup]:
        return Listed(
            grouped(made.clients, by),
            row=ReadinessGroup.row,
            name=lambda group: name_of(group, by),
            table=lambda groups, wide: table.table(groups, by, made.sentences, wide=wide),
            left_out=[f"not in the result: {text}" for text in made.unseen],
        )

    show(settings, FIELDS, listed)
    sys.stdout.flush()


def _fails(settings: ReadinessSettings, made: ReadinessRun) -> bool:
    if settings.fail_on == "never":
        return False
    failing = WORST_FIRST[: WORST_FIRST.index(Readiness(settings.fail_on)) + 1]
    found = {each.verdict.readiness for each in made.clients if not each.past}
    if not made.complete:
        found.add(Readiness.UNKNOWN)  # of clients beyond a bound
    return not found.isdisjoint(failing)


def _since_ms(text: str) -> int | None:
    if not text:
        return None
    since = logged_ms(text)
    if since is None or datetime.fromisoformat(text).tzinfo is not None:
        hint = "write it as the logs do, without a time zone, such as '2026-11-20 08:00'"
        raise SettingsError(f"--since: not a date and time: {text[:40]!r}", hint)
    return since


def _wrong(errors: Sequence[str]) -> int:
    for error in errors:
        print(f"error: {error}", file=sys.stderr)
    return WRONG
