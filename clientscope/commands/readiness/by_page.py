"""Groups of clients as serve has judged them."""

from __future__ import annotations

from collections.abc import Iterator

from clientscope.api.readiness import ReadinessGroups, ReadinessItem
from clientscope.commands.readiness import ReadinessSettings, by_gateways, table
from clientscope.commands.xray.result import NO_BROKER_RELEASE
from clientscope.config import PageSettings
from clientscope.errors import EnvironmentProblem, SettingsError
from clientscope.readiness import Readiness
from clientscope.readiness.groups import ReadinessGroup
from clientscope.readiness.judging import utc
from clientscope.readiness.rows import ReadinessRow
from clientscope.report.api import Api

_AT_ONCE = 10_000


def look(settings: ReadinessSettings, page: PageSettings, target: str) -> tuple[ReadinessGroups, list[ReadinessGroup]]:
    """Serve's answer, and all of its groups.

    Raises:
        EnvironmentProblem: no serve answers, it requires a token, or it is still reading its topics.
        SettingsError: the search is invalid, or a setting is only for records and logs.
    """
    for flag, given in (("--since", settings.since), ("--html", settings.html)):
        if given:
            raise SettingsError(f"{flag} can't be used with --url", "leave --url out to read Kafka's topics")
    asked = {"target": target, "by": settings.group_by, "q": settings.search, "limit": _AT_ONCE}
    answer = Api(page).get("readiness", asked, ReadinessGroups)
    if answer.total is None:
        raise EnvironmentProblem("the page is still reading its topics; readiness is not available yet", "repeat the command in a minute")
    return answer, [_group(item) for item in answer.items]


def sentences(answer: ReadinessGroups, search: str) -> Iterator[str]:
    """What is true of all clients."""
    if search:
        yield f"Only clients that match {search!r}."
    rows = [ReadinessRow(Readiness(name), "", "", "", count, "", "") for name, count in answer.verdicts.items()]
    yield from table.sentences(answer.target, rows, utc(answer.last_old_ms), "", utc(answer.first_ms))


def unseen(answer: ReadinessGroups) -> Iterator[str]:
    """What isn't in the result."""
    if more := (answer.total or 0) - len(answer.items):
        yield f"Groups beyond {len(answer.items):,}: {more:,}."
    if answer.unread:
        yield by_gateways.UNREAD.format(count=f"{answer.unread:,}")
    if answer.forgotten:
        yield f"Records and clients that did not fit into serve's memory: {answer.forgotten:,}."
    if not answer.release_known:
        yield NO_BROKER_RELEASE


def _group(item: ReadinessItem) -> ReadinessGroup:
    return ReadinessGroup(
        readiness=Readiness(item.verdict),
        application=item.application,
        owner=item.owner,
        principal=item.principal,
        software=item.software,
        clients=item.clients,
        breaks=item.breaks,
        unknown=item.unknown,
        falls_back=item.falls_back,
        fine=item.fine,
        last_old=utc(item.last_old_ms),
        last_seen=utc(item.last_seen_ms),
        reason=item.reason,
        advice=item.advice,
        rows=(),
    )
