"""session/requested and served: requested versions are kept once for all connections, up to a bound, and by what the broker serves."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from frame_bytes import in_frame, request_frame
from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol.producer import ProduceRequest
from played import Played, answer_to_hello, framed, from_client

from clientscope.bounded import Shared
from clientscope.errors import WireError
from clientscope.model.requested_versions import MOST_VERSIONS, pack, unpack
from clientscope.readiness.served import known_versions
from clientscope.session.events import Tick
from clientscope.session.handler import READ_LIMIT
from clientscope.session.requested import Served
from clientscope.session.session import Session
from clientscope.session.shown import AGAIN, FIRST, MOST_HELD, MOST_SHOWN
from clientscope.session.state import Counted, RequestFields, Shown
from clientscope.wire import api_versions
from clientscope.wire.frames import Passed

KNOWN = sorted(known_versions())
INT16 = st.integers(-(2**15), 2**15 - 1)


def request(api_key: int, api_version: int) -> bytes:
    return request_frame(api_key, api_version, 1)


def requests(session: Session, *versions: tuple[int, int]) -> list[object]:
    """What the session says of requests, but for their bytes."""
    said: list[object] = []
    for version in versions:
        frame = request(*version)
        if not session.passes_from_client(frame):
            said += [each for each in from_client(session, frame) if not isinstance(each, Passed)]
    return said


def seen(session: Session) -> list[tuple[int, int]]:
    return list(unpack(pack(session.requested)))


def test_each_version_is_kept_once_and_passes_unlooked_at_from_then_on(session: Session) -> None:
    assert not session.passes_from_client(request(1, 3)), "a version is looked at the first time"
    requests(session, *[(1, 3)] * 16, (0, 2), (1, 3), (1, 12))
    assert seen(session) == [(0, 2), (1, 3), (1, 12)]
    assert session.passes_from_client(request(1, 3) + request(1, 12))
    session.forget_requested()
    assert seen(session) == [] and not session.passes_from_client(request(1, 3))


def test_requests_that_the_gateway_reads_are_kept_too_but_for_its_own(session: Session) -> None:
    requests(session, (18, 0), (60, 1), (1324, 0))
    assert seen(session) == [(18, 0), (60, 1)]
    assert not session.passes_from_client(request(18, 0)), "it is read each time"


def test_a_request_that_is_too_long_to_be_read_does_not_let_the_next_ones_pass(session: Session) -> None:
    requests(session, *[(3, 1)] * 16)  # its client has no name
    long = request_frame(18, 0, 1, bytes(READ_LIMIT + 1_000))
    assert Passed in [type(each) for each in from_client(session, long)]
    assert seen(session) == [(3, 1), (18, 0)]
    assert session.passes_from_client(request(3, 1)) and not session.passes_from_client(request(18, 0))


def test_connections_with_the_same_versions_share_one_set() -> None:
    shared = Shared[frozenset[int]](9)
    first, second = (Session(versions=shared) for _ in range(2))
    requests(first, (3, 1), (1, 4), (0, 7))
    requests(second, (3, 1), (1, 4), (0, 7), (1, 4))
    assert first.requested is second.requested and len(first.requested) == 3


@given(st.lists(st.tuples(INT16, INT16), max_size=50))
def test_what_a_client_makes_up_is_not_kept(versions: list[tuple[int, int]]) -> None:
    session = Session()
    requests(session, *versions)
    assert set(seen(session)) == set(versions) & set(KNOWN)


@pytest.mark.parametrize(
    ("ranges", "requested", "counted", "kept"),
    [({999: (4, 5)}, [(999, 4), (999, 6)], 1, (999, 4)), ({1: (4, 17)}, [(1, 3), (1, 3)], 2, (1, 3))],
    ids=["of a later broker", "that the broker refuses"],
)
def test_a_version_is_kept_by_what_the_broker_serves(
    ranges: dict[int, tuple[int, int]], requested: list[tuple[int, int]], counted: int, kept: tuple[int, int]
) -> None:
    served = Served()
    served.learn(answer_to_hello(ranges, 0), 0)
    session = Session(served=served)
    assert requests(session, *requested) == counted * [Counted("requests_unserved", "unsupported_version")]
    assert seen(session) == [kept]


def test_of_a_connection_with_very_many_versions_the_rest_is_counted() -> None:
    session = Session(False, 10_240)
    plain = [each for each in KNOWN if each[0] not in (17, 18, 36)][: MOST_VERSIONS + 3]
    said = requests(session, *plain)
    assert said == 3 * [Counted("versions_unrecorded", "most_versions")]
    assert len(seen(session)) == MOST_VERSIONS
    assert session.passes_from_client(request(*plain[0])) and not session.passes_from_client(request(*plain[-1]))


keys = st.dictionaries(st.integers(0, 2000), st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=1, max_size=30)


@given(keys, st.integers(0, 4))
def test_the_ranges_are_kafka_pythons(ranges: dict[int, tuple[int, int]], version: int) -> None:
    assert api_versions.read_ranges(answer_to_hello(ranges, version), version) == ranges


def test_f03_what_is_lacking_and_why() -> None:
    served = Served()
    assert served.lacks(999, 0) is None, "nothing is known yet"
    served.learn(answer_to_hello({3: (1, 12), 18: (0, 4)}, 3), 3)
    assert [served.lacks(3, version) for version in (0, 1, 12, 13, -1)] == [
        "unsupported_version", None, None, "unsupported_version", "unsupported_version",
    ]  # fmt: skip
    assert served.lacks(999, 0) == "unknown_api_key"
    served.learn(answer_to_hello({3: (1, 13)}, 0), 0)
    assert served.lacks(3, 13) is None, "the broker was upgraded"


@pytest.mark.parametrize("version", [0, 3])
def test_a_cut_answer_is_an_error_and_changes_nothing(version: int) -> None:
    served, whole = Served(), answer_to_hello({3: (1, 12), 18: (0, 4)}, version)
    served.learn(whole, version)
    for end in range(10, len(whole) - 8):
        with pytest.raises(WireError):
            served.learn(in_frame(whole[4:end]), version)
    assert served.lacks(3, 12) is None


def produce(acks: int = 1, size: int = 0) -> bytes:
    topic, partition = ProduceRequest.TopicProduceData, ProduceRequest.TopicProduceData.PartitionProduceData
    data = [topic(version=7, name="t", partition_data=[partition(version=7, index=0, records=b"x" * size)])] if size else []
    message = ProduceRequest(version=7, transactional_id=None, acks=acks, timeout_ms=30_000, topic_data=data)
    return framed(message, 1, "orders")


def shown(acks: int) -> Shown:
    return Shown(RequestFields(0, 7, (("acks", str(acks)), ("timeoutMs", "30000"))))


def connection(shared: Shared[RequestFields] | None = None, authenticated: bool = True) -> Played:
    return Played(Session(False, 0, sasl=not authenticated, fields=shared or Shared(MOST_HELD)))


def fed(made: Played, *pieces: bytes) -> tuple[list[Any], bytes]:
    """What was reported, and what the broker got."""
    before = len(made.to_broker)
    commands = [command for piece in pieces for command in made.client(piece)]
    return [command for command in commands if isinstance(command, Shown | Counted)], bytes(made.to_broker[before:])


def test_the_same_is_reported_once() -> None:
    made = connection()
    frames = [produce(), produce(), produce(0), produce()]
    assert fed(made, *frames) == ([shown(1), shown(0)], b"".join(frames))


def test_after_the_first_requests_the_others_pass_unread_until_the_next_interval() -> None:
    made = connection()
    fed(made, *[produce()] * FIRST)
    fed(made, produce(0))  # it isn't looked into, and neither is what comes after it
    assert made.connection.passes_from_client(produce(0))
    list(made.connection.handle(Tick(61.0, 1e9, 1e9)))
    assert fed(made, *[produce(0)] * AGAIN) == ([shown(0)], produce(0) * AGAIN)
    fed(made, produce())
    assert made.connection.passes_from_client(produce(1))


def test_a_client_that_says_something_else_each_time_is_reported_up_to_a_bound() -> None:
    made = connection()
    reported = []
    for number in range(60):
        list(made.connection.handle(Tick(61.0 * number, 1e9, 1e9)))
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
    assert made.connection.held_bytes == 0
    assert fed(made, frame[5_000:]) == ([], frame[5_000:])


def test_what_cannot_be_read_is_counted_and_passes() -> None:
    frame = bytearray(produce())
    frame[12:14] = b"\x7f\xff"
    assert fed(connection(), bytes(frame)) == ([Counted("settings_unread", "truncated")], bytes(frame))


def test_a_client_that_has_not_authenticated_shows_nothing() -> None:
    assert fed(connection(authenticated=False), produce())[0] == []


def test_connections_that_show_the_same_share_it() -> None:
    shared = Shared[RequestFields](9)
    first, second = connection(shared), connection(shared)
    for made in (first, second):
        fed(made, produce())
    assert first.connection.session.shown[0] is second.connection.session.shown[0]
