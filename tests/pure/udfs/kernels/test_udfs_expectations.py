"""Row checks: records as gateways write them pass all; each that is broken in one place fails just the expectation about it."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest
from record_bytes import binaries, config_record, connection_record, heartbeat, setting

from clientscope.digest import DigestKey
from clientscope.gateway.place import GatewayPlace
from clientscope.gateway.registry import ConnectionRegistry
from clientscope.records.codec import ClientConnectionRecord, encode
from clientscope.records.layouts import Kind, Origin, PrincipalSource, ValueState
from clientscope.session.state import Identity
from streaming.transforms.history import connection_rows, push_rows
from udfs.decoding.decode import decoder
from udfs.kernels.expectations import OF_CONNECTIONS, OF_PUSHES
from udfs.kernels.facts import of_connections

KEY = DigestKey(b"k" * 32)
LONG, LONGEST = "n" * 1_025, "𝄞" * 256
NAMES = ("listener_name", "client_address", "principal", "client_id", "client_software_name", "client_software_version")
SAID = {"client_software_name": "software_name", "client_software_version": "software_version"}

BROKEN_IN_BOTH: list[tuple[str, dict[str, Any]]] = [
    ("cluster_id_given", {"cluster_id": ""}),
    ("cluster_id_given", {"cluster_id": LONG}),
    ("gateway_id_given", {"gateway_id": ""}),
    ("gateway_id_given", {"gateway_id": LONG}),
    ("broker_id_given", {"broker_id": -1}),
    ("gateway_epoch_given", {"gateway_epoch": 0}),
    *((f"{SAID.get(name, name)}_bounded", {name: LONG}) for name in NAMES),
    ("security_protocol_known", {"security_protocol": "plaintext"}),
    ("security_protocol_known", {"security_protocol": ""}),
    ("principal_source_known", {"principal_source": 5}),
    ("principal_source_known", {"principal_source": -1}),
]
BROKEN_PUSHES: list[tuple[str, dict[str, Any]]] = [
    *BROKEN_IN_BOTH,
    ("connection_given", {"connection_id": -1}),
    ("origin_known", {"origin": 3}),
    ("keys_given", {"configs": [setting("acks", "all"), setting("", "x")]}),
    ("value_states_known", {"configs": [setting("acks", "all"), setting("x", None, value_state=11)]}),
    ("value_states_known", {"configs": [setting("x", None, value_state=-1), setting("acks", "all")]}),
    ("config_types_known", {"configs": [setting("acks", "all", config_type=9)]}),
    ("value_lengths_not_negative", {"configs": [setting("x", None, value_state=1, value_length=-1)]}),
]
BROKEN_CONNECTIONS: list[tuple[str, dict[str, Any]]] = [
    *BROKEN_IN_BOTH,
    ("kind_known", {"kind": 5}),
    ("kind_known", {"kind": -1}),
    ("connection_fits_kind", {"connection_id": -1}),
    ("connection_fits_kind", {"kind": Kind.HEARTBEAT, "heartbeat_parts": 1}),
    ("sequence_not_negative", {"sequence": -1}),
    ("counts_not_negative", {"counts": [("java", "4", 1, 1, 0), ("java", "3", -1, 0, 1)]}),
    ("counts_not_negative", {"counts": [("java", "4", 0, 0, -1)]}),
    ("heartbeat_part_fits", {"kind": Kind.HEARTBEAT, "connection_id": -1, "heartbeat_part": 2, "heartbeat_parts": 2}),
    ("heartbeat_part_fits", {"kind": Kind.HEARTBEAT, "connection_id": -1, "heartbeat_part": -1, "heartbeat_parts": 2}),
    ("heartbeat_interval_not_negative", {"heartbeat_interval_ms": -1}),
    ("client_instances_not_negative", {"client_instances": -1}),
    ("opened_connections_told", {"opened_connections": -2}),
    ("closed_connections_told", {"closed_connections": -2}),
]


def errors(rows: pa.StructArray) -> list[str | None]:
    found: list[str | None] = rows.field("decode_error").to_pylist()
    return found


def connection(changes: dict[str, Any]) -> bytes:
    counts = changes.pop("counts", [("java", "4", 1, 1, 0)])
    return connection_record(changes.pop("sequence", 7), counts, **changes)


def test_what_the_gateways_registry_and_policy_write_is_as_expected() -> None:
    registry = ConnectionRegistry(GatewayPlace("c", 0, "g", 1, "CLIENT", "SASL_SSL"))
    identity = Identity("client", LONGEST * 2, LONGEST, uuid4(), "User:a", PrincipalSource.SCRAM)
    records = [registry.opened(1, "10.0.0.1", 5), registry.identified(1, identity, 6), registry.opened(2, "::1", 7, identity)]
    records += [registry.closed(1, "client", 8), *registry.again([2], 9), *registry.heartbeat(9, 5_000), *registry.heartbeat(10, 0)]
    values = [encode(record) for record in records if record is not None]
    rows = connection_rows(binaries(*values), KEY)
    assert errors(rows) == [None] * 7
    states = [setting(f"k{state}", None if state else "v", value_state=int(state), value_length=1) for state in ValueState]
    types = [setting("k" * 500, "1", config_type=number) for number in range(9)]
    pushes = [config_record(*states, *types, origin=origin, client_id=LONGEST) for origin in Origin] + [config_record()]
    assert errors(push_rows(binaries(*pushes), KEY)) == [None] * (len(Origin) + 1)


@pytest.mark.parametrize(("name", "changes"), BROKEN_PUSHES)
def test_a_push_that_is_broken_fails_its_expectation(name: str, changes: dict[str, Any]) -> None:
    changes = dict(changes)
    broken = config_record(*changes.pop("configs", [setting("acks", "all")]), **changes)
    good = config_record(setting("acks", "all"))
    assert errors(push_rows(binaries(good, broken, b"\0\0", good), KEY)) == [None, name, "truncated", None]


@pytest.mark.parametrize(("name", "changes"), BROKEN_CONNECTIONS)
def test_a_connection_record_that_is_broken_fails_its_expectation(name: str, changes: dict[str, Any]) -> None:
    values = [heartbeat(1), connection(dict(changes)), connection_record(2)]
    assert errors(connection_rows(binaries(*values), None)) == [None, name, None]


def test_each_expectation_has_a_row_that_breaks_it_alone() -> None:
    assert {name for name, _ in BROKEN_PUSHES} == {each.name for each in OF_PUSHES}
    assert {name for name, _ in BROKEN_CONNECTIONS} == {each.name for each in OF_CONNECTIONS}
    for changes in (changes for _, changes in BROKEN_CONNECTIONS):
        found = of_connections(decoder("ClientConnectionRecord")(binaries(connection(dict(changes)))))
        assert sum(each.broken(found[each.fact].to_numpy(zero_copy_only=False))[0] for each in OF_CONNECTIONS) == 1, changes


def test_the_first_of_several_is_reported() -> None:
    value = connection_record(1, kind=9, cluster_id="", counts=[])
    assert errors(connection_rows(binaries(value), None)) == ["cluster_id_given"]


def test_a_batch_of_nothing() -> None:
    assert len(push_rows(binaries(), None)) == 0
    assert errors(connection_rows(binaries(b"junk"), None)) == ["unknown_version"]
    assert ClientConnectionRecord.max_version == 0, "what a later version adds may want an expectation"
