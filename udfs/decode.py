"""Decoder of the topics' records: bytes of a batch into Arrow columns, redacted, or the reason why a record has none.

Each record is read by itself (`clientscope.model.codec`), so a record that is none changes nothing about its neighbours. Arrow's own JSON
reader can't be used: it takes records with a line break for two, and a first record ``null`` or deep nesting ends the process.

Gateways redact before they publish, but others may publish raw records. So each is judged again, by the judge that gateways have
(`clientscope.policy.redaction`), before anything of it is a column: what comes after never sees a sensitive string.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from itertools import accumulate
from operator import attrgetter
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from clientscope.catalog.value_states import ValueState
from clientscope.digest import DigestKey
from clientscope.errors import RecordError
from clientscope.model.codec import decode
from clientscope.model.connection import ClientConnectionRecord
from clientscope.model.push import Push
from clientscope.model.setting import TYPE_NUMBERS, Redaction, TypeName
from clientscope.policy.redaction import ClientNames, JudgedRecord, judged_record

Record = TypeVar("Record")

DECODE_ERROR = pa.field("decode_error", pa.string())
"""Why a record has no columns: one of `clientscope.model.codec.reasons`; null where it has."""

_SETTING = pa.struct(
    [
        ("config_key", pa.string()),
        ("config_value", pa.string()),
        ("value_state", pa.int8()),
        ("config_type", pa.int8()),
        ("is_default", pa.bool_()),
        ("value_digest", pa.binary()),
        ("value_length", pa.int32()),
    ]
)

_GATEWAY = (
    ("cluster", pa.string()),
    ("broker", pa.int32()),
    ("gateway", pa.string()),
    ("epoch", pa.int64()),
)
_CLIENT = (
    ("connection", pa.int64()),
    ("listener", pa.string()),
    ("security_protocol", pa.string()),
    ("address", pa.string()),
    ("principal", pa.string()),
    ("principal_source", pa.string()),
    ("client_id", pa.string()),
    ("software_name", pa.string()),
    ("software_version", pa.string()),
    ("instance_id", pa.string()),
)

PUSH = pa.struct(
    [
        ("received_ms", pa.int64()),
        *_GATEWAY,
        *_CLIENT,
        ("origin", pa.string()),
        ("digest_key_id", pa.string()),
        ("configs", pa.list_(_SETTING)),
        ("written", pa.list_(pa.string())),
        DECODE_ERROR,
    ]
)
"""Columns of a Push; ``configs`` has its settings, those that come again later in the push first, and ``written`` the keys of
secrets that the record itself contains."""

_COUNT = pa.struct(
    [
        ("listener", pa.string()),
        ("software_name", pa.string()),
        ("software_version", pa.string()),
        ("connections", pa.int64()),
        ("opened", pa.int64()),
        ("closed", pa.int64()),
    ]
)

_OF_COUNT = attrgetter(*(field.name for field in _COUNT))
_TRAFFIC = pa.struct([("connection", pa.int64()), ("bytes_in_per_second", pa.int64()), ("bytes_out_per_second", pa.int64())])

CONNECTION = pa.struct(
    [
        ("kind", pa.string()),
        *_GATEWAY,
        ("sequence", pa.int64()),
        ("timestamp_ms", pa.int64()),
        *_CLIENT,
        ("previous_software_name", pa.string()),
        ("previous_software_version", pa.string()),
        ("reason", pa.string()),
        ("counts", pa.list_(_COUNT)),
        ("requested_versions", pa.binary()),
        ("heartbeat_part", pa.int32()),
        ("heartbeat_parts", pa.int32()),
        ("heartbeat_interval_ms", pa.int32()),
        ("instances", pa.int32()),
        ("opened", pa.int64()),
        ("closed", pa.int64()),
        ("host", pa.string()),
        ("measured_ms", pa.int32()),
        ("traffic", pa.list_(_TRAFFIC)),
        DECODE_ERROR,
    ]
)
"""Columns of a ClientConnectionRecord; ``requested_versions`` are as `clientscope.model.requested_versions.pack`."""


def decode_pushes(values: pa.Array, key: DigestKey | None = None) -> pa.StructArray:
    """`PUSH` of records of ``clientscope.configs``, one row for each value, in order. Bad bytes never raise.

    Args:
        key: makes digests of what is hidden here, and placeholders that tell hidden names apart; without it all are alike.
    """
    judged, errors = judged_pushes(values, key)
    special = {"configs": _configs(judged), "written": pa.array([each and each.written for each in judged], PUSH.field("written").type)}
    return as_columns([each and each.record for each in judged], errors, PUSH, special)


def judged_pushes(values: pa.Array, key: DigestKey | None) -> tuple[list[JudgedRecord | None], list[str | None]]:
    """The same as records that may be shown, and why the others are none."""
    records, errors = read_each(partial(decode, Push), values)
    names = _names(key)
    return [None if record is None else judged_record(record, names) for record in records], errors


def judged_connections(values: pa.Array, key: DigestKey | None) -> tuple[list[ClientConnectionRecord | None], list[str | None]]:
    """Records of ``clientscope.connections``, likewise."""
    records, errors = read_each(partial(decode, ClientConnectionRecord), values)
    names = _names(key)
    return [record and names.of_record(record) for record in records], errors


def decode_connections(values: pa.Array, key: DigestKey | None = None) -> pa.StructArray:
    """`CONNECTION` of records of ``clientscope.connections``, likewise."""
    records, errors = judged_connections(values, key)
    special = {
        "counts": _lists([[*map(_OF_COUNT, record.counts)] if record else None for record in records], _COUNT),
        "requested_versions": pa.array([record and record.requested for record in records], pa.binary()),
        "traffic": _lists([record.traffic if record else None for record in records], _TRAFFIC),
    }
    return as_columns(records, errors, CONNECTION, special)


@lru_cache(maxsize=4)
def _names(key: DigestKey | None) -> ClientNames:
    return ClientNames(key)


def read_each(read: Callable[[bytes | None], Record], values: pa.Array) -> tuple[list[Record | None], list[str | None]]:
    """Records, and why the others are none.

    Args:
        read: makes a record of a value, or raises a RecordError.
    """
    errors: list[str | None] = []
    records: list[Record | None] = []
    for value in values.to_pylist():
        try:
            records.append(read(value))
            errors.append(None)
        except RecordError as error:
            records.append(None)
            errors.append(error.reason)
    return records, errors


def as_columns(records: Sequence[object], errors: Sequence[str | None], of: pa.StructType, special: dict[str, pa.Array]) -> pa.StructArray:
    """Rows of ``of``: of each record, or why it is none.

    Args:
        special: the columns that aren't attributes of records.
    """
    special = {**special, DECODE_ERROR.name: pa.array(errors, DECODE_ERROR.type)}
    plain = [field for field in of if field.name not in special]
    of_fields, blank = attrgetter(*(field.name for field in plain)), (None,) * len(plain)
    rows = [blank if record is None else of_fields(record) for record in records]
    columns = zip(*rows, strict=True) if rows else plain and [()] * len(plain)
    special |= {field.name: pa.array(column, field.type) for field, column in zip(plain, columns, strict=True)}
    return pa.StructArray.from_arrays([special[field.name] for field in of], fields=list(of))


_KEY, _VALUE, _TYPE = map(attrgetter, ("key", "value", "type"))
_STATES = {state.name.lower(): int(state) for state in ValueState}


def _configs(judged: Sequence[JudgedRecord | None]) -> pa.ListArray:
    """The settings of all records. Lists grow by a record's at a time, in C, since there are some 25 for each."""
    keys: list[str] = []
    values: list[str | None] = []
    types: list[TypeName | None] = []
    defaults: list[bool] = []
    redacted: dict[int, Redaction] = {}
    offsets = [0]
    for each in judged:
        if each is not None and each.settings is not None:
            redacted |= {place: one.redacted for place, one in enumerate(each.settings, len(keys)) if one.redacted}
            keys += map(_KEY, each.settings)
            values += map(_VALUE, each.settings)
            types += map(_TYPE, each.settings)
            defaults += [one.origin == "default" for one in each.settings]
        elif each is not None:
            record, settings = each.record, each.record.settings
            if record.redacted:  # what is said of keys that aren't there means nothing
                redacted |= {place: record.redacted[key] for place, key in enumerate(settings, len(keys)) if key in record.redacted}
            keys += settings
            values += settings.values()
            types += map(record.types.get, settings)
            defaults += map(frozenset(record.defaults).__contains__, settings)
        offsets.append(len(keys))
    states = np.full(len(keys), ValueState.PRESENT, np.int8)
    texts = pa.array(values, pa.string())
    lengths = pc.fill_null(pc.binary_length(texts), 0).to_numpy(zero_copy_only=False).copy()
    digests: list[bytes | None] = [None] * len(keys)
    for place, why in redacted.items():
        states[place], lengths[place] = _STATES[why.reason], why.length
        digests[place] = bytes.fromhex(why.digest) if why.digest else None
    columns = {
        "config_key": pa.array(keys, pa.string()),
        "config_value": texts,
        "value_state": pa.array(states),
        "config_type": pa.array(np.fromiter(map(TYPE_NUMBERS.__getitem__, types), np.int8, len(types))),
        "is_default": pa.array(np.fromiter(defaults, np.bool_, len(defaults))),
        "value_digest": pa.array(digests, pa.binary()),
        "value_length": pa.array(lengths),
    }
    return _listed(offsets, [columns[field.name] for field in _SETTING], _SETTING, judged)


def _lists(rows: Sequence[Sequence[tuple[Any, ...]] | None], of: pa.StructType) -> pa.ListArray:
    """A list of ``of`` for each, by the values of its items; null for None."""
    items = [item for each in rows for item in each or ()]
    columns = [pa.array([item[place] for item in items], field.type) for place, field in enumerate(of)]
    return _listed([0, *accumulate(len(each or ()) for each in rows)], columns, of, rows)


def _listed(offsets: list[int], columns: list[pa.Array], of: pa.StructType, records: Sequence[object]) -> pa.ListArray:
    items = pa.StructArray.from_arrays(columns, fields=list(of))
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), items, mask=pa.array([record is None for record in records], pa.bool_()))
