"""The pass of the live query: each record of ``clientscope.configs`` and ``clientscope.connections`` becomes one of the topics that follow.

A push becomes a result, and what happened to a connection an input of the engines. A tombstone takes its client's result away. What can't
be decoded becomes nothing here: history's queries report it.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from clientscope.digest import DigestKey
from clientscope.model.codec import encode
from clientscope.model.enums import Kind
from clientscope.model.input import MOST_KEY_BYTES, InputRecord
from clientscope.model.topics import CONFIGS, CONNECTIONS, INPUTS, RESULTS
from clientscope.profiles import Thresholds
from udfs.decode import judged_connections, judged_pushes
from udfs.kernels.results import Place, key_of, result
from udfs.rules.engine.pushed_config import PushedConfig, search_names

ROW = pa.struct([("topic", pa.string()), ("key", pa.binary()), ("value", pa.binary())])
"""A record for Kafka, of a tombstone one without a value; all fields are null where a row becomes none."""

Made = tuple[int, str, bytes, bytes | None]
"""Row, topic, key and value."""


def live(
    is_push: pa.Array,
    partitions: pa.Array,
    offsets: pa.Array,
    appended_ms: pa.Array,
    values: pa.Array,
    keys: pa.Array,
    digest_key: DigestKey | None = None,
    thresholds: Thresholds | None = None,
) -> pa.StructArray:
    """`ROW` of each record.

    Args:
        is_push: whether a record is of ``clientscope.configs``; the others are of ``clientscope.connections``.
        digest_key: digests leaks that no gateway has redacted.
        thresholds: which profile applies to which client; None for the rules' own limits.
    """
    places = [
        Place(CONFIGS if of_configs else CONNECTIONS, *place)
        for of_configs, *place in zip(*(each.to_pylist() for each in (is_push, partitions, offsets, appended_ms)), strict=True)
    ]
    has_value = values.is_valid()
    pushes, events, ended = (
        pc.indices_nonzero(chosen)
        for chosen in (pc.and_(is_push, has_value), pc.and_(pc.invert(is_push), has_value), pc.and_(is_push, pc.invert(has_value)))
    )
    made: list[Made | None] = [None] * len(places)
    for each in (
        *_results(pushes, values, places, digest_key, thresholds),
        *_events(events, values, places, digest_key),
        *_tombstones(ended, keys),
    ):
        made[each[0]] = each
    columns = [pa.array([each and each[place] for each in made], field.type) for place, field in enumerate(ROW, 1)]
    return pa.StructArray.from_arrays(columns, fields=list(ROW))


def _results(
    rows: pa.Array, values: pa.Array, places: list[Place], digest_key: DigestKey | None, thresholds: Thresholds | None
) -> Iterator[Made]:
    judged, _ = judged_pushes(values.take(rows), digest_key)
    found = [
        (row, PushedConfig(each, thresholds), each.written) for row, each in zip(rows.to_pylist(), judged, strict=True) if each is not None
    ]
    search_names(push for _, push, _ in found)
    for row, push, written in found:
        key, value = result(push, written, places[row])
        yield row, RESULTS, key.encode(), value


def _events(rows: pa.Array, values: pa.Array, places: list[Place], digest_key: DigestKey | None) -> Iterator[Made]:
    records, _ = judged_connections(values.take(rows), digest_key)
    for row, record in zip(rows.to_pylist(), records, strict=True):
        if record is not None and record.kind is not Kind.TRAFFIC:
            place = places[row]
            value = encode(InputRecord(version=1, **place._asdict(), client=key_of(record), record=record))
            yield row, INPUTS, f"{place.topic}/{place.partition}".encode(), value  # the key keeps records of one partition in order


def _tombstones(rows: pa.Array, keys: pa.Array) -> Iterator[Made]:
    for row, key in zip(rows.to_pylist(), keys.take(rows).to_pylist(), strict=True):
        if key is not None and len(key) <= MOST_KEY_BYTES and _is_text(key):
            yield row, RESULTS, key, None


def _is_text(key: bytes) -> bool:
    try:
        key.decode()
    except UnicodeDecodeError:
        return False
    return True
