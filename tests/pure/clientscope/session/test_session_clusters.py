"""session/clusters: a connection's first Metadata answer says of which cluster the broker is, and passes as it came."""

from __future__ import annotations

import struct

import address_answers as answers
import pytest
from frame_bytes import request_frame
from played import Played, request_id

from clientscope.session.session import Session
from clientscope.session.state import OtherCluster


def playing(cluster_id: str) -> Played:
    return Played(Session(False, 10_240, cluster_id=cluster_id))


def asked(played: Played, version: int, correlation_id: int = 5) -> None:
    played.client(request_frame(3, version, correlation_id, bytes(20)))


def answered(played: Played, frame: bytes, size: int = 1 << 20) -> list[str]:
    """The other clusters that are found in the answer to the last request."""
    return [found.cluster_id for found in played.answers(frame, size) if isinstance(found, OtherCluster)]


@pytest.mark.parametrize("version", range(14))
@pytest.mark.parametrize("size", [1, 7, 1 << 20])
def test_finds_another_cluster_in_every_version_with_an_id_and_every_cut(version: int, size: int) -> None:
    for ours, found in (("ours", ["cluster"] if version >= 2 else []), ("cluster", [])):
        played = playing(ours)
        asked(played, version)
        assert answered(played, answers.metadata(version), size) == found
        assert bytes(played.to_client) == answers.metadata(version), "it passes unchanged"


def test_looks_at_the_first_answer_alone_and_only_if_asked() -> None:
    played, unasked = playing("cluster"), playing("")
    asked(played, 12)
    answered(played, answers.metadata(12))
    for each in (played, unasked):
        asked(each, 12, correlation_id=6)
        assert request_id(each.sent[-1]) == 6, "under the client's own id, so nobody looks at the answer"


@pytest.mark.parametrize(
    "answer", [struct.pack(">ii", 40, 5) + bytes(36), struct.pack(">ii", 9, 5) + bytes(5), struct.pack(">ii", 40, 5) + b"\xff" * 36]
)
def test_an_answer_that_cannot_be_read_passes(answer: bytes) -> None:
    played = playing("ours")
    asked(played, 12)
    assert answered(played, answer) == []
    assert (bytes(played.to_client), played.ended) == (answer, None)


def test_keeps_little_of_an_answer_whose_brokers_never_end() -> None:
    played = playing("ours")
    asked(played, 4)
    sent = played.sent[-1]
    # 2**30 brokers with empty hosts are announced.
    played.broker(struct.pack(">iiii", 2**30, request_id(sent), 0, 2**30))
    for _ in range(40):
        played.broker(bytes(64 * 1024))
    assert played.connection.session.held_bytes == 0
    assert played.ended is None
