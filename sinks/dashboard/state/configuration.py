"""Effective configuration of a push: under Kafka's names, with the client library's defaults, and the source of each value."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from clientscope.api.clients import Configuration, EffectiveSetting
from clientscope.catalog.configs import TYPES, Type
from clientscope.errors import RecordError
from clientscope.records.enums import Origin, ValueState
from clientscope.topic_values import clean
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
        EffectiveSetting(
            key=key,
            value=effective.text_of(key, 0),
            pushed=None,
            source="default",
            reported=False,
            type=TYPES[key].name,
            reason=None,
            length=None,
            digest=None,
        )
        for key, row in effective.rows.items()
        if effective.states[row, 0] == DEFAULT and effective.positions[row, 0] < 0
    ]
