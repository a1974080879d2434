"""Page of one client: its state in memory, and its configurations, read from Kafka on request.

A configuration is made effective: under Kafka's names, with the client library's defaults, and the source of each value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from clientscope.api.clients import ClientDetail, ClientStart, Configuration, EffectiveSetting, SettingChange
from clientscope.catalog.configs import TYPES, Type
from clientscope.errors import EnvironmentProblem, RecordError
from clientscope.records.enums import Origin, ValueState
from clientscope.topic_values import clean
from sinks.dashboard.rows.judging import IndexedPush
from sinks.dashboard.state.reader import Fetch, Place
from sinks.dashboard.state.state import MOST_STARTS, State
from udfs.decode import decode_pushes
from udfs.pushes import Pushes
from udfs.rules.engine import vocabulary as v
from udfs.rules.engine.client_types import InferredTypes
from udfs.rules.engine.effective import Effective
from udfs.rules.engine.matrices import DEFAULT
from udfs.rules.engine.names import SettingNames
from udfs.rules.engine.parsing import several_values
from udfs.rules.engine.software import ClientSoftware

MOST_SETTINGS = 1_000
_LONGEST_VALUE = 1_000
_DIGEST_SHOWN = 8


def configuration(value: bytes, pushed_ms: int) -> Configuration:
    """The configuration in a record of ``clientscope.configs``.  It is judged again, so a secret that a gateway let pass isn't shown.

    Raises:
        RecordError: it is no such record.
    """
    decoded = decode_pushes(pa.array([value], pa.binary()))
    reason = decoded.field("decode_error")[0].as_py()
    if reason is not None:
        raise RecordError(reason)
    return of_decoded(decoded, pushed_ms)


def of_decoded(decoded: pa.StructArray, pushed_ms: int) -> Configuration:
    """The same of one record that is decoded, or was kept so."""
    pushes = Pushes(decoded)
    software = ClientSoftware(pushes.records.field("client_software_name"), pushes.records.field("client_software_version"))
    names = SettingNames(pushes, software.dialects, False)
    inferred = InferredTypes(1, pushes.parents, names.any_key_ids())
    effective = Effective(pushes, software, False, names, inferred)
    client_type = int(inferred.types[0])
    dialect = software.distinct[0].dialect
    found = [*_reported(pushes, effective, names.key_ids(inferred.types).tolist()), *_left_out(effective)]
    return Configuration(
        pushed_ms=pushed_ms,
        origin=Origin(pushes.records.field("origin")[0].as_py()),
        dialect=dialect.name if dialect else None,
        client_type=v.CLIENT_TYPES[client_type].value if client_type != v.UNKNOWN_TYPE else None,
        whole=bool(effective.whole[0]),
        settings=sorted(found, key=lambda setting: setting.key)[:MOST_SETTINGS],
    )


def shown(setting: EffectiveSetting) -> str | None:
    """The pushed value of a setting, for comparing: a withheld value as why, its length and the beginning of its digest."""
    if setting.source != "redacted":
        return setting.value if setting.pushed is None else setting.pushed
    parts = [setting.reason or "withheld"]
    if setting.length is not None:
        parts.append(f"{setting.length} bytes")
    if setting.digest:
        parts.append(setting.digest[:_DIGEST_SHOWN])
    return f"[{', '.join(parts)}]"


def _reported(pushes: Pushes, effective: Effective, key_ids: list[int]) -> list[EffectiveSetting]:
    """What the client said; of one key that is there twice the last, as in a properties file."""
    columns = {name: column.to_pylist() for name, column in pushes.settings.items()}
    as_seen = several_values(pushes)
    found: dict[str, EffectiveSetting] = {}
    for place, key_id in enumerate(key_ids):
        raw = {name: values[place] for name, values in columns.items()}
        key = v.KEYS[key_id] if key_id >= 0 else clean(raw["config_key"])
        counts = key_id >= 0 and int(effective.positions[effective.rows[key], 0]) == place and not as_seen[place]
        found[key] = _setting(key, raw, effective.text_of(key, 0) if counts else None)
    return list(found.values())


def _setting(key: str, raw: dict[str, Any], effective: str | None) -> EffectiveSetting:
    state = raw["value_state"]
    withheld = state != ValueState.PRESENT
    said = None if withheld or raw["config_value"] is None else clean(raw["config_value"], _LONGEST_VALUE)
    holds = None if withheld else clean(effective, _LONGEST_VALUE) if effective is not None else said
    digest: bytes | None = raw["value_digest"] if withheld else None
    return EffectiveSetting(
        key=key,
        value=holds,
        pushed=said if said != holds else None,
        source="redacted" if withheld else "default" if raw["is_default"] else "pushed",
        reported=True,
        type=Type(raw["config_type"]).name if raw["config_type"] in tuple(Type) else None,
        reason=(ValueState(state).name.lower() if state in tuple(ValueState) else "unknown") if withheld else None,
        length=raw["value_length"] if withheld else None,
        digest=digest.hex() if digest else None,
    )


def _left_out(effective: Effective) -> list[EffectiveSetting]:
    """Defaults that the client has and didn't tell, where its push shows that it leaves them out."""
    return [
        EffectiveSetting(key=key, value=effective.text_of(key, 0), source="default", reported=False, type=TYPES[key].name)
        for key, row in effective.rows.items()
        if effective.states[row, 0] == DEFAULT and effective.positions[row, 0] < 0
    ]


