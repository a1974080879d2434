"""What changed between two times, from serve's history: of each client the newest start in the range against the newest before it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from clientscope.api.history import PastDifference, PastDifferences, PastStart
from clientscope.report.api import Api
from clientscope.report.changes import change_lines, indented
from clientscope.report.history.ranges import no_more
from clientscope.report.text import plain, time_of

FIELDS = ("client_type", "principal", "clients")
"""Fields of a difference, as the API names them."""

COLUMNS = (
    "client_ids", "clients", "client_type", "principal", "before_pushed", "after_pushed", "key", "before", "after", "seen",
)  # fmt: skip
"""Of CSV: a line for each changed setting; the software is one of them."""

SOFTWARE = "software"
_NAMED = 3
"""client.ids in a heading; the others are counted."""

_NONE = "no start in the 30 days before to compare with"


def fetch(api: Api, whose: Mapping[str, str | None], since: int | None, until: int | None) -> tuple[PastDifferences, list[str]]:
    """What changed, the newest first, and sentences about what is left out.

    Raises:
        EnvironmentProblem: no serve answers, it requires a token, or history can't be read now.
        SettingsError: it isn't given whose, or serve has no history.
    """
    answer = api.get("history/diff", {"from": since, "to": until, **whose}, PastDifferences, keep_empty=True)
    if answer.unread:
        unread = f"{answer.unread} more records were not compared; ask for a shorter range, or for one --client-id"
        return answer, [unread, *no_more(answer)]
    return answer, no_more(answer, "" if answer.items else "nothing started and nothing changed")


def cells(one: PastDifference) -> Iterator[dict[str, Any]]:
    """A difference as CSV has it: a line for each changed setting, or one without."""
    about = {
        "client_ids": " ".join(each or "–" for each in one.client_ids),
        "clients": one.clients,
        "client_type": one.client_type,
        "principal": one.principal,
        "before_pushed": time_of(one.before.pushed_ms) if one.before else None,
        "after_pushed": time_of(one.after.pushed_ms),
        "seen": one.after.seen,
    }
    changes = [change.model_dump() for change in one.changes or ()]
    if one.before and _software(one.before) != _software(one.after):
        changes.insert(0, {"key": SOFTWARE, "before": _software(one.before), "after": _software(one.after)})
    yield from (about | change for change in changes or ({},))


def view(found: Sequence[PastDifference]) -> RenderableType | None:
    """Each difference: who, both starts, and what changed."""
    parts: list[RenderableType] = []
    for one in found:
        parts += [Text()] * bool(parts) + [_title(one), indented(_lines(one))]
    return Group(*parts) if parts else None


def _title(one: PastDifference) -> Text:
    named = ", ".join(each or "without client.id" for each in one.client_ids[:_NAMED])
    more = one.clients - min(_NAMED, len(one.client_ids))
    who = f"{named} and {more} more" if more else named
    return Text.assemble(plain(who, "bold"), plain(f"  {one.client_type or 'client'} of {one.principal or 'no principal'}"))


def _lines(one: PastDifference) -> Iterator[Text]:
    before, after = one.before, one.after
    if before is not None:
        other = before.client_id or "without client.id"
        instance = f" ({other})" * (before.client_id != after.client_id)
        yield plain(f"before  {time_of(before.pushed_ms)}  {_software(before)}, {before.address}{instance}", "dim")
    seen = "; seen of its requests" if after.seen else ""
    yield plain(f"after   {time_of(after.pushed_ms)}  {_software(after)}, {after.address}{seen}", "dim")
    changed = before is not None and _software(before) != _software(after)
    if before is not None and changed:
        yield plain(f"- {_software(before)}")
        yield plain(f"+ {_software(after)}")
    if one.changes or not changed:
        yield from change_lines(one.changes, _NONE)


def _software(start: PastStart) -> str:
    return f"{start.software_name} {start.software_version}"
