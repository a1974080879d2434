"""Inputs of findings from each record: of a push its client and the rules' verdicts, of a connection its client and whether it is open.

A batch is of one partition, and is reduced where that loses nothing: of one client's pushes the newest counts, and those with a secret;
of one connection's events the last.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

import pyarrow as pa

from clientscope.catalog.configs import ClientType
from clientscope.catalog.sensitive_keys import normalise
from clientscope.digest import DigestKey
from clientscope.policy.redaction import is_secret
from clientscope.profiles import Thresholds
from clientscope.records.client_key import client_key
from clientscope.records.config_record import ClientConfigRecord, RecordedSetting
from clientscope.records.connection_record import ClientConnectionRecord
from clientscope.records.enums import Kind
from udfs.decode import judged_connections, judged_pushes
from udfs.kernels.results import application_of, compact, verdicts
from udfs.rules.engine.checked import search_names
from udfs.rules.engine.push import Push

_OF_PUSH = {
    "cluster": "cluster_id",
    "broker": "broker_id",
    "gateway": "gateway_id",
    "epoch": "gateway_epoch",
    "connection": "connection_id",
    "address": "client_address",
    "principal": "principal",
    "client_id": "client_id",
    "software_name": "client_software_name",
    "software_version": "client_software_version",
    "instance_id": "client_instance_id",
}
_OF_CONNECTION = {
    "kind": "kind",
    "sequence": "sequence",
    **_OF_PUSH,
    "interval_ms": "heartbeat_interval_ms",
}

_WHO = [
    ("cluster", pa.string()),
    ("broker", pa.int32()),
    ("gateway", pa.string()),
    ("epoch", pa.int64()),
    ("connection", pa.int64()),
    ("address", pa.string()),
    ("principal", pa.string()),
    ("client_id", pa.string()),
    ("client", pa.string()),
]

_OF_PUSHES_ALONE = (
    "software_name",
    "software_version",
    "application",
    "rules",
    "not_evaluable",
    "settings",
    "written",
    "member",
)
_NUMBERS = [("origin", pa.string()), ("client_type", pa.int8()), ("unsearched", pa.bool_()), ("transactional", pa.bool_())]
PUSH = pa.struct([("row", pa.int64()), *_WHO, *((name, pa.string()) for name in _OF_PUSHES_ALONE), *_NUMBERS])
"""One row per push that is kept; ``row`` is its place in the batch, ``client`` is `clientscope.records.client_key.client_key`.

``origin`` is `clientscope.records.enums.Origin`, ``client_type`` its client's place in ``ClientType``, -1 where that isn't known.

