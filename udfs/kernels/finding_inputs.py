"""Inputs of findings from each record: of a push its client and the rules' verdicts, of a connection its client and whether it is open.

A batch is of one partition, and is reduced where that loses nothing: of one client's pushes the newest counts, and those with a secret;
of one connection's events the last.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from clientscope.catalog.sensitive import Tier
from clientscope.digest import DigestKey
from clientscope.profiles import Thresholds
from clientscope.records.client_key import scope
from clientscope.records.enums import Kind, ValueState
from clientscope.records.principals import ANONYMOUS
from udfs.arrays.json_text import arrays, literals
from udfs.decode import decode_connections, decode_pushes
from udfs.kernels.results import application_keys, verdicts
from udfs.pushes import Pushes, normalise
from udfs.rules.engine.batch import Batch

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
    "requested": "requested_versions",
    "interval_ms": "heartbeat_interval_ms",
}

_NEEDED = frozenset(_OF_CONNECTION.values())

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

PER_INSTANCE = ("client.id", "group.instance.id", "client.rack", "transactional.id", "consumer.id")
"""Settings that instances of one application rightly differ in; they aren't compared."""

_BESIDE = pa.array(PER_INSTANCE)
_REASONS = pa.array([state.name.lower() for state in ValueState])


def pushed(values: pa.Array, digest_key: DigestKey | None, thresholds: Thresholds | None = None) -> pa.StructArray:
    """`PUSH` of ClientConfigRecords; of what can't be decoded nothing, which history's query reports."""
    pushes = Pushes(decode_pushes(values, digest_key))
    records = pushes.records
    states = pushes.settings["value_state"].to_numpy(zero_copy_only=False)
    leaks = np.isin(pushes.tiers, (Tier.CREDENTIAL, Tier.DOUBTFUL))
    batch = Batch(pushes, thresholds)
    columns = {name: records.field(field) for name, field in _OF_PUSH.items()}
    columns["application"] = application_keys(batch)
    columns |= {name: column for name, column in verdicts(batch).items() if name != "passed"}
    columns["settings"] = _settings(pushes, states)
    columns["member"] = batch.text("group.instance.id").strings()
    columns["origin"], columns["client_type"] = records.field("origin"), pa.array(batch.client_types)
    transactional = batch.text("transactional.id")
    columns["transactional"] = pa.array((transactional.known & ~transactional.equals("")) | batch.is_hidden("transactional.id"))
    columns["unsearched"] = pa.array(~batch.checked.searched)
    written = records.field("written")
    columns["written"] = arrays(pa.ListArray.from_arrays(written.offsets, literals(written.values), mask=written.is_null()))
    columns["client"] = client_keys(columns)
    has_leak = np.zeros(len(pushes), np.bool_)
    has_leak[pushes.parents[leaks]] = True
    keep = records.field("decode_error").is_null().to_numpy(zero_copy_only=False) & (has_leak | _last(columns["client"]))
    return _struct(PUSH, columns, np.flatnonzero(keep))


def connected(values: pa.Array, digest_key: DigestKey | None = None) -> pa.StructArray:
    """`CONNECTION` of ClientConnectionRecords; of what can't be decoded nothing."""
    decoded = decode_connections(values, digest_key, _NEEDED)
    columns = {name: decoded.field(field) for name, field in _OF_CONNECTION.items()}
    columns["client"] = client_keys(columns)
    texts = [columns[name].cast(pa.string()) for name in ("broker", "gateway", "epoch", "connection")]
    which = pc.binary_join_element_wise(columns["cluster"], *texts, " ")
    # A decoded record has a kind; that of traffic would count as the last of those without a connection, which are heartbeats.
    keep = pc.not_equal(columns["kind"], Kind.TRAFFIC.value).fill_null(False).to_numpy(zero_copy_only=False)
    rows = np.flatnonzero(keep)
    return _struct(CONNECTION, columns, rows[_last(which.take(pa.array(rows)))])


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


