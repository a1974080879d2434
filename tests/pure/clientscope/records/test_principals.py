"""records/principals and its vectorised twin: the principal of a record that has none, whichever release wrote it."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from record_bytes import config_record, connection_record, setting

from clientscope.records.layouts import Kind
from clientscope.records.principals import ANONYMOUS, anonymous_if_unsaid
from sinks.dashboard.state.connection_events import events
from udfs.decoding.decode import decoder
from udfs.redaction.names import redact_names
from udfs.redaction.principals import principals

CASES: list[tuple[str | None, str, str | None]] = [
    (None, "PLAINTEXT", ANONYMOUS),
    (ANONYMOUS, "PLAINTEXT", ANONYMOUS),
    (None, "SSL", None),  # TLS that passed untouched
    (None, "SASL_PLAINTEXT", None),  # not yet, GSSAPI, a delegation token
    (None, "SASL_SSL", None),
    ("User:a", "SASL_SSL", "User:a"),
    ("User:CN=a", "SSL", "User:CN=a"),
]


def test_each_of_a_batch_is_as_the_scalar_has_it() -> None:
    values = [config_record(setting("acks", "0"), principal=said, security_protocol=protocol) for said, protocol, _ in CASES]
    decoded = decoder("ClientConfigRecord")(pa.array(values, pa.large_binary()))
    read = redact_names(decoded, None).field("principal").to_pylist()
    assert read == [expected for *_, expected in CASES] == [anonymous_if_unsaid(said, protocol) for said, protocol, _ in CASES]


@pytest.mark.parametrize("copies", [1, 20], ids=["one after the other", "a batch"])
def test_connections_are_read_alike_and_heartbeats_are_about_nobody(copies: int) -> None:
    fields: list[dict[str, Any]] = [{"principal": said, "security_protocol": protocol, "kind": Kind.OPENED} for said, protocol, _ in CASES]
    fields.append({"principal": None, "security_protocol": "PLAINTEXT", "kind": Kind.HEARTBEAT})
    values = [connection_record(number, **each) for number, each in enumerate(fields * copies)]
    read = [getattr(event, "principal", "no event") for event in events(values)]
    assert read == [*(expected for *_, expected in CASES), None] * copies


def test_what_has_no_principal_or_no_protocol_stays_as_it_is() -> None:
    values = pa.array([config_record(setting("acks", "0"), principal=None, security_protocol="PLAINTEXT")], pa.large_binary())
    for fields in ({"principal"}, {"security_protocol"}, {"client_id"}):
        assert principals(decoder("ClientConfigRecord", frozenset(fields))(values)) is None
