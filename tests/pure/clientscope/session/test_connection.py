"""session/connection: transcripts of whole connections, one for each way in which one has hung, lost bytes or kept memory."""

from __future__ import annotations

import gc
import struct
import sys

import pytest
from frame_bytes import answer, in_frame, renumbered, request_frame
from played import request_id

from clientscope.policy.interface import ClientConfig
from clientscope.session.connection import ClientConnection
from clientscope.session.events import (
    BROKER,
    CLIENT,
    Bypassed,
    Connected,
    Continue,
    Disconnected,
    Draining,
    End,
    Ended,
    Eof,
    Free,
    Full,
    HalfClose,
    Pause,
    PushAnswered,
    Received,
    Resume,
    Send,
    Side,
    Stop,
    Tick,
    Wake,
    Woken,
)  # fmt: skip
from clientscope.session.opaque import OpaqueSession
from clientscope.session.playbook import Playbook, play
from clientscope.session.session import Session
from clientscope.session.state import Counted, Identified, Identity, PushAnswer, Pushed, Requested
from clientscope.session.unanswered import FIRST_ID
from clientscope.wire.frames import FRAMES_PER_TURN

LIMITS = (30.0, 600.0)


def request(correlation_id: int, size: int = 0, key: int = 3) -> bytes:
    """A request that passes; without a client id, so that nothing is said of who sent it."""
    return request_frame(key, 1, correlation_id, bytes(size))


def push(correlation_id: int) -> bytes:
    return request_frame(1324, 0, correlation_id, b"\0", b"\2\5acks\4all\1\0\0", b"\0")


def keys(correlation_id: int) -> bytes:
    """The broker's answer to a carrier: ApiVersions v0, of no key."""
    return in_frame(struct.pack(">ihi", correlation_id, 0, 0))


def upstream(asked: bytes) -> bytes:
    """A request that is read, under the gateway's first id."""
    return asked[:8] + struct.pack(">i", FIRST_ID) + asked[12:]


def as_client_sees(answered: bytes) -> bytes:
    """The answer to it, under the client's own id, 1."""
    return renumbered(answered, 1)


HANDSHAKE = request_frame(17, 1, 1, b"\0\5PLAIN")
ACCEPTED = in_frame(struct.pack(">ihi", FIRST_ID, 0, 0))
CARRIER = request_frame(18, 0, FIRST_ID)
METADATA_1 = b"\0\3\0\1"
PUSHED = ClientConfig("acks", "all", 1, False)


def pushed(received_ms: int) -> Pushed:
    return Pushed(1, (PUSHED,), 7, received_ms)


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """When a push was read is in the command."""
    monkeypatch.setattr("clientscope.session.handlers.k1324_push_config.now_ms", lambda: 5)


@pytest.fixture(params=[False, True], ids=["passing", "looked-at"])
def look(request: pytest.FixtureRequest) -> bool:
    """Whether bytes that pass are made events of all the same: the transcript is the same."""
    return bool(request.param)


def connecting(look: bool = False, session: Session | OpaqueSession | None = None, half_closes: bool = True) -> Playbook:
    """A connection whose broker is not there yet."""
    playbook = Playbook(ClientConnection(session or Session()), look)
    return playbook >> Connected(CLIENT, half_closes) << Pause(CLIENT)


def connected(look: bool = False, session: Session | OpaqueSession | None = None, half_closes: bool = True) -> Playbook:
    return connecting(look, session, half_closes) >> Connected(BROKER) << Resume(CLIENT)


def passes(playbook: Playbook, side: Side, data: bytes) -> Playbook:
    """What comes from one side goes to the other."""
    return playbook >> Received(side, data) << Send(BROKER if side is CLIENT else CLIENT, data)


# Before the broker is there.


@pytest.mark.parametrize("is_read", [True, False])
def test_what_comes_before_the_broker_is_held_and_goes_first(look: bool, is_read: bool) -> None:
    """uvloop delivers what it has read although reading was paused: later bytes must not overtake it."""
    first, second, third = request(1), request(2, 5_000), request(3)
    playbook = (
        connecting(look, None if is_read else OpaqueSession()) >> Received(CLIENT, first + second[:20]) >> Received(CLIENT, second[20:])
    )
    assert playbook.connection.held_bytes == len(first + second)
    playbook = playbook >> Connected(BROKER) << Send(BROKER, first + second) << Resume(CLIENT)
    assert passes(playbook, CLIENT, third)
    assert playbook.connection.held_bytes == 0


