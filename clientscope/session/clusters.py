"""The cluster of the broker behind the gateway, by a connection's first Metadata answer: it may be another than the topics' cluster."""

from __future__ import annotations

from collections.abc import Iterator

from clientscope.errors import WireError
from clientscope.session.handler import READ_LIMIT, Pending
from clientscope.session.state import OtherCluster, SessionState, ToBroker
from clientscope.wire import api_versions, metadata
from clientscope.wire.codes import METADATA
from clientscope.wire.frames import REQUEST_HEAD, Passed


def is_asked(key: int, version: int) -> bool:
    """Whether the answer to a request of this version has the cluster's id."""
    return key == METADATA and version in metadata.WITH_CLUSTER_ID


def forward(state: SessionState, begun: bytes) -> ToBroker:
    """Sends the beginning of a Metadata request on, so that its answer is looked at; no later one is."""
    _, _, version, correlation_id = REQUEST_HEAD.unpack_from(begun)
    walk = ClusterIdWalk(version, state.cluster_id)
    state.cluster_id = ""
    return ToBroker(api_versions.with_correlation_id(begun, state.unanswered.add(correlation_id, Pending(None, None, walk))))


class ClusterIdWalk:
    """One Metadata answer, which passes as it comes; `clientscope.session.handler.Pending` has it until then."""

    __slots__ = ("_expected", "_held", "_version")

    def __init__(self, version: int, expected: str) -> None:
        self._version, self._expected = version, expected
        self._held: bytes | None = b""

    @property
    def held_bytes(self) -> int:
        """How many bytes are kept."""
        return len(self._held or b"")

    def feed(self, data: bytes, last: bool) -> Iterator[OtherCluster | Passed]:
        """What to do about these bytes of it."""
        yield Passed(data)
        if self._held is None:
            return
        self._held += data
        try:
            found = metadata.cluster_id(self._held, self._version)
        except WireError as error:
            if last or error.reason != "truncated" or len(self._held) > READ_LIMIT:
                self._held = None
            return
        self._held = None
        if found and found != self._expected:
            yield OtherCluster(found)
