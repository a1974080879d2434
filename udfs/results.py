"""What all rules say of each push: the columns of ``clientscope.results``."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from udfs import settings
from udfs.pushes import Pushes
from udfs.rules import RULES
from udfs.rules.rule import VERDICT

_ORIGINS = pa.array(["pushed", "observed"])

TYPE = pa.struct(
    [
        ("received_ms", pa.int64()),
        ("cluster", pa.string()),
        ("broker", pa.int32()),
        ("gateway", pa.string()),
        ("epoch", pa.int64()),
        ("connection", pa.int64()),
        ("listener", pa.string()),
        ("security_protocol", pa.string()),
        ("address", pa.string()),
        ("principal", pa.string()),
        ("client_id", pa.string()),
        ("software_name", pa.string()),
        ("software_version", pa.string()),
        ("instance_id", pa.string()),
        ("origin", pa.string()),
        ("application_client_id", pa.string()),
        ("group_id", pa.string()),
        ("settings", pa.int32()),
        ("redacted", pa.int32()),
        ("rules", pa.list_(VERDICT)),
        ("decode_error", pa.string()),
    ]
)
"""One row per push; all null but ``decode_error`` where it could not be decoded."""

_SAME = {
    "received_ms": "received_timestamp_ms",
    "cluster": "cluster_id",
    "broker": "broker_id",
    "gateway": "gateway_id",
    "epoch": "gateway_epoch",
    "connection": "connection_id",
    "listener": "listener_name",
    "security_protocol": "security_protocol",
    "address": "client_address",
    "principal": "principal",
    "client_id": "client_id",
    "software_name": "client_software_name",
    "software_version": "client_software_version",
    "instance_id": "client_instance_id",
    "decode_error": "decode_error",
}


def judge(pushes: Pushes) -> pa.StructArray:
    """Every rule's verdict on every push, as `TYPE`."""
    records = pushes.records
    decoded = records.field("decode_error").is_null()
    columns = {name: records.field(field) for name, field in _SAME.items()}
    # An origin from a newer gateway is told as observed: not the client's own word.
    columns["origin"] = _ORIGINS.take(pc.min_element_wise(pc.abs(records.field("origin")), 1, skip_nulls=False))
    columns["application_client_id"] = settings.application_client_id(records.field("client_id"))
    columns["group_id"] = settings.text(pushes, settings.GROUP_ID)
    columns["settings"] = pc.list_value_length(records.field("configs"))
    hidden = pushes.settings["value_state"].to_numpy(zero_copy_only=False) != 0
    redacted = np.bincount(pushes.parents[hidden], minlength=len(pushes)).astype(np.int32)
    columns["redacted"] = pc.if_else(decoded, pa.array(redacted), None)
    columns["rules"] = _side_by_side([rule.verdicts(pushes) for rule in RULES], decoded)
    return pa.StructArray.from_arrays([columns[field.name] for field in TYPE], fields=list(TYPE))


def _side_by_side(verdicts: list[pa.StructArray], decoded: pa.BooleanArray) -> pa.ListArray:
    """A list per push, in the order of the rules."""
    count, rules = len(decoded), len(verdicts)
    order = np.arange(count * rules).reshape(rules, count).T.reshape(-1)
    offsets = pa.array(np.arange(0, count * rules + 1, rules), pa.int32())
    return pa.ListArray.from_arrays(offsets, pa.concat_arrays(verdicts).take(pa.array(order)), mask=pc.invert(decoded))