def test_a_client_that_must_wait_for_an_answer_is_not_read_because_the_broker_is_there(look: bool) -> None:
    playbook = connecting(look, Session(sasl=True)) >> Received(CLIENT, HANDSHAKE + request(2)) >> Connected(BROKER)
    playbook = playbook << Send(BROKER, upstream(HANDSHAKE)) >> Received(BROKER, ACCEPTED)
    assert playbook << Send(CLIENT, as_client_sees(ACCEPTED)) << Send(BROKER, request(2)) << Resume(CLIENT)


def test_a_client_that_has_ended_before_the_broker_is_there_gets_its_answer(look: bool) -> None:
    playbook = connecting(look) >> Received(CLIENT, request(1)) >> Eof(CLIENT)
    playbook = playbook >> Connected(BROKER) << Send(BROKER, request(1)) << HalfClose(BROKER) << Resume(CLIENT)
    playbook = passes(playbook, BROKER, answer(1))
    assert playbook >> Eof(BROKER) << HalfClose(CLIENT) << End("client_closed")


def test_a_broker_that_is_there_after_the_end_changes_nothing() -> None:
    assert connecting() >> Disconnected(CLIENT, reset=True) << End("client_reset", reset=True) >> Connected(BROKER) >> Eof(CLIENT)


# Ends.


def test_the_end_of_one_direction_leaves_the_other_open_where_there_is_half_close(look: bool) -> None:
    """TLS has none."""
    assert connected(half_closes=False) >> Eof(BROKER) << HalfClose(CLIENT) << End("broker_closed")
    for side, peer, data in ((CLIENT, BROKER, answer(9)), (BROKER, CLIENT, request(9))):
        playbook = connected(look) >> Eof(side) << HalfClose(peer) >> Received(peer, data) << Send(side, data)
        assert playbook >> Eof(peer) << HalfClose(side) << End(f"{side.value}_closed")


def test_nothing_comes_after_the_end() -> None:
    playbook = connected() >> Disconnected(BROKER) << End("broker_closed")
    playbook = playbook >> Received(CLIENT, request(1)) >> Received(BROKER, answer(1)) >> Full(CLIENT) >> Woken(CLIENT) >> Stop()
    assert playbook >> Disconnected(CLIENT) >> Ended("idle") >> Tick(1e9, *LIMITS) >> PushAnswered(1, PushAnswer(0)) >> Bypassed()


@pytest.mark.parametrize(
    "bad",
    [
        b"GET / HTTP/1.1",
        b"\x16\x03\x01\x02",
        struct.pack(">ihhi", -1, 3, 1, 7),
        struct.pack(">ihhi", 0, 3, 1, 7),
        struct.pack(">ihhi", 7, 3, 1, 7),
        struct.pack(">ihhi", 2**31 - 1, 3, 1, 7),
    ],
)
def test_bytes_that_are_no_kafka_end_both_sides(bad: bytes, look: bool) -> None:
    """From the start, and behind requests that pass."""
    assert connected(look) >> Received(CLIENT, bad) << Counted("frames_refused", "bad_length") << End("bad_length")
    playbook = passes(connected(look), CLIENT, request(1)) >> Received(CLIENT, request(2) + bad)
    # What is in front of it may be gone with the rest.
    assert playbook << Counted("frames_refused", "bad_length") << End("bad_length")


def test_an_eviction_drops_what_is_unsent() -> None:
    assert connected() >> Ended("slow_reader_reset") << End("slow_reader_reset", reset=True)


def test_what_was_held_is_gone_with_the_end() -> None:
    """A suspended iterator keeps what was read until Python looks for cycles."""
    gc.disable()
    try:
        connection = ClientConnection(Session(sasl=True))
        data = HANDSHAKE + request(2, 10_000)
        before = sys.getrefcount(data)
        for event in (Connected(CLIENT), Connected(BROKER)):
            play(connection, event)
        play(connection, Received(CLIENT, data))
        assert connection.held_bytes > 10_000 and sys.getrefcount(data) > before
        play(connection, Ended("idle"))
        assert connection.held_bytes == 0 and sys.getrefcount(data) == before
    finally:
        gc.enable()


# Pushes.


