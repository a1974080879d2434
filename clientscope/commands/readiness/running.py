"""``clientscope readiness``: reads records or logs, judges the clients, and prints the groups."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from clientscope.commands.lint.linting import CLEAN, FOUND, WRONG
from clientscope.commands.readiness import ReadinessSettings, table
from clientscope.commands.readiness.sources import ReadinessRun, by_gateways, by_logs
from clientscope.commands.xray.output import render_page, write_page
from clientscope.errors import SettingsError
from clientscope.profiles import owners
from clientscope.query import READINESS
from clientscope.readiness import Readiness, target_release
from clientscope.readiness.groups import FIELDS, GROUPINGS, ReadinessGroup, grouped, name_of
from clientscope.readiness.rows import WORST_FIRST, rows
from clientscope.report.api import parsed
from clientscope.report.listing import Listed, show

_TEMPLATE = Path(__file__).with_name("readiness.html")


def html_page(target: str, made: ReadinessRun, sentences: Sequence[str]) -> str:
    """The page's HTML; whatever a client chose is escaped."""
    present = [each for each in made.clients if not each.past]
    groups = {by: [(name_of(group, by), group) for group in grouped(made.clients, by)] for by in GROUPINGS}
    return render_page(
        _TEMPLATE,
        "-o json",
        rows(present),
        target=target,
        groups=groups,
        sentences=sentences,
        unseen=made.unseen,
        logs=made.logs,
        source=made.source,
        times=made.times,
        figures=[
            (len(present), "client", "clients"),
            (len(groups["application"]), "application", "applications"),
            (len(groups["software"]), "kind of software", "kinds of software"),
            made.read,
        ],
    )


def run(settings: ReadinessSettings) -> int:
    """Prints the groups; the command's exit status.

    Raises:
        ClientscopeError: something is wrong with the settings or owners.toml.
    """
    if settings.watch:
        raise SettingsError("--watch is not for readiness", "the page of clientscope serve shows it live")
    target = target_release(settings.target)
    query = parsed((settings.search,), READINESS, 0)
    owned = owners.read_if_given(settings.owners)
    made = (by_logs if settings.paths else by_gateways)(settings, target, owned, query)
    if made.nothing:
        return _wrong(made.errors or (made.nothing,))
    if settings.search and not made.clients:
        print("no client matches the search", file=sys.stderr)
        return _wrong(made.errors) if made.errors else CLEAN
    if all(each.past for each in made.clients):
        latest = max((each.last_seen for each in made.clients), default="")
        return _wrong((f"no request since {settings.since} in {made.source}: the latest is of {latest}", *made.errors))
    sentences = [*table.sentences(target, made.clients, settings.since, made.first)]
    if settings.search:
        sentences.insert(0, f"Only clients that match {settings.search!r}.")
    if settings.html:  # first, since a limit or a broken pipe concerns only what is printed
        write_page(settings.html, html_page(target, made, sentences))
    _print(settings, grouped(made.clients, settings.group_by), sentences, made.unseen)
    if made.errors:
        return _wrong(made.errors)
    return FOUND if _fails(settings, made) else CLEAN


def _print(settings: ReadinessSettings, groups: Sequence[ReadinessGroup], sentences: Sequence[str], unseen: Sequence[str]) -> None:
    by = settings.group_by

    def listed() -> Listed[ReadinessGroup]:
        return Listed(
            groups,
            row=ReadinessGroup.row,
            name=lambda group: name_of(group, by),
            table=lambda groups, wide: table.table(groups, by, sentences, wide=wide),
            left_out=[f"not in the result: {text}" for text in unseen],
        )

    show(settings, FIELDS, listed)
    sys.stdout.flush()


def _fails(settings: ReadinessSettings, made: ReadinessRun) -> bool:
    found = {each.verdict.readiness for each in made.clients if not each.past}
    if not made.complete:
        found.add(Readiness.UNKNOWN)  # of clients beyond a bound
    # The verdict that --fail-on names, and the worse ones.
    return settings.fail_on != "never" and not found.isdisjoint(WORST_FIRST[: WORST_FIRST.index(Readiness(settings.fail_on)) + 1])


def _wrong(errors: Sequence[str]) -> int:
    for error in errors:
        print(f"error: {error}", file=sys.stderr)
    return WRONG