def changes(before: Configuration, after: Configuration) -> list[SettingChange]:
    """Differences in pushed values: a default of another release counts too, one that neither pushed doesn't."""
    old, new = ({setting.key: shown(setting) for setting in each.settings if setting.reported} for each in (before, after))
    differing = sorted(key for key in old.keys() | new.keys() if old.get(key) != new.get(key))
    return [SettingChange(key=key, before=old.get(key), after=new.get(key)) for key in differing]


_NEVER = "It has not pushed its configuration (KIP-1324), and nothing of it was seen on the wire."
_GONE = "Its configuration is no longer on the topic: a newer one is on its way, or it is gone."


class OneClient:
    """Makes the page."""

    def __init__(self, state: State, fetch: Fetch | None = None) -> None:
        """
        Args:
            fetch: reads configurations; without it, none are shown.
        """
        self._state = state
        self._fetch = fetch

    def detail(self, key: str, now_ms: int) -> ClientDetail | None:
        """All about the client of this key; None where there is no such client."""
        known = self._state.one_client(key)
        if known is None:
            return None
        detail, push, starts = known
        if push is None:
            return detail.model_copy(update={"why": _NEVER})
        read, why = self._configurations(push, starts)
        whole = detail.starts_of == "client"
        own = _own(push, starts if whole else [], read)
        update = {
            "configuration": own,
            "why": why or (_GONE if own is None else None),
            "starts": [] if _is_seen(push) else _starts(push, starts, read) if own else None,
        }
        return detail.model_copy(update=update)

    def _configurations(self, push: IndexedPush, starts: Sequence[IndexedPush]) -> tuple[dict[Place, Configuration], str]:
        """What its pushes say, by place, and why there is nothing to say."""
        if self._fetch is None:
            return {}, "Configurations are not read here."
        pushes = {_place(each): each for each in (push, *starts)}
        try:
            values = self._fetch(list(pushes))
        except EnvironmentProblem as error:
            return {}, f"{error}."
        found, why = {}, ""
        for place, value in values.items():
            try:
                found[place] = configuration(value, pushes[place].pushed_ms)
            except RecordError as error:
                why = f"Its record can't be decoded ({error.reason})."
        return found, "" if _place(push) in found else why


def _is_seen(push: IndexedPush) -> bool:
    """Whether nothing of its configuration is known but what its requests show."""
    return push.rank > 0


def _own(push: IndexedPush, starts: Sequence[IndexedPush], read: Mapping[Place, Configuration]) -> Configuration | None:
    """Its configuration. Each gateway sees the requests that pass it: what the newest record lacks is taken from the others."""
    own = read.get(_place(push))
    if own is None or not _is_seen(push):
        return own
    others = [read[place] for place in map(_place, reversed(starts)) if place in read]
    settings = {setting.key: setting for each in (*others, own) if each.client_type == own.client_type for setting in each.settings}
    return own.model_copy(update={"settings": [settings[key] for key in sorted(settings)]})


def _starts(push: IndexedPush, starts: Sequence[IndexedPush], read: Mapping[Place, Configuration]) -> list[ClientStart]:
    """The newest first; each compared with the one before of the same kind of client, since a producer and a consumer may share a name."""
    kind = read[_place(push)].client_type
    alike = [each for each in starts if (known := read.get(_place(each))) is None or known.client_type == kind]
    return [_start(each, alike[number + 1 :], read, each == push) for number, each in enumerate(alike[:MOST_STARTS])]


def _start(push: IndexedPush, older: Sequence[IndexedPush], read: Mapping[Place, Configuration], this: bool) -> ClientStart:
    now = read.get(_place(push))
    before = read.get(_place(older[0])) if older else None
    return ClientStart(
        instance_id=push.instance,
        client_id=push.client_id or None,
        address=push.address,
        software_name=push.software,
        software_version=push.version,
        pushed_ms=push.pushed_ms,
        this=this,
        changes=None if now is None or before is None else changes(before, now),
    )


def _place(push: IndexedPush) -> Place:
    return push.partition, push.offset