def judged(look: bool) -> Playbook:
    """A connection whose push the policy has."""
    playbook = connected(look) >> Received(CLIENT, push(7)) << Send(BROKER, CARRIER)
    return playbook >> Received(BROKER, keys(FIRST_ID)) << pushed(5) << Pause(BROKER)


def answer_sent(playbook: Playbook) -> Playbook:
    playbook = playbook >> PushAnswered(1, PushAnswer(0)) << Counted("pushes_answered", "none")
    return playbook << Send(CLIENT, in_frame(struct.pack(">i", 7), b"\0", bytes(4), b"\0\0", b"\0", b"\0") + answer(8) + answer(9))


def test_answers_and_the_brokers_end_wait_for_a_pushs_answer_in_order(look: bool) -> None:
    playbook = judged(look) >> Received(BROKER, answer(8)) >> Received(BROKER, answer(9)) >> Eof(BROKER)
    assert answer_sent(playbook) << Resume(BROKER) << HalfClose(CLIENT)


def test_an_answer_to_another_push_and_a_second_one_change_nothing() -> None:
    playbook = judged(look=False) >> PushAnswered(2, PushAnswer(0)) >> Received(BROKER, answer(8) + answer(9))
    assert answer_sent(playbook) << Resume(BROKER) >> PushAnswered(1, PushAnswer(42))


def test_a_push_that_ends_with_its_connection_is_counted() -> None:
    assert judged(look=False) >> Ended("idle") << Counted("pushes_refused", "connection_lost") << End("idle")
    playbook = connected() >> Received(CLIENT, push(7)) << Send(BROKER, CARRIER)
    assert playbook >> Disconnected(CLIENT) << Counted("pushes_refused", "connection_lost") << End("client_closed")


# What the session holds.


def test_many_small_requests_at_once_leave_others_their_turn(look: bool) -> None:
    many = request(1) * FRAMES_PER_TURN
    playbook = passes(connected(look), CLIENT, request(0)) >> Received(CLIENT, many + request(2))
    playbook = playbook << Send(BROKER, many) << Pause(CLIENT) << Wake(CLIENT, FRAMES_PER_TURN / 16_000)
    playbook = passes(playbook, BROKER, answer(1))
    assert playbook >> Woken(CLIENT) << Send(BROKER, request(2)) << Resume(CLIENT)


# Back-pressure.


def test_one_side_is_not_read_while_anything_for_the_other_is_unsent(look: bool) -> None:
    playbook = passes(connected(look) >> Full(CLIENT) << Pause(BROKER), BROKER, answer(1))
    assert playbook >> Free(CLIENT) << Resume(BROKER)


def test_a_side_is_read_again_when_the_last_reason_is_gone() -> None:
    playbook = connected() >> Full(BROKER) << Pause(CLIENT) >> Stop() << Pause(BROKER) >> Free(BROKER)
    assert playbook >> Continue() << Resume(CLIENT) << Resume(BROKER) >> Continue()


def test_no_byte_passes_without_an_event_while_a_side_is_full_or_draining() -> None:
    """What is unsent is counted after each event."""
    for playbook in (connected() >> Full(BROKER) << Pause(CLIENT), connected() >> Draining(0.0) << Pause(CLIENT)):
        assert playbook
        assert not playbook.connection.passes_from_client(request(1)) and not playbook.connection.passes_from_broker(answer(1))


def test_a_pause_before_the_broker_is_there_counts_once_it_is() -> None:
    playbook = connecting() >> Stop() << Pause(BROKER) >> Connected(BROKER) << Pause(BROKER)
    assert playbook >> Continue() << Resume(CLIENT) << Resume(BROKER)


# Time.


@pytest.mark.parametrize("sasl", [False, True])
def test_a_client_that_the_broker_has_not_accepted_in_time(sasl: bool) -> None:
    """Since it came, whatever it sends meanwhile; without SASL its first answer accepts it."""
    playbook = Playbook(ClientConnection(Session(sasl=sasl)), False) >> Connected(CLIENT, now_s=1_000.0) << Pause(CLIENT)
    playbook = playbook >> Connected(BROKER) << Resume(CLIENT)
    playbook = playbook >> Received(CLIENT, request(1)[:6]) >> Tick(1_030.0, *LIMITS)
    assert playbook.connection.held_bytes == 6
    assert playbook >> Tick(1_030.1, *LIMITS) << End("unauthenticated_timeout")


