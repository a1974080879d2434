"""DescribeCluster (key 60): what software the broker is that answers (KIP-885, on tagged fields).

Behavior:
- The request goes upstream as it came, but for its correlation id.
- The answer gets name and version as declared for the broker behind this gateway; where nothing is declared, nothing is read at all.
- A version that we don't know, and an answer that can't be read, go on unchanged.
"""

from __future__ import annotations

from clientscope.errors import WireError
from clientscope.session.state import Command, Counted, PendingDescribeCluster, SessionState, ToClient
from clientscope.wire.describe_cluster import with_software
from clientscope.wire.frames import REQUEST_HEAD


def request(state: SessionState, frame: bytes) -> list[Command]:
    """The client asks."""
    _, _, version, correlation_id = REQUEST_HEAD.unpack_from(frame)
    return [state.forward(frame, correlation_id, PendingDescribeCluster(version))]


def response(state: SessionState, pending: PendingDescribeCluster, frame: bytes) -> list[Command]:
    """The broker answers."""
    assert state.software is not None
    try:
        return [ToClient(with_software(frame, pending.api_version, state.software))]
    except WireError:
        return [Counted("unreadable_frames", "describe_cluster_response"), ToClient(frame)]
