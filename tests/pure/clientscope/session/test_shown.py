"""session/shown: what a connection's requests show, once each; bytes pass as if nothing looked, however they are cut."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol.consumer import FetchRequest, HeartbeatRequest, JoinGroupRequest, ListOffsetsRequest
from kafka.protocol.metadata import MetadataRequest
from kafka.protocol.producer import ProduceRequest

from clientscope.session.connection import ClientConnection
from clientscope.session.events import BROKER, CLIENT, Connected, Received, Send, Tick
from clientscope.session.playbook import play
from clientscope.session.produced import AGAIN, FIRST
from clientscope.session.session import Session
from clientscope.session.shown import INTERVALS, MOST_SHOWN, SharedFields
from clientscope.session.state import Counted, RequestFields, Shown
from clientscope.wire.frames import MOST_PEEKED


def produce(acks: int = 1, size: int = 0) -> bytes:
    topic, partition = ProduceRequest.TopicProduceData, ProduceRequest.TopicProduceData.PartitionProduceData
    data = [topic(version=7, name="t", partition_data=[partition(version=7, index=0, records=b"x" * size)])] if size else []
    message = ProduceRequest(version=7, transactional_id=None, acks=acks, timeout_ms=30_000, topic_data=data)
    message.with_header(correlation_id=1, client_id="orders")
    return bytes(message.encode(header=True, framed=True))


def shown(acks: int) -> Shown:
    return Shown(RequestFields(0, 7, (("acks", str(acks)), ("timeoutMs", "30000"))))


def connection(shared: SharedFields | None = None, authenticated: bool = True) -> ClientConnection:
    made = ClientConnection(Session(False, 0, sasl=not authenticated, fields=shared or SharedFields()))
    for side in (CLIENT, BROKER):
        play(made, Connected(side))
    return made


def fed(made: ClientConnection, *pieces: bytes) -> tuple[list[Any], bytes]:
    """What was reported, and what the broker got."""
    commands = [command for piece in pieces for command in play(made, Received(CLIENT, piece))]
    sent = b"".join(bytes(command.data) for command in commands if isinstance(command, Send))
    return [command for command in commands if isinstance(command, Shown | Counted)], sent


def test_the_same_is_reported_once() -> None:
    made = connection()
    frames = [produce(), produce(), produce(0), produce()]
    assert fed(made, *frames) == ([shown(1), shown(0)], b"".join(frames))


def test_after_the_first_requests_the_others_pass_unread_until_the_next_interval() -> None:
    made = connection()
    fed(made, *[produce()] * FIRST)
    fed(made, produce(0))  # it isn't looked into, and neither is what comes after it
    assert made.passes_from_client(produce(0))
    list(made.handle(Tick(61.0, 1e9, 1e9)))
    assert fed(made, *[produce(0)] * AGAIN) == ([shown(0)], produce(0) * AGAIN)
    fed(made, produce())
    assert made.passes_from_client(produce(1))


def test_a_client_that_says_something_else_each_time_is_reported_up_to_a_bound() -> None:
    made = connection()
    reported = []
    for number in range(60):
        list(made.handle(Tick(61.0 * number, 1e9, 1e9)))
        reported += fed(made, produce(number))[0]
    assert [each for each in reported if isinstance(each, Shown)] == [shown(number) for number in range(MOST_SHOWN)]
    assert Counted("settings_unread", "most_requests") in reported


@given(st.lists(st.integers(0, 200), max_size=6))
def test_bytes_pass_unchanged_however_they_are_cut(cuts: list[int]) -> None:
    frames = produce() + produce(0, 500) + produce(-1)
    places = [0, *sorted(cuts), len(frames)]
    reported, sent = fed(connection(), *[frames[start:end] for start, end in pairwise(places) if start < end])
    assert sent == frames
    assert not [each for each in reported if isinstance(each, Counted)]


def test_of_a_large_request_the_beginning_is_enough_and_nothing_is_held() -> None:
    made, frame = connection(), produce(1, 1_000_000)
    reported, sent = fed(made, frame[:5_000])
    assert (reported, sent) == ([shown(1)], frame[:5_000])
    assert made.held_bytes == 0
    assert fed(made, frame[5_000:]) == ([], frame[5_000:])


def test_what_cannot_be_read_is_counted_and_passes() -> None:
    frame = bytearray(produce())
    frame[12:14] = b"\x7f\xff"
    assert fed(connection(), bytes(frame)) == ([Counted("settings_unread", "truncated")], bytes(frame))


def test_a_client_that_has_not_authenticated_shows_nothing() -> None:
    assert fed(connection(authenticated=False), produce())[0] == []


def test_connections_that_show_the_same_share_it() -> None:
    shared = SharedFields()
    first, second = connection(shared), connection(shared)
    for made in (first, second):
        fed(made, produce())
    assert first.session.shown[0] is second.session.shown[0]


def heartbeats(intervals: list[float]) -> list[dict[str, str]]:
    """What a connection with these heartbeats shows."""
    return paced(HeartbeatRequest(version=3, group_id="g", generation_id=1, member_id="m", group_instance_id=None), intervals)


def refreshes(intervals: list[float]) -> list[dict[str, str]]:
    """The same with requests for metadata."""
    return paced(MetadataRequest(version=4, topics=None, allow_auto_topic_creation=True), intervals)


def paced(message: Any, intervals: list[float]) -> list[dict[str, str]]:
    """The same with any request, again and again; time passes for the connection once a minute."""
    now_s = [100.0]
    made = ClientConnection(Session(False, 0, fields=SharedFields(), clock=lambda: now_s[0]))
    for side in (CLIENT, BROKER):
        play(made, Connected(side))
    message.with_header(correlation_id=1, client_id="orders")
    frame = bytes(message.encode(header=True, framed=True))
    reported = fed(made, frame)[0]
    looked_s = now_s[0]
    for interval in intervals:
        now_s[0] += interval
        if now_s[0] - looked_s >= 60:
            looked_s = now_s[0]
            list(made.handle(Tick(now_s[0], 1e9, 1e9)))
        reported += fed(made, frame)[0]
    return [dict(each.request.fields) for each in reported if isinstance(each, Shown)]


def test_the_intervals_of_the_first_heartbeats_are_measured_once() -> None:
    first, measured = heartbeats([3.001, 2.998, 3.0, 3.004, 3.0, 3.002, 6.1, 3.0, 3.0, 1.0])
    assert first == {"groupId": "g"}
    assert measured == {
        "groupId": "g", "medianMs": "3000", "leastMs": "2998", "mostMs": "6100", "regular": "7", "intervals": "8",
    }  # fmt: skip
    assert len(heartbeats([3.0] * (INTERVALS - 1))) == 1, "fewer show nothing"


AGE = {"medianMs": "5000", "leastMs": "4990", "mostMs": "5010"}


def ages(intervals: list[float]) -> list[dict[str, str]]:
    first, *others = refreshes(intervals)
    assert first == {"allowAutoTopicCreation": "true"}
    return [{name: value for name, value in each.items() if name in AGE} for each in others]


def test_metadata_that_is_asked_for_at_intervals_is_measured_once_whatever_came_before() -> None:
    regular = [5.0, 4.99, 5.01, 5.0, 5.0, 5.0, 5.0, 5.0]
    assert ages(regular) == [AGE]
    assert ages([*regular, *[5.02] * 7]) == [AGE]
    assert ages([0.1, 0.1, 0.2, 0.1, *regular, 5.0, 5.0]) == [AGE], "a topic that was waited for"
    assert ages(regular[:7]) == []
    (found,) = ages([2.0, 5.0, 3.1, *regular])
    assert found == {"medianMs": "5000", "leastMs": "2000", "mostMs": "5010"}, "new topics in between, which begin the age anew"


@pytest.mark.parametrize(
    "intervals",
    [
        [5.0, 10.0, 5.0, 15.0, 5.0, 10.0, 10.0, 5.0, 20.0, 5.0, 10.0, 5.0][1:],  # other brokers are asked, too: one interval too few
        [10.0, 10.0, 15.0, 10.0, 5.0, 10.0, 10.0, 10.0, 10.0, 7.5, 10.0, 10.0],  # most are twice the age
        [0.1] * 30,  # a topic that never comes
        [0.9, 1.2, 0.8, 1.1, 1.0, 1.19, 0.85, 0.95, 1.2, 1.05, 0.8, 1.0],  # the same, with the longest backoff and its jitter
    ],
)
def test_irregular_or_hasty_requests_for_metadata_show_no_age(intervals: list[float]) -> None:
    assert ages(intervals) == []


def test_the_age_is_what_intervals_are_multiples_of_where_other_brokers_are_asked_too() -> None:
    assert ages([5.0, 10.0, 5.0, 15.0, 5.0, 10.0, 10.0, 5.0, 20.0, 5.0, 10.0, 5.0, 5.0]) == [
        {"medianMs": "5000", "leastMs": "5000", "mostMs": "5000"}
    ]


def test_an_age_is_not_measured_once_requests_pass_unread() -> None:
    """After the first ones a connection is looked into once a minute: every sixth of these would make a minute."""
    assert ages([2.0, 10.0, 3.0, 20.0, 2.0, 7.0, 11.0, 2.0, 10.0, 3.0, 20.0, 2.0, 7.0, 11.0, 2.0, *[10.0] * 120]) == []


def asked(timestamp: int) -> bytes:
    topic, partition = ListOffsetsRequest.ListOffsetsTopic, ListOffsetsRequest.ListOffsetsTopic.ListOffsetsPartition
    topics = [topic(version=5, name="t", partitions=[partition(version=5, partition_index=0, timestamp=timestamp)])]
    message = ListOffsetsRequest(version=5, replica_id=-1, isolation_level=0, topics=topics)
    message.with_header(correlation_id=1, client_id="billing")
    return bytes(message.encode(header=True, framed=True))


def test_offsets_are_those_that_are_asked_for_before_the_first_fetch() -> None:
    made = connection()
    fetch = FetchRequest(version=4, max_wait_ms=500, min_bytes=1, max_bytes=9, isolation_level=0, topics=[])
    fetch.with_header(correlation_id=1, client_id="billing")
    before, _ = fed(made, asked(-2), bytes(fetch.encode(header=True, framed=True)), asked(-1))[0]
    assert dict(before.request.fields) == {"replicaId": "-1", "timestamp": "-2", "beforeFetch": "true"}
    list(made.handle(Tick(61.0, 1e9, 1e9)))
    assert fed(made, asked(-1))[0] == []


@pytest.mark.parametrize("protocols", [1, 20])
def test_a_request_beyond_the_bound_shows_what_stands_within_it(protocols: int) -> None:
    protocol = JoinGroupRequest.JoinGroupRequestProtocol
    message = JoinGroupRequest(
        version=5, group_id="g", session_timeout_ms=1, rebalance_timeout_ms=2, member_id="", group_instance_id=None,
        protocol_type="consumer",
        protocols=[protocol(version=5, name="range", metadata=bytes(MOST_PEEKED // 10)) for _ in range(protocols)],
    )  # fmt: skip
    message.with_header(correlation_id=1, client_id="orders")
    ((one,), _) = fed(connection(), bytes(message.encode(header=True, framed=True)))
    assert ("protocols" in dict(one.request.fields)) == (protocols == 1)
    assert dict(one.request.fields)["sessionTimeoutMs"] == "1"
