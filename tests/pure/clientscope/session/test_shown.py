"""session/shown: what a connection's requests show, once each; bytes pass as if nothing looked, however they are cut."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol.producer import ProduceRequest
from played import framed

from clientscope.session.connection import ClientConnection
from clientscope.session.events import BROKER, CLIENT, Connected, Received, Send, Tick
from clientscope.session.playbook import play
from clientscope.session.session import Session
from clientscope.session.shown import AGAIN, FIRST, MOST_SHOWN, SharedFields
from clientscope.session.state import Counted, RequestFields, Shown


def produce(acks: int = 1, size: int = 0) -> bytes:
    topic, partition = ProduceRequest.TopicProduceData, ProduceRequest.TopicProduceData.PartitionProduceData
    data = [topic(version=7, name="t", partition_data=[partition(version=7, index=0, records=b"x" * size)])] if size else []
    message = ProduceRequest(version=7, transactional_id=None, acks=acks, timeout_ms=30_000, topic_data=data)
    return framed(message, 1, "orders")


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
