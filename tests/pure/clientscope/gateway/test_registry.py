"""gateway/registry: the counts after any history equal a recount of what is open (Hypothesis makes the histories)."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from every import every
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families
from request_contexts import PLACE

from clientscope.gateway import connection_records as gateway_traffic
from clientscope.gateway import registry as known
from clientscope.gateway.connection_records import Traffic
from clientscope.gateway.metrics import GatewayMetrics
from clientscope.gateway.registry import ConnectionRegistry, Unpublished
from clientscope.model import connection
from clientscope.model.codec import decode, encode
from clientscope.model.connection import ClientConnectionRecord, rates
from clientscope.model.enums import Kind, PrincipalSource
from clientscope.session.state import UNKNOWN, Identity

NAMES = ("kafka-python", "librdkafka", "apache-kafka-java")

events = st.lists(st.tuples(st.sampled_from(["open", "identify", "close"]), st.integers(0, 9), st.sampled_from(NAMES)), max_size=60)


@pytest.fixture
def registry() -> ConnectionRegistry:
    return ConnectionRegistry(PLACE)


@given(events)
def test_the_newest_count_of_each_series_is_the_truth(history: list[tuple[str, int, str]]) -> None:
    registry = ConnectionRegistry(PLACE)
    truth: dict[int, str] = {}
    newest: dict[str, tuple[int, int]] = {}
    sequence = ids = 0
    for step, number, name in history:
        record = None
        if step == "open":
            said = number % 2 == 1
            identity = Identity("app", name, UNKNOWN if name == UNKNOWN else "1.0") if said else None
            record = registry.opened(ids, "10.0.0.1", 5, identity)
            truth[ids] = name if said else UNKNOWN
            ids += 1
        elif truth:
            connection_id = sorted(truth)[number % len(truth)]
            if step == "identify":
                record = registry.identified(connection_id, Identity("app", name, UNKNOWN if name == UNKNOWN else "1.0"), 6)
                truth[connection_id] = name
            else:
                record = registry.closed(connection_id, "client_closed", 7)
                del truth[connection_id]
        if record is None:
            continue
        again = decode(ClientConnectionRecord, encode(record))
        assert again == record
        assert registry.open_from("10.0.0.1") == len(truth)
        assert record.sequence == sequence
        sequence += 1
        for count in record.counts:
            newest[count.software_name] = (record.sequence, count.connections)
            assert count.opened - count.closed == count.connections >= 0
    assert {name: value for name, (_, value) in newest.items() if value} == dict(Counter(truth.values()))
    heartbeat = {c.software_name: c.connections for r in registry.heartbeat(8, 5000) for c in r.counts}
    assert {name: value for name, value in heartbeat.items() if value} == dict(Counter(truth.values()))


@pytest.mark.parametrize(
    ("protocol", "tls", "principal"),
    [
        ("PLAINTEXT", False, "User:ANONYMOUS"), ("SSL", False, "User:ANONYMOUS"), ("SSL", True, None),
        ("SASL_PLAINTEXT", False, None), ("SASL_SSL", False, None), ("SASL_SSL", True, None),
    ],
)  # fmt: skip
def test_who_has_said_nothing_is_anonymous_where_it_need_not_authenticate(protocol: str, tls: bool, principal: str | None) -> None:
    registry = ConnectionRegistry(replace(PLACE, security_protocol=protocol, tls=tls))
    record = registry.opened(1, "10.0.0.1", 5)
    context = registry.context(1)
    assert context is not None and context.principal == record.principal == registry.listing()[0].principal == principal
    assert record.principal_source == PrincipalSource.NONE
    heartbeats = registry.heartbeat(8, 5000)
    assert [each.principal for each in heartbeats] == [None] * len(heartbeats)


def test_a_connection_closes_once(registry: ConnectionRegistry) -> None:
    registry.opened(7, "10.0.0.1", 1)
    assert registry.closed(7, "client_closed", 2) is not None
    assert registry.closed(7, "broker_closed", 3) is None
    assert registry.identified(7, Identity("app", "x", "1"), 4) is None


def test_a_series_at_zero_is_in_three_heartbeats_and_then_no_more(registry: ConnectionRegistry) -> None:
    registry.opened(7, "10.0.0.1", 1)
    registry.closed(7, "client_closed", 2)
    lengths = [len(registry.heartbeat(3, 5000)[0].counts) for _ in range(5)]
    assert lengths == [1, 1, 1, 0, 0]


def test_f37_long_names_fill_the_bytes_before_the_number() -> None:
    registry = ConnectionRegistry(PLACE, most_bytes=10_000)
    for number in range(100):
        registry.opened(number, "10.0.0.1", 1, Identity("app", "n" * 256, f"{number:0256}"))
    counts = registry.counts()
    assert len(counts) == 16, "other among them"
    assert sum(counts.values()) == 100
    for number in range(100):
        registry.closed(number, "client_closed", 2)
    for _ in range(4):
        registry.heartbeat(3, 5000)
    registry.opened(100, "10.0.0.1", 4, Identity("app", "n" * 256, "1"))
    assert list(registry.counts()) == [("n" * 256, "1")], "what is gone takes none"


def test_an_open_connection_is_recorded_again_every_six_hours(registry: ConnectionRegistry) -> None:
    six_hours = 6 * 60 * 60 * 1000
    first, second = 0, 1
    registry.opened(first, "10.0.0.1", 0)
    registry.opened(second, "10.0.0.2", 1000)
    registry.identified(first, Identity("app", "kafka-python", "3.0.12"), 2000)
    assert [r.connection for r in registry.present(six_hours + 1000)] == [second]
    (again,) = registry.present(six_hours + 2000)
    assert (again.kind, again.connection, again.client_id) == (Kind.PRESENT, first, "app")
    assert registry.present(six_hours + 3000) == []
    registry.closed(first, "client_closed", six_hours + 4000)
    assert [r.connection for r in registry.present(3 * six_hours)] == [second]


def test_versions_that_a_client_requests_are_recorded_once_and_at_the_end(registry: ConnectionRegistry) -> None:
    opened = registry.opened(1, "10.0.0.1", 0, Identity("app", "java", "4.4.0"))
    assert opened.requested == b""
    used = registry.used(1, b"\0\1\0\3", 5_000)
    assert used is not None and (used.kind, used.requested, used.client_id) == (Kind.PRESENT, b"\0\1\0\3", "app")
    assert used.counts[0].connections == used.counts[0].opened == 1
    assert registry.used(1, b"\0\1\0\3", 6_000) is None, "that is known"
    assert registry.used(2, b"\0\1\0\3", 6_000) is None, "no such connection"
    renamed = registry.identified(1, Identity("app", "java", "4.5.0"), 7_000)
    assert renamed is not None and renamed.requested == b"\0\1\0\3"
    (again,) = registry.again([1], 8_000)
    assert again.requested == b"\0\1\0\3", "a record that was lost is made good"
    assert all(beat.requested == b"" for beat in every(registry.heartbeat(9_000, 5_000)))
    closed = registry.closed(1, "client_closed", 9_500)
    assert closed is not None and closed.requested == b"\0\1\0\3"
    registry.opened(3, "10.0.0.1", 9_600)
    short = registry.closed(3, "client_closed", 9_601, b"\0\0\0\2")
    assert short is not None and decode(ClientConnectionRecord, encode(short)).requested == b"\0\0\0\2"


def test_lists_of_versions_are_held_once(registry: ConnectionRegistry) -> None:
    for number in range(3_000):
        registry.opened(number, "10.0.0.1", 0)
        registry.used(number, bytes([0, 1, 0, number % 2]), 1)
        registry.used(number, number.to_bytes(4, "big"), 2)
    registry.used(0, bytes([0, 1, 0, 1]), 3)
    registry.used(1, b"".join([b"\0\1", b"\0\1"]), 3)
    assert registry.connections[0].requested is registry.connections[1].requested


SAID = Identity("app", "franz-go", "1.22", principal="User:alice")
SILENT = Identity("app", principal="User:alice")


def test_client_id_address_and_principal_together() -> None:
    clients = known.KnownClients()
    clients.said("10.0.0.1", SAID)
    assert clients.infer("10.0.0.1", SILENT) == ("franz-go", "1.22")
    for other in (replace(SILENT, client_id="other"), replace(SILENT, client_id=None), replace(SILENT, principal=None), SAID):
        assert clients.infer("10.0.0.1", other) is None
    assert clients.infer("10.0.0.2", SILENT) is None


def test_an_inferred_name_enters_no_gauge() -> None:
    registry = ConnectionRegistry(PLACE)
    registry.opened(0, "10.0.0.1", 0)
    registry.identified(0, SAID, 0)
    registry.opened(1, "10.0.0.1", 0)
    registry.identified(1, SILENT, 0)
    assert registry.counts() == {("franz-go", "1.22"): 1, ("unknown", "unknown"): 1}
    assert [c.inferred for c in registry.listing()] == [None, ("franz-go", "1.22")]


def test_each_heartbeat_has_what_workers_said_since_the_last() -> None:
    counted = Traffic()
    assert counted.take() is None, "no worker has answered"
    assert counted.measured(1_000, {1: (1_000, 2_000)}) == 0
    assert counted.measured(900, {5: (500, 0)}) == 0
    taken = counted.take()
    assert taken is not None and rates(*taken) == ((1, 1_000, 2_000), (5, 500, 0))
    assert counted.take() is None


def test_connections_that_are_left_out_are_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateway_traffic, "MOST_CONNECTIONS", 3)
    counted = Traffic()
    assert counted.measured(1_000, dict.fromkeys(range(2), (1, 1))) == 0
    assert counted.measured(1_000, dict.fromkeys(range(2, 5), (1, 1))) == 2
    assert counted.measured(1_000, {9: (1, 1)}) == 1


def test_rates_are_per_second_and_those_with_the_most_bytes_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert rates(2_000, {7: (3_001, 0), 8: (2**60, 1)}) == ((7, 1_500, 0), (8, 2**32 - 1, 0))
    assert rates(0, {1: (5, 5)}) == ((1, 5_000, 5_000),)
    monkeypatch.setattr(connection, "MOST_CONNECTIONS", 2)
    assert [number for number, *_ in rates(1_000, {1: (1, 0), 2: (9, 0), 3: (0, 5)})] == [2, 3]


steps = st.lists(st.tuples(st.sampled_from(["open", "identify", "close", "heal"]), st.integers(0, 9), st.booleans()), max_size=60)


class Topic:
    """What a reader of the topic knows; it takes records only while it is up."""

    def __init__(self) -> None:
        self.unpublished = Unpublished()
        self.open: dict[int, str] = {}
        self.closed: list[int] = []

    def publish(self, record: Any, up: bool) -> None:
        self.unpublished.published(record, taken=up)
        if up and record.kind == Kind.CLOSED:
            self.open.pop(record.connection, None)
            self.closed.append(record.connection)
        elif up:
            self.open[record.connection] = record.software_name


def heal(topic: Topic, registry: ConnectionRegistry, up: bool, most: int) -> None:
    """What the gateway does with each heartbeat, in which there may be no room."""
    closed = topic.unpublished.take_closed(most)
    for record in closed:
        topic.publish(record, up)
    opened = topic.unpublished.open(most)
    for record in registry.again(opened, 9):
        topic.publish(record, up)
    assert max(len(closed), len(opened)) <= most


@given(steps)
def test_f16_nothing_stays_unpublished(history: list[tuple[str, int, bool]]) -> None:
    registry, topic = ConnectionRegistry(PLACE), Topic()
    truth: dict[int, str] = {}
    shown_open = 0
    for new_id, (step, number, up) in enumerate(history):
        if step == "open":
            truth[new_id] = "unknown"
            topic.publish(registry.opened(new_id, "10.0.0.1", 1), up)
            shown_open += up
        elif step == "heal":
            heal(topic, registry, up, number)
        elif truth:
            connection_id = sorted(truth)[number % len(truth)]
            if step == "identify":
                topic.publish(registry.identified(connection_id, Identity("app", f"n{number}", "1"), 2), up)
                truth[connection_id] = f"n{number}"
            else:
                topic.publish(registry.closed(connection_id, "client_closed", 3), up)
                del truth[connection_id]
    for _ in range(len(history) + 1):
        heal(topic, registry, True, 3)
    assert topic.open == truth
    assert len(topic.closed) == len(set(topic.closed)), "each close is recorded once"
    assert not topic.unpublished.open(1) and not topic.unpublished.take_closed(1)


def test_what_comes_and_goes_unpublished_leaves_nothing() -> None:
    registry, unpublished = ConnectionRegistry(PLACE), Unpublished()
    for connection_id in range(1000):
        unpublished.published(registry.opened(connection_id, "10.0.0.1", 1), taken=False)
        unpublished.published(registry.identified(connection_id, Identity("app", "x", "1"), 2), taken=False)  # type: ignore[arg-type]
        unpublished.published(registry.closed(connection_id, "client_closed", 3), taken=False)  # type: ignore[arg-type]
    assert unpublished.open(1) == unpublished.take_closed(1) == []
    # Nothing is remembered of these numbers either: were they still new, their closing would need no record.
    for connection_id in range(1000):
        unpublished.published(registry.opened(connection_id, "10.0.0.1", 4), taken=True)
        unpublished.published(registry.closed(connection_id, "client_closed", 5), taken=False)  # type: ignore[arg-type]
    assert len(unpublished.take_closed(2000)) == 1000


def shown(counts: dict[tuple[str, str], int]) -> dict[tuple[str, ...], float]:
    metrics = GatewayMetrics()
    metrics.show_connections(lambda: counts, {"broker": "1"})
    families = text_string_to_metric_families(generate_latest(metrics.registry).decode())
    return {
        (sample.name.removeprefix("clientscope_gateway_"), *(v for k, v in sample.labels.items() if k != "broker")): sample.value
        for family in families
        for sample in family.samples
    }


def test_in_total_by_name_by_version_and_by_both() -> None:
    found = shown({("java", "3.9"): 2, ("java", "4.4"): 3, ("librdkafka", "4.4"): 5})
    assert found["connected_clients",] == 10
    assert (found["connected_clients_by_name", "java"], found["connected_clients_by_name", "librdkafka"]) == (5, 5)
    assert (found["connected_clients_by_version", "3.9"], found["connected_clients_by_version", "4.4"]) == (2, 8)
    assert found["client_connections", "java", "4.4"] == 3
    assert shown({})["connected_clients",] == 0


def test_f37_the_largest_thousand_and_the_rest_as_other() -> None:
    found = shown({(f"name-{number}", str(number)): number + 1 for number in range(1_500)})
    for family, labels in (("client_connections", 2), ("connected_clients_by_name", 1), ("connected_clients_by_version", 1)):
        series = {key: value for key, value in found.items() if key[0] == family}
        assert len(series) == 1_001
        assert series[(family, *["other"] * labels)] == sum(range(1, 501))
        assert sum(series.values()) == found["connected_clients",]
