"""DescribeCluster (key 60): the software of the broker that answers (KIP-885, on tagged fields).

Behavior:
- The request goes upstream unchanged except for its correlation id.
- The answer gets name and version of the broker behind this gateway: by default ``Kafka`` and null.
- An unknown version, and an answer that can't be read, pass unchanged.
"""

from __future__ import annotations

from clientscope.errors import WireError
from clientscope.session.handler import Handler, always
from clientscope.session.state import Command, Counted, SessionState, ToClient
from clientscope.wire.addresses import unchanged
from clientscope.wire.codes import DESCRIBE_CLUSTER
from clientscope.wire.describe_cluster import NEWEST, with_software
from clientscope.wire.frames import REQUEST_HEAD


def request(state: SessionState, frame: bytes) -> list[Command]:
    """The client asks."""
    _, _, version, _ = REQUEST_HEAD.unpack_from(frame)
    return [state.forward(frame, HANDLER, version)]


def response(state: SessionState, api_version: int, frame: bytes) -> list[Command]:
    """The broker answers."""
    try:
        return [ToClient(with_software(frame, api_version, unchanged, state.software))]
    except WireError:
        return [Counted("unreadable_frames", "describe_cluster_response"), ToClient(frame)]


HANDLER = Handler(DESCRIBE_CLUSTER, range(NEWEST + 1), always, request, response)
