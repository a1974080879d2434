"""session/addresses: a client sees no broker's own address, whatever its ids, and is offered no version that is not known."""

from __future__ import annotations

import itertools
import struct
from typing import Any

import address_answers as answers
import pytest
from address_answers import BROKERS
from frame_bytes import renumbered, request_frame
from golden import cases
from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol.metadata import MetadataRequest
from played import Played, answer_to_hello, framed, request_id

from clientscope.bounded import Shared
from clientscope.config import GatewaySettings
from clientscope.session.addresses import MOST_ANSWER_BYTES, READ, BrokerAddresses
from clientscope.session.events import BROKER, Counted, Woken
from clientscope.session.ports import BrokerPorts
from clientscope.session.session import Session
from clientscope.session.shown import MOST_HELD
from clientscope.session.state import RequestFields
from clientscope.session.unanswered import FIRST_ID, MOST_UNANSWERED
from clientscope.wire.addresses import unchanged
from clientscope.wire.api_versions import read_ranges
from clientscope.wire.describe_cluster import BrokerSoftware, with_software

PORTS = BrokerPorts("gateway", 19_001, 8, 1)
OPEN = {broker_id: (host, port) for broker_id, host, port in BROKERS}
SEEN = [(broker_id, "gateway", 19_000 + broker_id) for broker_id in OPEN]
ANSWERS: dict[int, Any] = {
    0: answers.produce,
    3: answers.metadata,
    10: answers.find_coordinator,
    60: answers.describe_cluster,
    78: lambda version, brokers=BROKERS: answers.share_fetch(brokers=brokers),
    79: answers.share_acknowledge,
}


def playing(**session: Any) -> Played:
    shared = session.pop("addresses", None) or BrokerAddresses(PORTS, brokers=OPEN)
    return Played(Session(session.pop("push_config", False), 10_240, addresses=shared, **session))


def request(key: int, version: int, correlation_id: int, size: int = 0) -> bytes:
    return request_frame(key, version, correlation_id, bytes(size))


def answered(played: Played, frame: bytes, size: int = MOST_ANSWER_BYTES) -> bytes:
    """The answer to the last request that went to the broker, as the client gets it."""
    before = len(played.to_client)
    played.answers(frame, size)
    return bytes(played.to_client[before:])


def asked(played: Played, key: int, version: int, frame: bytes) -> bytes:
    """The answer to a request of this kind, as the client gets it."""
    played.client(request(key, version, 5))
    return answered(played, frame)


@pytest.mark.parametrize(("key", "version"), [(key, version) for key, versions in READ.items() for version in versions])
@pytest.mark.parametrize("size", [1, 11, MOST_ANSWER_BYTES])
def test_every_answer_with_addresses_has_the_gateways(key: int, version: int, size: int) -> None:
    """And DescribeCluster's the broker's software, too."""
    software = BrokerSoftware("Kafka", "4.4.0")
    played = playing(software=software)
    played.client(request(key, version, answers.CORRELATION_ID))
    answer = answered(played, ANSWERS[key](version), size)
    if key != 78:
        seen = ANSWERS[key](version, SEEN)
        assert answer == (with_software(seen, version, unchanged, software) if key == 60 else seen)
    assert b"cluster.example" not in answer and b"gateway" in answer
    assert struct.unpack_from(">ii", answer) == (len(answer) - 4, answers.CORRELATION_ID)
    assert played.connection.held_bytes == 0


