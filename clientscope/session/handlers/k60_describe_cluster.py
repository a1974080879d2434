"""DescribeCluster (key 60): what software the broker is that answers (KIP-885, on tagged fields).

Behavior:
- The request goes upstream as it came.
- The answer gets name and version as declared for the broker behind this gateway; where nothing is declared, nothing is read at all.
- A version that we don't know, and an answer that can't be read, go on unchanged.
"""

from __future__ import annotations

from clientscope.errors import WireError
from clientscope.session.state import MOST_PENDING, Command, Counted, PendingDescribeCluster, SessionState, ToBroker, ToClient
from clientscope.wire.describe_cluster import NEWEST, with_software
from clientscope.wire.frames import REQUEST_HEAD


def request(state: SessionState, frame: bytes) -> list[Command]:
    """The client asks."""
    _, _, version, correlation_id = REQUEST_HEAD.unpack_from(frame)
    if 0 <= version <= NEWEST and len(state.pending) < MOST_PENDING:
        state.pending[correlation_id] = PendingDescribeCluster(version)
    return [ToBroker(frame)]


def response(state: SessionState, pending: PendingDescribeCluster, frame: bytes) -> list[Command]:
    """The broker answers."""
    assert state.software is not None
    try:
        return [ToClient(with_software(frame, pending.api_version, state.software))]
    except WireError:
        return [Counted("unreadable_frames", "describe_cluster_response"), ToClient(frame)]