def _settings(pushes: Pushes, states: npt.NDArray[Any]) -> pa.StringArray:
    """Per push an object of its settings, but for those of `PER_INSTANCE`."""
    columns = pushes.settings
    beside = pc.is_in(normalise(columns["config_key"]), _BESIDE).to_numpy(zero_copy_only=False)
    compared = np.flatnonzero(~beside)
    chosen = pa.array(compared)
    hidden = states[compared] != ValueState.PRESENT
    values = literals(columns["config_value"].take(chosen))
    if hidden.any():
        which = pa.array(compared[hidden])
        reasons = _REASONS.take(pa.array(np.clip(states[compared[hidden]], 0, len(_REASONS) - 1)))
        digests = pa.array([None if each is None else each.hex() for each in columns["value_digest"].take(which).to_pylist()], pa.string())
        parts = (literals(reasons), literals(columns["value_length"].take(which)), literals(digests))
        redacted = pc.binary_join_element_wise('["redacted"', *parts, "]", ",")
        values = pc.replace_with_mask(values, pa.array(hidden), pc.replace_substring(redacted, ",]", "]"))
    pairs = pc.binary_join_element_wise(literals(columns["config_key"].take(chosen)), values, ":")
    lists = pushes.group(compared, pairs)
    return pc.binary_join_element_wise("{", pc.binary_join(lists, ","), "}", "")


def _last(keys: pa.StringArray) -> npt.NDArray[np.bool_]:
    """True at the last row of each key."""
    indices = keys.dictionary_encode().indices.fill_null(-1).to_numpy(zero_copy_only=False)
    last = np.zeros(len(keys), np.bool_)
    last[len(keys) - 1 - np.unique(indices[::-1], return_index=True)[1]] = True
    return last


def _struct(of: pa.StructType, columns: dict[str, pa.Array], rows: npt.NDArray[np.int64]) -> pa.StructArray:
    places = pa.array(rows)
    made = {"row": places, **{name: column.take(places) for name, column in columns.items()}}
    return pa.StructArray.from_arrays([made[field.name].cast(field.type) for field in of], fields=list(of))


# Keys of the clients of a batch's records, as in `clientscope.records.client_key`.


def client_keys(columns: Mapping[str, pa.Array]) -> pa.StringArray:
    """Per record `client_key` of its columns cluster, principal, address, instance_id, gateway, epoch and connection."""
    connection = pc.binary_join_element_wise(
        columns["gateway"], columns["epoch"].cast(pa.string()), columns["connection"].cast(pa.string()), "/"
    )
    instance = columns["instance_id"]
    if instance.null_count == len(instance):
        return connection
    return pc.coalesce(pc.binary_join_element_wise(instance, _scopes(columns), "/"), connection)


def _scopes(columns: Mapping[str, pa.Array]) -> pa.StringArray:
    """Few are different in a batch, so each is worked out once."""
    principal, address = columns["principal"], columns["address"].fill_null("")
    principal = pc.if_else(pc.equal(principal, ANONYMOUS), None, principal)
    tagged = pc.coalesce(pc.binary_join_element_wise("=", principal, ""), pc.binary_join_element_wise("@", address, ""))
    clusters, whose = columns["cluster"].fill_null("").dictionary_encode(), tagged.dictionary_encode()
    pairs = clusters.indices.to_numpy().astype(np.int64) * len(whose.dictionary) + whose.indices.to_numpy()
    different, which = np.unique(pairs, return_inverse=True)
    named, texts = clusters.dictionary.to_pylist(), whose.dictionary.to_pylist()
    digests = []
    for pair in different.tolist():
        cluster, tag = divmod(pair, len(texts))
        text = texts[tag]
        digests.append(scope(named[cluster], text[1:] if text[0] == "=" else None, text[1:]))
    # Of a principal the address doesn't count, and is left out above.
    return pa.array(digests, pa.string()).take(pa.array(which))
