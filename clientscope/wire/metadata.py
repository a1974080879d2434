"""Metadata answers (key 3), whose brokers come first: their addresses are replaced, and the topics, which may be megabytes, pass."""

from __future__ import annotations

from collections.abc import Iterator

from clientscope.errors import WireError
from clientscope.wire.addresses import Rewriting, Translate, begin, unchanged
from clientscope.wire.frames import LENGTH

WITH_CLUSTER_ID = range(2, 14)
"""Versions whose answers have the cluster's id (KIP-78)."""
MOST_HELD_BYTES = 1024 * 1024
"""The longest list of brokers: some 10,000 of them."""


class MetadataWalk:
    """One answer of v0 to v13, fed as it comes."""

    def __init__(self, version: int, translate: Translate) -> None:
        self._version = version
        self._translate = translate
        self._held: bytes | None = b""

    @property
    def held_bytes(self) -> int:
        """How many bytes are kept."""
        return len(self._held or b"")

    def feed(self, data: bytes, last: bool) -> Iterator[bytes]:
        """What to send on.

        Args:
            last: whether the answer ends with these bytes.

        Raises:
            WireError: it is no such answer, or ``long_answer``: its list of brokers is longer than `MOST_HELD_BYTES`.
        """
        if self._held is None:
            yield data
            return
        self._held += data
        try:
            answer = brokers(self._held, self._version, self._translate)
        except WireError as error:
            if last or error.reason != "truncated":
                raise
            if len(self._held) > MOST_HELD_BYTES:
                raise WireError("long_answer") from None
            return
        begun, rest = answer.upto_cursor(), self._held[answer.cursor.position :]
        (length,) = LENGTH.unpack_from(begun)
        self._held = None
        yield LENGTH.pack(length + len(begun) - answer.cursor.position) + begun[LENGTH.size :] + rest


def brokers(frame: bytes, version: int, translate: Translate) -> Rewriting:
    """The beginning of an answer, up to the end of its list of brokers.

    Raises:
        WireError: ``truncated`` where the list continues beyond ``frame``, or it is no such answer.
    """
    answer = begin(frame, version >= 9, translate)
    if version >= 3:
        answer.cursor.int32()  # ThrottleTimeMs

    def rest() -> None:
        if version >= 1:
            answer.text()  # Rack
        answer.tags()

    answer.brokers(rest)
    return answer


def cluster_id(frame: bytes, version: int) -> str | None:
    """The cluster's id in an answer, of which the beginning is enough; None where the broker doesn't say it.

    Raises:
        WireError: ``truncated`` where it comes beyond ``frame``, or it is no such answer.
    """
    return brokers(frame, version, unchanged).text()
