"""Page of one client: its state in memory, and its configurations, read from Kafka on request.

A configuration is made effective: under Kafka's names, with the client library's defaults, and the source of each value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from clientscope.api.clients import ClientDetail, ClientStart, Configuration, EffectiveSetting, SettingChange
from clientscope.catalog.configs import TYPES
from clientscope.errors import EnvironmentProblem, RecordError
from clientscope.model.codec import decode
from clientscope.model.fields import clean
from clientscope.model.push import Push
from clientscope.model.setting import Setting
from clientscope.policy.redaction import ClientNames, judged_record, type_name
from sinks.dashboard.rows.judging import IndexedPush
from sinks.dashboard.state.reader import Fetch, Place
from sinks.dashboard.state.state import MOST_STARTS, State
from udfs.rules.engine.pushed_config import PushedConfig

MOST_SETTINGS = 1_000
_LONGEST_VALUE = 1_000
_DIGEST_SHOWN = 8
_NAMES = ClientNames()


def configuration(value: bytes, pushed_ms: int) -> Configuration:
    """The configuration in a record of ``clientscope.configs``.  It is judged again, so a secret that a gateway let pass isn't shown.

    Raises:
        RecordError: it is no such record.
    """
    return of_record(decode(Push, value), pushed_ms)


def of_record(record: Push, pushed_ms: int) -> Configuration:
    """The same of a record that is read already."""
    push = PushedConfig(judged_record(record, _NAMES))
    dialect = push.software.dialect
    found = [*_reported(push), *_left_out(push)]
    return Configuration(
        pushed_ms=pushed_ms,
        origin=push.record.origin,
        dialect=dialect.name if dialect else None,
        client_type=push.client_type.value if push.client_type else None,
        whole=push.whole,
        settings=sorted(found, key=lambda setting: setting.key)[:MOST_SETTINGS],
    )


def shown(setting: EffectiveSetting) -> str | None:
    """The pushed value of a setting, for comparing: a withheld value as why, its length and the beginning of its digest."""
    if (why := setting.redacted) is None:
        return setting.value if setting.pushed is None else setting.pushed
    digest = f", {why.digest[:_DIGEST_SHOWN]}" if why.digest else ""
    return f"[{why.reason}, {why.length} bytes{digest}]"


def _reported(push: PushedConfig) -> list[EffectiveSetting]:
    """What the client said; of one key that is there twice the last, as in a properties file."""
    found: dict[str, EffectiveSetting] = {}
    for place, (setting, key) in enumerate(zip(push.settings, push.keys, strict=True)):
        held = push.values.get(key) if key else None
        counts = held is not None and held.place == place and not push.has_several(setting)
        name = key or clean(setting.key)
        found[name] = _setting(name, setting, held.shown if held and counts else None)
    return list(found.values())


def _setting(key: str, setting: Setting, effective: str | None) -> EffectiveSetting:
    why = setting.redacted
    said = None if why or setting.value is None else clean(setting.value, _LONGEST_VALUE)
    holds = None if why else clean(effective, _LONGEST_VALUE) if effective is not None else said
    return EffectiveSetting(
        key=key,
        value=holds,
        origin=setting.origin,
        type=setting.type,
        redacted=why,
        pushed=said if said != holds else None,
    )


def _left_out(push: PushedConfig) -> list[EffectiveSetting]:
    """Defaults that the client has and didn't tell, where its push shows that it leaves them out."""
    return [
        EffectiveSetting(key, held.shown, "default", type_name(TYPES[key]), reported=False)
        for key, held in push.values.items()
        if held.place is None
    ]


def changes(before: Configuration, after: Configuration) -> list[SettingChange]:
    """Differences in pushed values: a default of another release counts too, one that neither pushed doesn't."""
    old, new = ({setting.key: shown(setting) for setting in each.settings if setting.reported} for each in (before, after))
    differing = sorted(key for key in old.keys() | new.keys() if old.get(key) != new.get(key))
    return [SettingChange(key=key, before=old.get(key), after=new.get(key)) for key in differing]


_NEVER = "It has not pushed its configuration (KIP-1324), and nothing of it was seen on the wire."
_GONE = "Its configuration is no longer on the topic: a newer one is on its way, or it is gone."


def detail(state: State, fetch: Fetch, key: str) -> ClientDetail | None:
    """All about the client of this key; None where there is no such client.

    Args:
        fetch: reads configurations.
    """
    known = state.one_client(key)
    if known is None:
        return None
    found, push, starts = known
    if push is None:
        return replace(found, why=_NEVER)
    read, why = _configurations(fetch, push, starts)
    own = _own(push, starts if found.starts_of == "client" else [], read)
    return replace(
        found,
        configuration=own,
        why=why or (_GONE if own is None else None),
        starts=[] if _is_seen(push) else _starts(push, starts, read) if own else None,
    )


def _configurations(fetch: Fetch, push: IndexedPush, starts: Sequence[IndexedPush]) -> tuple[dict[Place, Configuration], str]:
    """What its pushes say, by place, and why there is nothing to say."""
    pushes = {_place(each): each for each in (push, *starts)}
    try:
        values = fetch(list(pushes))
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
    return replace(own, settings=[settings[key] for key in sorted(settings)])


def _starts(push: IndexedPush, starts: Sequence[IndexedPush], read: Mapping[Place, Configuration]) -> list[ClientStart]:
    """The newest first; each compared with the one before of the same kind of client, since a producer and a consumer may share a name."""
    kind = read[_place(push)].client_type
    alike = [each for each in starts if (known := read.get(_place(each))) is None or known.client_type == kind]
    return [_start(each, alike[number + 1 :], read, each == push) for number, each in enumerate(alike[:MOST_STARTS])]


def _start(push: IndexedPush, older: Sequence[IndexedPush], read: Mapping[Place, Configuration], this: bool) -> ClientStart:
    now = read.get(_place(push))
    before = read.get(_place(older[0])) if older else None
    return ClientStart(
        key=push.key,
        principal=push.principal or None,
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
