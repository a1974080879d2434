"""session/served: API versions that the broker serves, by its own answers."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol.metadata import ApiVersionsResponse
from played import framed

from clientscope.errors import WireError
from clientscope.session.served import Served
from clientscope.wire import api_versions

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
