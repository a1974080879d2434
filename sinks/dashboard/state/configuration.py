"""Effective configuration of a push: under Kafka's names, with the client library's defaults, and the source of each value."""

from __future__ import annotations

from clientscope.api.clients import Configuration, EffectiveSetting
from clientscope.catalog.configs import TYPES
from clientscope.policy.redaction import ClientNames, judged_record
from clientscope.records.codec import decode
from clientscope.records.config_record import ClientConfigRecord, RecordedSetting
from clientscope.topic_values import clean
from udfs.rules.engine.push import Push

MOST_SETTINGS = 1_000
_LONGEST_VALUE = 1_000
_DIGEST_SHOWN = 8
_NAMES = ClientNames()


def configuration(value: bytes, pushed_ms: int) -> Configuration:
    """The configuration in a record of ``clientscope.configs``.  It is judged again, so a secret that a gateway let pass isn't shown.

    Raises:
        RecordError: it is no such record.
    """
    return of_record(decode(ClientConfigRecord, value), pushed_ms)


def of_record(record: ClientConfigRecord, pushed_ms: int) -> Configuration:
    """The same of a record that is read already."""
    push = Push(judged_record(record, _NAMES))
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
    if setting.source != "redacted":
        return setting.value if setting.pushed is None else setting.pushed
    parts = [setting.reason or "withheld"]
    if setting.length is not None:
        parts.append(f"{setting.length} bytes")
    if setting.digest:
        parts.append(setting.digest[:_DIGEST_SHOWN])
    return f"[{', '.join(parts)}]"


def _reported(push: Push) -> list[EffectiveSetting]:
    """What the client said; of one key that is there twice the last, as in a properties file."""
    found: dict[str, EffectiveSetting] = {}
    for place, (setting, key) in enumerate(zip(push.settings, push.keys, strict=True)):
        held = push.values.get(key) if key else None
        counts = held is not None and held.place == place and not push.has_several(setting)
        name = key or clean(setting.key)
        found[name] = _setting(name, setting, held.shown if held and counts else None)
    return list(found.values())


def _setting(key: str, setting: RecordedSetting, effective: str | None) -> EffectiveSetting:
    why = setting.redacted
    said = None if why or setting.value is None else clean(setting.value, _LONGEST_VALUE)
    holds = None if why else clean(effective, _LONGEST_VALUE) if effective is not None else said
    return EffectiveSetting(
        key=key,
        value=holds,
        pushed=said if said != holds else None,
        source="redacted" if why else "default" if setting.default else "pushed",
        reported=True,
        type=setting.type.upper(),
        reason=why.reason if why else None,
        length=why.length if why else None,
        digest=why.digest if why else None,
    )


def _left_out(push: Push) -> list[EffectiveSetting]:
    """Defaults that the client has and didn't tell, where its push shows that it leaves them out."""
    return [
        EffectiveSetting(
            key=key,
            value=held.shown,
            pushed=None,
            source="default",
            reported=False,
            type=TYPES[key].name,
            reason=None,
            length=None,
            digest=None,
        )
        for key, held in push.values.items()
        if held.place is None
    ]