@given(st.data())
def test_any_cutting_of_both_directions_comes_to_the_same(data: st.DataObject) -> None:
    """Requests whose answers have addresses among others that pass, all sent before the first answer comes."""
    asked = data.draw(st.lists(st.sampled_from([(3, 12), (10, 6), (0, 12), (78, 1), (79, 2), (1, 15), (0, 9)]), min_size=1, max_size=6))
    cut = data.draw(st.lists(st.integers(1, 900), min_size=1, max_size=6))
    first, step = data.draw(st.sampled_from([(0, 1), (5, 0), (FIRST_ID, 1)]))
    ids = [first + step * number for number in range(len(asked))]
    played = playing()
    for piece in pieces(b"".join(request(key, version, own, size=40) for own, (key, version) in zip(ids, asked, strict=True)), cut):
        played.client(piece)
    stream = expected = b""
    for own_id, (key, version), sent in zip(ids, asked, played.sent, strict=True):
        plain = ANSWERS[key](version) if version in READ.get(key, ()) else struct.pack(">ii", 30, 0) + bytes(26)
        stream += plain[:4] + sent[8:12] + plain[8:]
        own = struct.pack(">i", own_id)
        if key == 78:
            whole = playing()
            whole.client(request(key, version, own_id, size=40))
            expected += answered(whole, plain)
        else:
            seen = ANSWERS[key](version, SEEN) if version in READ.get(key, ()) else plain
            expected += seen[:4] + own + seen[8:]
    for piece in pieces(stream, cut):
        played.broker(piece)
    assert bytes(played.to_client) == expected
    assert played.ended is None and played.connection.held_bytes == 0


def pieces(stream: bytes, sizes: list[int]) -> list[bytes]:
    """A stream cut into pieces of these sizes, again and again."""
    cut = []
    for size in itertools.cycle(sizes):
        if not stream:
            return cut
        cut.append(stream[:size])
        stream = stream[size:]
    return cut


@pytest.mark.parametrize(("key", "version"), cases(__file__, "unknown_versions.txt"))
def test_what_is_not_known_never_reaches_the_broker(key: str, version: str) -> None:
    played = playing()
    played.client(request(int(key), int(version), 5))
    assert played.ended == "unknown_version" and not played.to_broker


def test_only_known_versions_are_advertised() -> None:
    for version in range(5):
        for push_config in (False, True):
            played = playing(push_config=push_config)
            body = b"" if version < 3 else b"\0\2a\2b\0"
            played.client(request_frame(18, version, 5, body))
            listed = {
                0: (0, 99), 1: (4, 18), 3: (0, 13), 78: (0, 0), 79: (1, 9), 6: (0, 8), 700: (0, 1), 18: (0, 6), 1324: (0, 0),
            }  # fmt: skip
            ranges = read_ranges(answered(played, answer_to_hello(listed, version)), version)
            assert ranges == {0: (0, 13), 1: (4, 15), 3: (0, 13), 79: (1, 2), 18: (0, 5), **({1324: (0, 0)} if push_config else {})}


def test_a_client_that_asks_with_an_unknown_version_learns_the_known_ones() -> None:
    played = playing()
    played.client(request_frame(18, 6, 5, b"\0\1"))
    (sent,) = played.sent
    assert struct.unpack_from(">hh", sent, 4) == (18, 32_767)
    unsupported = struct.pack(">iihihhh", 16, 5, 35, 1, 18, 0, 6)
    assert answered(played, unsupported) == struct.pack(">iihihhh", 16, 5, 35, 1, 18, 0, 5)


def test_the_answer_waits_for_the_port_of_a_broker_that_is_new() -> None:
    found: list[tuple[int, str, int]] = []
    shared = BrokerAddresses(PORTS, lambda *broker: found.append(broker), {1: OPEN[1]})
    played = playing(addresses=shared)
    assert asked(played, 3, 12, answers.metadata(12)) == b""
    assert found == [(2, *OPEN[2])]
    shared.change(OPEN)
    played._play(Woken(BROKER))
    assert bytes(played.to_client) == answers.metadata(12, SEEN)


def test_it_does_not_wait_for_ever_and_not_again() -> None:
    shared = BrokerAddresses(PORTS, brokers={1: OPEN[1]})
    played = playing(addresses=shared)
    asked(played, 3, 12, answers.metadata(12))
    for _ in range(60):
        played._play(Woken(BROKER))
    assert bytes(played.to_client) == answers.metadata(12, SEEN)
    assert asked(played, 3, 12, answers.metadata(12)) == answers.metadata(12, SEEN[:1]), "another process may have the port"
    shared.change(OPEN)
    assert asked(played, 3, 12, answers.metadata(12)) == answers.metadata(12, SEEN)


def test_a_broker_that_moved_is_reported_once_and_not_awaited() -> None:
    found: list[tuple[int, str, int]] = []
    shared = BrokerAddresses(PORTS, lambda *broker: found.append(broker), {**OPEN, 2: ("elsewhere", 1)})
    played = playing(addresses=shared)
    for _ in range(3):
        assert asked(played, 3, 12, answers.metadata(12)) == answers.metadata(12, SEEN)
    assert found == [(2, *OPEN[2])]


