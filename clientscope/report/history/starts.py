"""Starts of an application or a client, with what each pushed, from serve's history."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from clientscope.api.clients import EffectiveSetting
from clientscope.api.history import PastStart, PastStarts
from clientscope.report.api import Api
from clientscope.report.changes import change_lines, indented
from clientscope.report.history.ranges import no_more
from clientscope.report.text import counted, plain, time_of

FIELDS = (
    "pushed_ms", "client_id", "client_type", "principal", "address", "software_name", "software_version", "instance_id", "settings",
    "redacted", "first",
)  # fmt: skip
"""Fields of a start, as the API names them."""

COLUMNS = (
    "pushed", "client_id", "client_type", "principal", "address", "software_name", "software_version", "instance_id", "settings",
    "redacted", "key", "before", "after",
)  # fmt: skip
"""Of CSV: a line for each changed setting."""

MOST = 500
_AT_ONCE = 50


def fetch(api: Api, whose: Mapping[str, str | None], since: int | None, until: int | None, most: int) -> tuple[PastStarts, list[str]]:
    """The starts, the newest first, and sentences about those that are left out.

    Args:
        whose: client_id, application, principal, address; None for any.
        most: starts; 0 for `MOST`.

    Raises:
        EnvironmentProblem: no serve answers, it requires a token, or history can't be read now.
        SettingsError: it isn't given whose, or serve has no history.
    """
    given = {"from": since, "to": until, "settings": "true", **whose}
    found = api.get("history/starts", {**given, "limit": min(_AT_ONCE, most or MOST)}, PastStarts, keep_empty=True)
    items, wanted = list(found.items), min(most or MOST, found.total)
    while len(items) < wanted:
        span = {"from": found.from_ms, "to": found.to_ms, "offset": len(items), "limit": min(_AT_ONCE, wanted - len(items))}
        page = api.get("history/starts", {**given, **span}, PastStarts, keep_empty=True).items
        if not page:  # erased meanwhile
            break
        items += page
    answer = found.model_copy(update={"items": items})
    if more := found.total - len(items):
        return answer, [f"{counted(more, 'more start')}; raise --limit or ask for a shorter range to see them", *no_more(found)]
    return answer, no_more(found, "" if items else "no start")


def row(start: PastStart) -> dict[str, Any]:
    """A start as JSON has it."""
    return start.model_dump(mode="json")


def cells(start: PastStart) -> Iterator[dict[str, Any]]:
    """A start as CSV has it: a line for each changed setting, or one without."""
    about = {
        "pushed": time_of(start.pushed_ms), "client_id": start.client_id, "client_type": start.client_type, "principal": start.principal,
        "address": start.address, "software_name": start.software_name, "software_version": start.software_version,
        "instance_id": start.instance_id, "settings": start.settings, "redacted": start.redacted,
    }  # fmt: skip
    changes = [change.model_dump() for change in start.changes or ()]
    yield from (about | change for change in changes or ({},))


def view(starts: Sequence[PastStart], wide: bool) -> RenderableType | None:
    """Each start and what changed; wide adds all that it pushed."""
    parts: list[RenderableType] = []
    for start in starts:
        parts += [Text()] * bool(parts) + [_title(start)]
        none = "no start before it in this range" if start.first else "no start near before it to compare with"
        lines = [plain(_details(start), "dim"), *change_lines(start.changes, none)]
        if wide and start.pushed is not None:
            lines += [plain(f"  {_setting(setting)}", "dim") for setting in start.pushed]
        parts.append(indented(lines))
    return Group(*parts) if parts else None


def _title(start: PastStart) -> Text:
    kind = f"{start.client_type} " if start.client_type else ""
    return plain(f"{time_of(start.pushed_ms)}  {kind}{start.client_id or 'without client.id'}", "bold")


def _details(start: PastStart) -> str:
    return f"{start.software_name} {start.software_version}, {start.principal or 'no principal'}, {start.address}"


def _setting(setting: EffectiveSetting) -> str:
    if setting.source == "redacted":
        digest = f", digest {setting.digest[:16]}…" if setting.digest else ""
        return f"{setting.key} = redacted ({(setting.reason or 'withheld').replace('_', ' ')}{digest})"
    value = setting.value if setting.pushed is None else setting.pushed
    return f"{setting.key} = {value}{' (default)' if setting.source == 'default' else ''}"
