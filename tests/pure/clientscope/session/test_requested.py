"""session/requested and served: requested versions are kept once for all connections, up to a bound, and by what the broker serves."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol.metadata import ApiVersionsResponse
from played import framed, from_client

from clientscope.errors import WireError
from clientscope.readiness.served import known_versions
from clientscope.records.requested_versions import MOST_VERSIONS, pack, unpack
from clientscope.session import requested
from clientscope.session.handler import READ_LIMIT
from clientscope.session.requested import Served, SharedVersions
from clientscope.session.session import Session
from clientscope.session.state import Counted
from clientscope.wire import api_versions
from clientscope.wire.frames import Passed

KNOWN = sorted(known_versions())
INT16 = st.integers(-(2**15), 2**15 - 1)


def request(api_key: int, api_version: int, correlation_id: int = 1) -> bytes:
    return struct.pack(">ihhih", 10, api_key, api_version, correlation_id, -1)


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
    long = struct.pack(">ihhih", 10 + READ_LIMIT + 1_000, 18, 0, 1, -1) + bytes(READ_LIMIT + 1_000)
    assert Passed in [type(each) for each in from_client(session, long)]
    assert seen(session) == [(18, 0)] and not session.passes_from_client(request(18, 0))


def test_connections_with_the_same_versions_share_one_set() -> None:
    shared = SharedVersions()
    first, second = (Session(True, 10_240, versions=shared) for _ in range(2))
    requests(first, (3, 1), (1, 4), (0, 7))
    requests(second, (3, 1), (1, 4), (0, 7), (1, 4))
    assert first.requested is second.requested and len(first.requested) == 3


def test_shared_sets_are_bounded() -> None:
    shared = SharedVersions()
    for number in range(3 * requested._MOST_SETS):
        assert shared.plus(frozenset(), number) == {number}
        assert len(shared) <= requested._MOST_SETS


@given(st.lists(st.tuples(INT16, INT16), max_size=50))
def test_what_a_client_makes_up_is_not_kept(versions: list[tuple[int, int]]) -> None:
    session = Session(True, 10_240)
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
    served.learn(answer(ranges, 0), 0)
    session = Session(True, 10_240, served=served)
    assert requests(session, *requested) == counted * [Counted("requests_unserved", "unsupported_version")]
    assert seen(session) == [kept]


def test_of_a_connection_with_very_many_versions_the_rest_is_counted() -> None:
    session = Session(False, 10_240)
    plain = [each for each in KNOWN if each[0] not in (17, 18, 36)][: MOST_VERSIONS + 3]
    said = requests(session, *plain)
    assert said == 3 * [Counted("versions_unrecorded", "most_versions")]
    assert len(seen(session)) == MOST_VERSIONS
    assert session.passes_from_client(request(*plain[0]))


keys = st.dictionaries(st.integers(0, 2000), st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=1, max_size=30)


def answer(ranges: dict[int, tuple[int, int]], version: int) -> bytes:
    entries = [ApiVersionsResponse.ApiVersion(version=version, api_key=k, min_version=a, max_version=b) for k, (a, b) in ranges.items()]
    message = ApiVersionsResponse(version=version, error_code=0, api_keys=entries)
    return framed(message, 5)


@given(keys, st.integers(0, 4))
def test_the_ranges_are_kafka_pythons(ranges: dict[int, tuple[int, int]], version: int) -> None:
    assert api_versions.read_ranges(answer(ranges, version), version) == ranges


def test_f03_what_is_lacking_and_why() -> None:
    served = Served()
    assert served.lacks(999, 0) is None, "nothing is known yet"
    served.learn(answer({3: (1, 12), 18: (0, 4)}, 3), 3)
    assert [served.lacks(3, version) for version in (0, 1, 12, 13, -1)] == [
        "unsupported_version", None, None, "unsupported_version", "unsupported_version",
    ]  # fmt: skip
    assert served.lacks(999, 0) == "unknown_api_key"
    served.learn(answer({3: (1, 13)}, 0), 0)
    assert served.lacks(3, 13) is None, "the broker was upgraded"


@pytest.mark.parametrize("version", [0, 3])
def test_a_cut_answer_is_an_error_and_changes_nothing(version: int) -> None:
    served, whole = Served(), answer({3: (1, 12), 18: (0, 4)}, version)
    served.learn(whole, version)
    for end in range(10, len(whole) - 8):
        with pytest.raises(WireError):
            served.learn(struct.pack(">i", end - 4) + whole[4:end], version)
    assert served.lacks(3, 12) is None