@pytest.mark.parametrize(
    ("key", "version", "answer", "why"),
    [
        (3, 12, answers.metadata(12, [*BROKERS, (20, "b-20.cluster.example", 1)]), "no_port"),
        (78, 1, answers.share_fetch(brokers=[(1, "short", 1)]), "no_room"),
    ],
)
def test_a_broker_without_a_port_or_without_room_for_its_address_is_counted(key: int, version: int, answer: bytes, why: str) -> None:
    played = playing()
    played.client(request(key, version, 5))
    assert Counted("addresses_left_out", why) in played.answers(answer)
    assert b"short" not in played.to_client and b"b-20" not in played.to_client


def test_an_answer_that_cannot_be_read_ends_the_connection_and_is_not_sent() -> None:
    played = playing()
    assert asked(played, 10, 6, answers.find_coordinator(6)[:-3] + b"\xff\xff\xff") == b""
    assert played.ended in ("trailing_bytes", "truncated", "bad_varint", "too_many_tags")


def test_an_answer_that_is_too_long_is_not_held() -> None:
    played = playing()
    played.client(request(10, 6, 5))
    played.answers(struct.pack(">ii", MOST_ANSWER_BYTES + 1, 0))
    assert played.ended == "long_answer" and not played.to_client


NEARLY_FULL = MOST_UNANSWERED - 1


@pytest.mark.parametrize(("steps", "carriers"), cases(__file__, "carriers.txt"))
def test_sends_carrier_only_where_no_other_answer_would_settle_the_requests(steps: str, carriers: str) -> None:
    """Produce requests may all be without acknowledgements; anything else that is awaited shows that those before it are settled."""
    played = playing()
    hellos = 0
    for step in steps.split(", "):
        what, _, times = step.rpartition(" ")
        whole, _, less = times.partition("-")
        for number in range(NEARLY_FULL - int(less or 0) if whole == "full" else int(times)):
            if what.startswith("answer"):
                own = list(played.connection.session.unanswered.pending())[0 if what == "answer" else -1]
                (asked,) = [frame for frame in played.sent if request_id(frame) == own]
                answer = ANSWERS[0](12) if asked[4:6] == b"\0\0" else struct.pack(">iihi", 10, 0, 0, 0)
                played.broker(renumbered(answer, own))
            else:
                hellos += what == "hello"
                played.client(request(0, 12, number) if what == "produce" else request(18, 0, number))
    asked_again = [frame for frame in played.sent if frame[4:6] == b"\0\x12"]
    assert len(asked_again) - hellos == int(carriers)
    assert played.ended is None


def test_settings_are_seen_in_requests_whose_answers_are_read_too() -> None:
    played = playing(fields=Shared(MOST_HELD))
    message = MetadataRequest(version=8, topics=[], allow_auto_topic_creation=False)
    frame = framed(message, 5, "orders")
    played.client(frame)
    (sent,) = played.sent
    assert sent[12:] == frame[12:]
    assert played.connection.session.shown == (RequestFields(3, 8, (("allowAutoTopicCreation", "false"),)),)


def settings(**given: Any) -> GatewaySettings:
    return GatewaySettings(**{"broker_ports": "9093-9192", "listen": "127.0.0.1:9092", **given})


def test_each_broker_id_has_a_port() -> None:
    ports = BrokerPorts.of_settings(settings(first_broker_id=1001, listen="0.0.0.0:9092", advertised_host="gateway.example"))
    assert ports == BrokerPorts("gateway.example", 9093, 100, 1001)
    assert ports.of(1001) == ("gateway.example", 9093) and ports.of(1100) == ("gateway.example", 9192)
    assert ports.of(1000) is None is ports.of(1101)
    assert BrokerPorts.of_settings(settings()).host == "127.0.0.1"


@pytest.mark.parametrize("ports", ["9093", "9093-", "9192-9093", "0-5", "1-70000", "a-b"])
def test_a_range_of_ports_has_one_form(ports: str) -> None:
    with pytest.raises(ValueError, match="9093-9192"):
        settings(broker_ports=ports)
