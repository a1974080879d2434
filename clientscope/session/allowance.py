"""How much of a connection's bytes may be read, as opposed to passed, per second: a token bucket, charged before anything is decoded.

Reading costs time that other connections' bytes wait for. An honest client has a few hundred bytes read when it connects, and one push;
who has more read is made to wait, as a Kafka broker mutes a channel over its quota (KIP-219). No I/O; time is passed in.
"""

from __future__ import annotations

LEAST_BURST_BYTES = 64 * 1024
"""What may be read at once: six pushes of KIP-1324's greatest size, or a Kerberos ticket."""
_FULL_AFTER_S = 16
FRAME_BYTES = 256
"""What a frame costs beside its own bytes."""


class Allowance:
    """One connection's.

    Args:
        push_bytes: the largest push that is taken; six of them may be read at once, and one every three seconds.
    """

    __slots__ = ("_at_s", "_burst", "_bytes")

    def __init__(self, push_bytes: int) -> None:
        self._burst = float(max(LEAST_BURST_BYTES, 6 * push_bytes))
        self._bytes = self._burst
        self._at_s = 0.0

    def charge(self, frame_bytes: int, now_s: float) -> None:
        """A frame of this size is to be read; the last one may take the allowance below zero.

        Args:
            now_s: a clock that never goes back.
        """
        earned = (now_s - self._at_s) * self._per_second
        self._bytes = min(self._burst, self._bytes + earned) - FRAME_BYTES - frame_bytes
        self._at_s = now_s

    def wait_s(self, now_s: float) -> float:
        """How long until the next frame may be read; 0 where it may be now."""
        if self._bytes >= 0:
            return 0.0
        return max(0.0, -self._bytes / self._per_second - (now_s - self._at_s))

    @property
    def _per_second(self) -> float:
        return self._burst / _FULL_AFTER_S
