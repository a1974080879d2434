"""Keys of clients: one spelling, which no client can choose so that it is another's."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest
from every import every
from golden import cases
from hypothesis import example, given, settings
from hypothesis import strategies as st
from record_bytes import connection_record
from request_contexts import CONTEXT, INSTANCE, PLACE

from clientscope.gateway.quota import client_of
from clientscope.gateway.registry import ConnectionRegistry
from clientscope.model.client_key import client_key, instance_of, is_anonymous, tenant_of
from clientscope.model.codec import decode
from clientscope.model.connection import ClientConnectionRecord
from clientscope.model.principals import ANONYMOUS
from clientscope.model.requested_versions import MOST_VERSIONS, pack, pair, unpack
from clientscope.session.state import Identity

# Texts that look alike where parts are put together carelessly.
TEXTS = st.text(st.sampled_from("ab/|:0=@\n é\ud800"), max_size=6) | st.text(max_size=300)
PRINCIPALS = st.none() | st.just(ANONYMOUS) | TEXTS
WHOSE = st.tuples(TEXTS, PRINCIPALS, TEXTS, st.none() | st.sampled_from([INSTANCE, UUID(int=7)]))


def key(cluster: str, principal: str | None, address: str, instance: UUID | None) -> str:
    return client_key(cluster, principal, address, instance, "gw", 1, 2)


@settings(deadline=None)
@example(("c", None, "User:a", INSTANCE), ("c", "User:a", "10.0.0.1", INSTANCE))  # an address that reads like a principal
@example(("c", "principal/x", "", INSTANCE), ("c/principal", "x", "", INSTANCE))  # a separator in a name
@given(WHOSE, WHOSE)
def test_two_clients_have_two_keys(one: tuple[str, str | None, str, UUID | None], other: tuple[str, str | None, str, UUID | None]) -> None:
    def means(client: tuple[str, str | None, str, UUID | None]) -> tuple[object, ...]:
        cluster, principal, address, instance = client
        principal = None if principal == ANONYMOUS else principal
        return ("connection",) if instance is None else (cluster, principal, address if principal is None else "", instance)

    assert (key(*one) == key(*other)) == (means(one) == means(other))
    assert len(key(*one)) <= 69 and instance_of(key(*one)) == (None if one[3] is None else str(one[3]))


def test_a_gateway_cannot_be_named_so_that_a_connection_is_a_client_with_an_id() -> None:
    of_instance = key("c", "User:a", "10.0.0.1", INSTANCE)
    for gateway in (str(INSTANCE), of_instance, f"{INSTANCE}/{'0' * 32}"):
        connection = client_key("c", "User:a", "10.0.0.1", None, gateway, 1, 2)
        assert connection != of_instance and instance_of(connection) is None


def test_the_gateway_tells_clients_of_two_principals_apart_though_they_send_one_id() -> None:
    registry = ConnectionRegistry(PLACE)
    long = "User:CN=" + "x" * 300
    principals = ["User:a", "User:b", None, long + "1", long + "2"]
    for number, principal in enumerate(principals):
        registry.opened(number, "10.0.0.1", 0, Identity("app", "java", "1", INSTANCE, principal))
    registry.opened(9, "10.0.0.2", 0, Identity("app", "java", "1", INSTANCE, "User:a"))
    assert registry.instances() == len(principals)
    contexts = [registry.context(number) for number in range(len(principals))]
    assert len({context.client_key for context in contexts if context}) == len({client_of(each) for each in contexts if each}) == 5
    assert all(len(context.principal or "") <= 256 for context in every(context for context in contexts if context))


def test_a_client_that_the_guard_refuses_is_one_of_a_principal() -> None:
    assert client_of(replace(CONTEXT, principal="User:a")) != client_of(replace(CONTEXT, principal="User:b"))
    assert client_of(replace(CONTEXT, principal="User:a", connection_id=8)) == client_of(replace(CONTEXT, principal="User:a"))
    assert client_of(CONTEXT) != client_of(replace(CONTEXT, client_address="10.0.0.2"))


@pytest.mark.parametrize(("principal", "address", "tenant"), cases(__file__, "tenants.txt"))
def test_whose_a_client_is(principal: str, address: str, tenant: str) -> None:
    assert tenant_of(principal or None, address) == tenant
    assert is_anonymous(tenant) is tenant.startswith("@")


INT16 = st.integers(-(2**15), 2**15 - 1)


@given(st.sets(st.tuples(INT16, INT16), max_size=MOST_VERSIONS))
def test_what_was_packed_is_found(versions: set[tuple[int, int]]) -> None:
    assert set(unpack(pack({pair(*each) for each in versions}))) == versions


def test_a_record_has_the_versions_as_pairs() -> None:
    versions = ((0, 2), (1, 3))
    value = connection_record(1, requested_versions=versions)
    assert b'"requested_versions":[[0,2],[1,3]]' in value
    record = decode(ClientConnectionRecord, value)
    assert (record.requested_versions, record.requested) == (versions, pack({pair(*each) for each in versions}))
    assert decode(ClientConnectionRecord, connection_record(1)).requested == b""
