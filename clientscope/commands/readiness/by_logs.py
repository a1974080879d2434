"""Clients judged by the brokers' request logs."""

from __future__ import annotations

from datetime import datetime

from clientscope.commands.readiness import ReadinessSettings, table
from clientscope.commands.readiness.run_result import ReadinessRun
from clientscope.commands.xray.configurations import applications
from clientscope.commands.xray.reading import NO_REQUEST, read_logs
from clientscope.commands.xray.result import NO_BROKER_RELEASE, not_read
from clientscope.commands.xray.upgrade import Upgrade, judged, seen_on
from clientscope.errors import SettingsError
from clientscope.logs import files
from clientscope.profiles.owners import Owners
from clientscope.query import Query
from clientscope.readiness.rows import logged_ms, rows
from clientscope.readiness.searching import searched


def look(settings: ReadinessSettings, target: str, owned: Owners, query: Query) -> ReadinessRun:
    """Reads the logs and judges their clients.

    Raises:
        SettingsError: there is no such log, or a setting is invalid.
    """
    asked = Upgrade(target, seen_on(settings.broker_release), owned, _since_ms(settings.since))
    inventory, logs, errors = read_logs(files.find(settings.paths), settings.max_bytes)
    of = applications(inventory)
    clients = searched(judged({key: inventory.clients[key] for key in of}, of, asked), query)
    last_old = max((each.last_old for each in clients), default="")
    present = rows(each for each in clients if not each.past)
    unseen = not_read(logs, inventory)
    if past := sum(each.past for each in clients):
        unseen.append(f"Clients that sent nothing since {settings.since}, which are not judged: {past:,}.")
    if asked.since_ms is not None and (timeless := sum(not each.last_seen for each in clients)):
        unseen.append(f"Times of clients whose requests are logged without one, which count as sent since then: {timeless:,}.")
    if asked.broker_release is None:
        unseen.append(NO_BROKER_RELEASE)
    requests = sum(log.requests for log in logs)
    return ReadinessRun(
        clients=tuple(clients),
        logs=tuple(logs),
        sentences=tuple(table.sentences(asked.target, present, last_old, settings.since)),
        unseen=tuple(unseen),
        complete=not inventory.left_out and not any(log.stopped for log in logs),
        errors=tuple(errors),
        nothing="" if requests else NO_REQUEST,
        source="the brokers' request logs",
        times="times are as logged",
        read=(requests, "request read", "requests read"),
    )


def _since_ms(text: str) -> int | None:
    if not text:
        return None
    since = logged_ms(text)
    if since is None or datetime.fromisoformat(text).tzinfo is not None:
        hint = "write it as the logs do, without a time zone, such as '2026-11-20 08:00'"
        raise SettingsError(f"--since: not a date and time: {text[:40]!r}", hint)
    return since
