"""Reader of ``receivers.toml``: the receivers, and the findings that each gets; docs/alerts.md describes it.

Every address and secret is checked here, so that what can't work is reported at the start, with its line.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, time
from pathlib import Path
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BaseModel, Field

from clientscope.errors import SettingsError
from clientscope.profiles.client_patterns import Patterns
from clientscope.profiles.toml_tables import TomlFile
from sinks.alerts.kinds import BY_NAME
from sinks.alerts.receiver_tables import TableReader, TomlTable, Zone
from sinks.alerts.receivers import Receiver, Receivers
from sinks.alerts.silences import DAYS, Match, Silence

_HINT = "docs/alerts.md describes receivers.toml"


def _known(kind: str) -> str:
    if kind not in BY_NAME:
        *others, last = (repr(name) for name in BY_NAME)
        raise ValueError(f"Input should be {', '.join(others)} or {last}")
    return kind


def _with_zone(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise ValueError("it has no time zone: write 2026-12-24T18:00:00Z, or +01:00 at its end")
    return moment


Moment = Annotated[datetime, AfterValidator(_with_zone)]


class _Kind(BaseModel):
    """What is looked at first of a receiver's table; its kind has the model of the others."""

    kind: Annotated[str, AfterValidator(_known)]


class _Silence(TomlTable):
    reason: str = Field(min_length=1)
    receiver: Patterns | None = None
    code: Patterns | None = None
    principal: Patterns | None = None
    client_id: Patterns | None = None
    team: Patterns | None = None
    begins: Moment | None = None
    ends: Moment | None = None
    days: tuple[Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"], ...] = ()
    start: time | None = None
    end: time | None = None
    zone: Zone = "UTC"


class _File(TomlTable):
    receiver: tuple[dict[str, Any], ...] = Field(min_length=1)
    silence: tuple[_Silence, ...] = ()


def read(path: Path, environ: Mapping[str, str] | None = None) -> Receivers:
    """The receivers of a file, with their secrets.

    Raises:
        SettingsError: it can't be read, or something in it is wrong; says the line and the key, and no secret.
    """
    file = TomlFile(path, _HINT)
    model = file.model(_File)
    made: list[Receiver] = []
    for index in range(len(model.receiver)):
        receiver = _receiver(file, index, environ)
        if any(receiver.name == other.name for other in made):
            raise file.error(("receiver", index, "name"), f"receiver[{index + 1}].name: there are two {receiver.name!r}")
        made.append(receiver)
    return Receivers(tuple(made), tuple(_silence(file, index, table, made) for index, table in enumerate(model.silence)))


def _receiver(file: TomlFile, index: int, environ: Mapping[str, str] | None) -> Receiver:
    kind = BY_NAME[file.model(_Kind, ("receiver", index)).kind]
    for key in file.tables["receiver"][index]:
        others = [other.name for other in BY_NAME.values() if key in other.table.model_fields]
        if others and kind.name not in others:
            message = f"receiver[{index + 1}].{key}: it has no use for kind = {kind.name!r}"
            raise file.error(("receiver", index, key), message, f"it is of {' and '.join(others)}")
    table = file.model(kind.table, ("receiver", index))
    return kind.read(TableReader(file, index, kind, table, environ))


def _silence(file: TomlFile, index: int, table: _Silence, receivers: list[Receiver]) -> Silence:
    def error(key: str, message: str, hint: str | None = None) -> SettingsError:
        return file.error(("silence", index, key), f"silence[{index + 1}].{key}: {message}", hint)

    kinds = {receiver.name: receiver.kind for receiver in receivers}
    for name in table.receiver or ():
        if name not in kinds:
            raise error("receiver", f"there is no receiver {name!r}", f"known: {', '.join(kinds)}")
        if own := kinds[name].own_silences:
            raise error("receiver", f"{name} is {own[0]}", own[1])
    again = bool(table.days) or table.start is not None or table.end is not None
    if again and (table.start is None or table.end is None):
        raise error("start" if table.start is None else "end", "what comes again needs start and end", "start = 22:00:00, end = 06:00:00")
    if not again and table.begins is None and table.ends is None:
        raise error("begins", "it says no time", "begins and ends, or days with start and end")
    if table.begins and table.ends and table.ends <= table.begins:
        raise error("ends", "it isn't after begins")
    days = tuple(DAYS.index(day) for day in table.days) or (tuple(range(7)) if again else ())
    return Silence(
        match=Match(table.code or (), table.principal or (), table.client_id or (), table.team or ()),
        reason=table.reason,
        receivers=tuple(table.receiver or (name for name, kind in kinds.items() if not kind.own_silences)),
        begins=table.begins,
        ends=table.ends,
        days=days,
        start=table.start or time.min,
        end=table.end or time.min,
        zone=ZoneInfo(table.zone) if table.zone != "UTC" else UTC,
    )
