"""Clients that logs show, as records: redacted as a push is, the same key in each run, and bounded."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from record_bytes import binaries

from clientscope.catalog.configs import ClientType
from clientscope.digest import DigestKey
from clientscope.policy import found_clients
from clientscope.policy.found_clients import FoundClient, FoundClients
from clientscope.policy.interface import ClientConfig
from clientscope.policy.redaction import redact
from clientscope.records.codec import decode
from clientscope.records.config_record import ClientConfigRecord
from clientscope.records.enums import Origin
from udfs.kernels.finding_inputs import pushed

KEY = DigestKey(b"k" * 32)
CANARY = "canary-7c1f9e"
SECRET = ClientConfig("sasl.jaas.config", f'x.PlainLoginModule required password="{CANARY}";', 8, False)
ACKS = ClientConfig("acks", "0", 1, False)


def found(*settings: ClientConfig, **changes: Any) -> FoundClient:
    fields: dict[str, Any] = {
        "client_type": ClientType.PRODUCER, "software_name": "apache-kafka-java", "software_version": "4.4.0",
        "client_id": "orders-1", "principal": "User:orders", "settings": settings, "address": "10.0.0.1", "security_protocol": "SASL_SSL",
    }  # fmt: skip
    return FoundClient(**{**fields, **changes})


def run(*clients: FoundClient, now_ms: int = 1_000, key: DigestKey | None = KEY) -> FoundClients:
    made = FoundClients("cluster", 1, now_ms, key)
    for client in clients:
        made.add(client)
    return made


def records(made: FoundClients) -> list[Any]:
    return [decode(ClientConfigRecord, value) for value in made.records.values()]


def test_settings_are_redacted_as_the_gateway_does_and_secrets_are_nowhere() -> None:
    made = run(found(ClientConfig("acks", "1", 1, False)), found(SECRET, ACKS))
    (record,) = records(made)  # of one client the last counts
    assert list(record.listed()) == [redact(SECRET, KEY, 1), redact(ACKS, KEY, 2)]
    assert (record.digest_key_id, record.origin, record.broker_id) == (KEY.key_id, Origin.REQUEST_LOG, 1)
    assert CANARY.encode() not in b"".join(made.records.values())


@pytest.mark.parametrize("field", ["client_id", "principal", "software_name", "software_version", "listener"])
@pytest.mark.parametrize("key", [KEY, None])
def test_a_name_that_holds_a_secret_is_replaced_and_no_hash_of_it_is_written(field: str, key: DigestKey | None) -> None:
    first, second = (run(found(ACKS, **{field: f"password={CANARY}{number}"}), key=key) for number in (1, 2))
    assert CANARY.encode() not in b"".join(first.records.values())
    assert CANARY not in "".join(first.records)
    assert (first.records.keys() == second.records.keys()) == (key is None or field in ("software_version", "listener"))


def test_a_later_run_replaces_the_record_whatever_the_version_and_the_settings() -> None:
    before, after = run(found(ACKS)), run(found(software_version="4.4.1"), now_ms=2_000)
    assert before.records.keys() == after.records.keys()
    assert records(before)[0].gateway_epoch == 1_000 and records(after)[0].gateway_epoch == 2_000


@pytest.mark.parametrize(
    "changes",
    [{"client_type": ClientType.CONSUMER}, {"client_id": "orders-2"}, {"principal": "User:other"}, {"address": "10.0.0.2"},
     {"software_name": "librdkafka"}],
)  # fmt: skip
def test_what_makes_another_client(changes: dict[str, Any]) -> None:
    made = run(found(ACKS), found(ACKS, **changes))
    assert len({record.client_instance_id for record in records(made)}) == 2
    assert len({record.connection_id for record in records(made)}) == 2


@given(st.text(max_size=300), st.text(max_size=300), st.text(max_size=60), st.sampled_from(["PLAINTEXT", "SSL", "SASL_SSL", "odd", ""]))
def test_the_key_is_the_one_that_the_job_makes_of_the_record(client_id: str, principal: str, address: str, protocol: str) -> None:
    made = run(found(ACKS, client_id=client_id, principal=principal or None, address=address, security_protocol=protocol))
    ((key, value),) = made.records.items()
    rows = pushed(binaries(value), KEY).to_pylist()
    assert [row["client"] for row in rows] == [key]


@pytest.mark.parametrize("address", ["not an address", f"password={CANARY}", "", "10.0.0.1:9092"])
def test_what_is_no_address_is_left_out(address: str) -> None:
    assert records(run(found(ACKS, address=address)))[0].client_address == ""


def test_clients_beyond_the_bounds_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(found_clients, "MOST_RECORDS", 2)
    made = run(*(found(ACKS, client_id=f"c-{number}") for number in (1, 2, 3, 1)))
    assert (len(made.records), made.left_out, made.too_large) == (2, 1, 0)
    monkeypatch.setattr(found_clients, "MOST_BYTES", 10)
    assert run(found(ACKS)).left_out == 1
    monkeypatch.setattr(found_clients, "MOST_RECORD_BYTES", 10)
    assert run(found(ACKS)).too_large == 1