def test_bytes_that_pass_unlooked_at_keep_a_connection_alive(look: bool) -> None:
    playbook = passes(connected(look), CLIENT, request(1))
    playbook = passes(playbook, BROKER, answer(1)) >> Tick(500.0, *LIMITS) << Requested(METADATA_1)
    playbook = passes(playbook, CLIENT, request(2)) >> Tick(1_000.0, *LIMITS) >> Tick(1_600.0, *LIMITS)
    playbook = passes(playbook, BROKER, answer(2)) >> Tick(2_000.0, *LIMITS) >> Tick(2_600.0, *LIMITS)
    assert playbook >> Tick(2_600.1, *LIMITS) << End("idle")


def test_a_draining_connection_ends_once_its_broker_is_quiet(look: bool) -> None:
    """Whole requests only, and no further one; an answer that comes meanwhile still goes out."""
    whole = request(1, 100)
    playbook = passes(connected(look), CLIENT, whole[:50]) >> Draining(0.0)
    playbook = passes(playbook, CLIENT, whole[50:80])
    playbook = passes(playbook, CLIENT, whole[80:]) << Pause(CLIENT) >> Draining(0.5)
    playbook = passes(playbook, BROKER, answer(1)) >> Draining(2.0) >> Draining(3.0)
    assert playbook >> Draining(3.1) << End("drained")


def test_a_draining_connection_waits_for_its_push() -> None:
    playbook = judged(look=False) >> Draining(0.0) << Pause(CLIENT) >> Draining(1.0) >> Draining(60.0)
    assert (
        answer_sent(playbook >> Received(BROKER, answer(8) + answer(9)))
        << Resume(BROKER)
        >> Draining(61.0)
        >> Draining(62.1)
        << End("drained")
    )


def test_a_client_that_is_held_when_draining_begins_is_not_read_afterwards() -> None:
    many = request(1) * (FRAMES_PER_TURN + 1)
    playbook = connected() >> Received(CLIENT, many) << Send(BROKER, many[: -len(request(1))]) << Pause(CLIENT)
    playbook = playbook << Wake(CLIENT, FRAMES_PER_TURN / 16_000) >> Draining(0.0)
    assert playbook >> Woken(CLIENT) << Send(BROKER, request(1)) << Resume(CLIENT) >> Draining(0.1) << Pause(CLIENT)


def test_who_a_client_is_comes_now_and_then_if_it_changes_all_the_time() -> None:
    playbook = connected()
    for number in range(10):
        name = request_frame(18, 3, number, b"\0", b"\2" + b"%d" % number, b"\0021", b"\0")
        upstream = FIRST_ID + number
        own = in_frame(struct.pack(">ih", number, 0), b"\1", bytes(5))
        sent = play(playbook.connection, Received(CLIENT, name))
        assert [request_id(bytes(command.data)) for command in sent if isinstance(command, Send)] == [upstream]
        playbook = playbook >> Received(BROKER, in_frame(struct.pack(">ih", upstream, 0), b"\1", bytes(5)))
        identity = Identity(None, str(number), "1")
        playbook = playbook << (Identified(identity) if number < 8 else Counted("identity_changes_held", "rate"))
        playbook = playbook << Send(CLIENT, in_frame(own[4:10], b"\2", struct.pack(">hhh", 1324, 0, 0) + b"\0", bytes(5)))
    playbook = playbook >> Tick(10.0, *LIMITS) << Requested(b"\0\x12\0\3")
    assert playbook >> Tick(11.0, *LIMITS) << Identified(Identity(None, "9", "1")) >> Tick(12.0, *LIMITS)


def test_versions_are_reported_some_seconds_after_they_were_first_requested_and_not_again(look: bool) -> None:
    fetch = request(3, key=1)
    playbook = passes(connected(look), CLIENT, request(1))
    playbook = passes(playbook, BROKER, answer(1)) >> Tick(4.9, *LIMITS)
    playbook = playbook >> Tick(5.0, *LIMITS) << Requested(METADATA_1) >> Tick(60.0, *LIMITS)
    playbook = passes(playbook, CLIENT, request(2) + fetch)
    playbook = playbook >> Tick(61.0, *LIMITS) << Requested(b"\0\1\0\1" + METADATA_1)
    assert playbook.connection.unreported is None
    playbook = passes(playbook, CLIENT, request(4, key=2)) >> Tick(62.0, *LIMITS)
    assert playbook >> Ended("gateway_stopping") << End("gateway_stopping")
    assert playbook.connection.unreported == b"\0\1\0\1" + b"\0\2\0\1" + METADATA_1, "a connection's end reports the rest"