``application`` to ``written`` are JSON: the application's key, what fired and which codes couldn't judge (as in ``clientscope.results``),
all settings as an object (a redacted one's value is ``["redacted", reason, length, digest]``), and the keys of secrets that the
record itself contains because no gateway has redacted them.
``unsearched``: it has unknown names for which the name that is meant wasn't looked for (`udfs.rules.engine.checked.MOST_SEARCHED`).
``member`` is its group.instance.id, null where it has none or it was redacted; ``transactional``: it has a transactional.id.
"""

TOMBSTONE = "tombstone"
"""The ``kind`` of a record of ``clientscope.configs`` without a value; it has a ``client`` alone."""

MOST_KEY_BYTES = 1_024
"""Longer keys, and those that are no text, are none of clientscope's."""

_OF_CONNECTIONS_ALONE = [
    ("software_name", pa.string()),
    ("software_version", pa.string()),
    ("requested", pa.binary()),
    ("interval_ms", pa.int32()),
]
CONNECTION = pa.struct([("row", pa.int64()), ("kind", pa.string()), ("sequence", pa.int64()), *_WHO, *_OF_CONNECTIONS_ALONE])
"""One row per event that is kept; ``row`` is its place in the batch, ``requested`` what its client requested, as the record has it."""

PER_INSTANCE = frozenset({"client.id", "group.instance.id", "client.rack", "transactional.id", "consumer.id"})
"""Settings that instances of one application rightly differ in; they aren't compared."""

_TYPES = list(ClientType)


def pushed(values: pa.Array, digest_key: DigestKey | None, thresholds: Thresholds | None = None) -> pa.StructArray:
    """`PUSH` of ClientConfigRecords; of what can't be decoded nothing, which history's query reports."""
    judged, _ = judged_pushes(values, digest_key)
    pushes = [None if each is None else Push(each, thresholds) for each in judged]
    clients = [None if push is None else _client(push.record) for push in pushes]
    last = {client: row for row, client in enumerate(clients)}
    kept = {
        row: push
        for row, (push, client) in enumerate(zip(pushes, clients, strict=True))
        if push is not None and (last[client] == row or any(map(is_secret, push.settings)))
    }
    search_names(kept.values())
    return pa.array([_of_push(row, push, judged[row].written) for row, push in kept.items()], PUSH)  # type: ignore[union-attr]


def _of_push(row: int, push: Push, written: Sequence[str]) -> dict[str, Any]:
    record, found = push.record, verdicts(push)
    return {
        "row": row,
        **{name: getattr(record, field) for name, field in _OF_PUSH.items()},
        "client": _client(record),
        "application": application_of(push),
        "rules": compact(found["rules"]),
        "not_evaluable": compact(found["not_evaluable"]),
        "settings": compact({each.key: _compared(each) for each in push.settings if normalise(each.key) not in PER_INSTANCE}),
        "written": compact(written),
        "member": push.text("group.instance.id"),
        "origin": record.origin,
        "client_type": -1 if push.client_type is None else _TYPES.index(push.client_type),
        "unsearched": not push.checked.searched,
        "transactional": bool(push.text("transactional.id")) or push.is_hidden("transactional.id"),
    }


def _compared(setting: RecordedSetting) -> str | list[str | int | None] | None:
    why = setting.redacted
    return setting.value if why is None else ["redacted", why.reason, why.length, why.digest]


def _client(record: ClientConfigRecord | ClientConnectionRecord) -> str:
    return client_key(
        record.cluster_id, record.principal, record.client_address, record.client_instance_id, record.gateway_id, record.gateway_epoch,
        record.connection_id,
    )  # fmt: skip


def connected(values: pa.Array, digest_key: DigestKey | None = None) -> pa.StructArray:
    """`CONNECTION` of ClientConnectionRecords; of what can't be decoded nothing."""
    records, _ = judged_connections(values, digest_key)
    last: dict[tuple[Any, ...], tuple[int, ClientConnectionRecord]] = {}
    for row, record in enumerate(records):
        # The kind of traffic would count as the last of those without a connection, which are heartbeats.
        if record is not None and record.kind is not Kind.TRAFFIC:
            which = record.cluster_id, record.broker_id, record.gateway_id, record.gateway_epoch, record.connection_id
            last[which] = row, record
    return pa.array([_of_connection(row, record) for row, record in sorted(last.values(), key=itemgetter(0))], CONNECTION)


def _of_connection(row: int, record: ClientConnectionRecord) -> dict[str, Any]:
    columns = {name: getattr(record, field) for name, field in _OF_CONNECTION.items()}
    return {"row": row, **columns, "requested": record.requested, "client": _client(record)}


def tombstones(keys: pa.Array) -> pa.StructArray:
    """Records that have no value: their ``row``, ``kind`` and ``client``."""
    texts = [_text(key) for key in keys.to_pylist()]
    rows = [row for row, text in enumerate(texts) if text is not None]
    fields = [pa.field("row", pa.int64()), pa.field("kind", pa.string()), pa.field("client", pa.string())]
    arrays = [
        pa.array(rows, pa.int64()),
        pa.array([TOMBSTONE] * len(rows), pa.string()),
        pa.array([texts[row] for row in rows], pa.string()),
    ]
    return pa.StructArray.from_arrays(arrays, fields=fields)


def _text(key: bytes | None) -> str | None:
    if key is None or len(key) > MOST_KEY_BYTES:
        return None
    try:
        return key.decode()
    except UnicodeDecodeError:
        return None
