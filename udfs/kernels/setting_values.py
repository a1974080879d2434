"""One setting in each record of ``clientscope.configs``: its effective value, as far as it may be shown, and whose it is."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from clientscope.catalog.dialects import DIALECTS
from clientscope.records.enums import ValueState, rank_of
from udfs.decode import decode_pushes
from udfs.kernels.applications import application_client_id
from udfs.pushes import Pushes
from udfs.rules.engine import vocabulary as v
from udfs.rules.engine.batch import Batch
from udfs.rules.engine.rule import Mask, SettingOf


class SettingValue(NamedTuple):
    """
    Attributes:
        library: the client library's dialect; empty for software that isn't known.
        value: in Kafka's spelling and unit where Kafka has the setting; None where it was withheld.
        reason: why it was withheld; None where it wasn't.
        is_set: the client says that its user set it.
    """

    library: str
    value: str | None
    reason: str | None
    is_set: bool


class ClientSetting(NamedTuple):
    """
    Attributes:
        value: None where the client doesn't say it.
        names: what records of one client have in common, whoever wrote them.
        application: client.id without its instance part; empty for none.
        rank: `clientscope.records.enums.rank_of` the record's origin.
    """

    value: SettingValue | None
    names: tuple[str | None, ...]
    application: str
    rank: int


_NAMES = ("cluster_id", "principal", "client_id", "client_address")


def setting_values(values: pa.Array, key: str, names: Collection[str], kinds: Collection[str] = ()) -> list[ClientSetting | None]:
    """One for each record; None where it can't be decoded, or is of a client that has no such setting.

    Args:
        key: Kafka's name of the setting.
        names: what the libraries call it.
        kinds: clients that have it, as `ClientType` names them; none for any.
    """
    batch = Batch(Pushes(decode_pushes(values)))
    records = batch.pushes.records
    found = _effective(batch, key) if key in v.KEY_IDS else _pushed(batch, names)
    there = records.field("decode_error").is_null().to_numpy(zero_copy_only=False) & _may_have(batch, key, kinds)
    names_of = zip(*(records.field(name).to_pylist() for name in _NAMES), strict=True)
    applications = application_client_id(records.field("client_id")).to_pylist()
    origins = records.field("origin").to_pylist()
    rows = zip(there.tolist(), found, names_of, applications, origins, strict=True)
    return [ClientSetting(value, who, said or "", rank_of(origin)) if is_there else None for is_there, value, who, said, origin in rows]


def _may_have(batch: Batch, key: str, kinds: Collection[str]) -> Mask:
    """Where nothing says that the client is of a type that doesn't have the setting."""
    owners = int(v.OWNERS[v.KEY_IDS[key]]) if key in v.KEY_IDS else v.ALL_TYPES
    wanted = [each for each in v.CLIENT_TYPES if owners & v.bit(each) and (not kinds or each.value in kinds)]
    may = np.zeros(len(batch), np.bool_)
    for client_type in wanted or v.CLIENT_TYPES:
        may |= batch.may_be(client_type)
    return may


def _effective(batch: Batch, key: str) -> list[SettingValue | None]:
    evidence = batch.evidence((key,), np.arange(len(batch)))
    distinct = [settings[0] if settings else None for settings in evidence.distinct]
    made = [None if which < 0 else distinct[which] for which in evidence.indices.tolist()]
    return [_value(batch, row, setting) for row, setting in enumerate(made)]


def _pushed(batch: Batch, names: Collection[str]) -> list[SettingValue | None]:
    """As it was pushed: settings that no rule asks about have no effective value. The last one of a name counts."""
    found: list[SettingValue | None] = [None] * len(batch)
    settings = batch.pushes.settings
    places = np.flatnonzero(pc.is_in(settings["config_key"], pa.array(sorted(names), pa.string())).to_numpy(zero_copy_only=False))
    columns = [settings[name].take(pa.array(places)).to_pylist() for name in ("config_value", "value_state", "is_default")]
    for row, value, state, is_default in zip(batch.pushes.parents[places].tolist(), *columns, strict=True):
        known = state in tuple(ValueState)
        reason = None if state == ValueState.PRESENT else ValueState(state).name.lower() if known else "unknown"
        found[row] = _value(batch, row, SettingOf("", value, "default" if is_default else "set", reason))
    return found


def _value(batch: Batch, row: int, setting: SettingOf | None) -> SettingValue | None:
    if setting is None:
        return None
    number = int(batch.software.dialects[row])
    library = DIALECTS[number].name if number != v.UNKNOWN_DIALECT else ""
    return SettingValue(library, setting.value, setting.reason, setting.origin == "set")