def test_after_hours_only_versions_count_that_are_still_requested(look: bool) -> None:
    playbook = passes(connected(look), CLIENT, request(1) + request(2, key=1))
    playbook = passes(playbook, BROKER, answer(1))
    playbook = playbook >> Tick(5.0, *LIMITS) << Requested(b"\0\1\0\1" + METADATA_1)
    period_s, limits = 5.5 * 3600 + 1, (30.0, 1e9)
    playbook = passes(playbook >> Tick(period_s, *limits), CLIENT, request(3))
    playbook = playbook >> Tick(period_s + 59, *limits) >> Tick(period_s + 60, *limits) << Requested(METADATA_1)
    playbook = playbook >> Tick(2 * period_s, *limits)
    assert playbook >> Tick(2 * period_s + 60, *limits) << Requested(b"")
    assert playbook.connection.unreported is None, "an idle connection says once that nothing was requested"


def test_versions_are_not_reported_before_it_is_known_whose_they_are() -> None:
    playbook = connected(session=Session(sasl=True)) >> Received(CLIENT, HANDSHAKE) << Send(BROKER, upstream(HANDSHAKE))
    playbook = playbook << Pause(CLIENT) >> Tick(20.0, *LIMITS) >> Tick(29.0, *LIMITS)
    assert playbook.connection.unreported == b"\0\x11\0\1", "its end reports them"


def test_a_connection_that_is_bypassed_keeps_what_it_has_requested() -> None:
    playbook = passes(connected(), CLIENT, request(1)) >> Bypassed()
    playbook = passes(playbook, CLIENT, request(2, key=1))
    assert playbook >> Tick(5.0, *LIMITS) << Requested(METADATA_1)


# Bypass.


def test_bypass_waits_until_nobody_notices() -> None:
    playbook = connected() >> Received(CLIENT, push(7)) << Send(BROKER, CARRIER) >> Bypassed()
    playbook = playbook >> Received(BROKER, keys(FIRST_ID)) << pushed(5) << Pause(BROKER) >> Bypassed()
    assert answer_sent(playbook >> Received(BROKER, answer(8) + answer(9))) << Resume(BROKER)
    assert isinstance(playbook.connection.session, Session)
    playbook = passes(playbook >> Bypassed(), CLIENT, push(8))
    assert playbook and isinstance(playbook.connection.session, OpaqueSession)


# Bytes that pass without an event.


def test_a_passing_chunk_costs_no_event() -> None:
    """The traffic of a connection: a small request, the middle of a large one, and several at once."""
    named = in_frame(struct.pack(">hhih", 3, 1, 0, 1), b"a")
    playbook = connected() >> Received(CLIENT, named) << Identified(Identity("a")) << Send(BROKER, named)
    connection = playbook.connection
    large = request(1, 100_000)
    for chunk in (request(2), request(3) + request(4), large[:20], large[20:60_000], large[60_000:], request(5)):
        assert connection.passes_from_client(chunk)
    for chunk in (answer(2), answer(3) + answer(4)[:9], answer(4)[9:]):
        assert connection.passes_from_broker(chunk)
    assert not connection.passes_from_client(push(7)) and not connection.passes_from_client(request(6)[:9])


# The playbook itself.


def test_a_playbook_shows_what_came_instead() -> None:
    with pytest.raises(AssertionError, match=r"(?s)>> Eof.*<< HalfClose.*expected Pause.*, but nothing more came"):
        assert connected() >> Eof(CLIENT) << HalfClose(BROKER) << Pause(CLIENT)
    with pytest.raises(AssertionError, match=r"expected Pause.*, but HalfClose.* came"):
        assert connected() >> Eof(CLIENT) << Pause(CLIENT)
    with pytest.raises(AssertionError, match=r"nothing more was expected, but HalfClose.* came"):
        assert connected() >> Eof(CLIENT)
    with pytest.raises(AssertionError, match=r"nothing more was expected"):
        assert connected() >> Eof(CLIENT) >> Eof(BROKER)
