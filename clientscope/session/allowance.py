"""Allowance of bytes per second that are read from a connection rather than passed: a token bucket, charged before decoding.

Reading costs time that other connections' bytes wait for. An honest client has a few hundred bytes read when it connects, and one push;
a client beyond that must wait, as a Kafka broker mutes a channel over its quota (KIP-219). No I/O; time is passed in.

The bucket is a single number, since thousands of connections have one: the time at which it is full again (the generic cell rate
algorithm, ITU-T I.371).
"""

from __future__ import annotations

LEAST_BURST_BYTES = 64 * 1024
"""What may be read at once: six pushes of KIP-1324's greatest size, or a Kerberos ticket."""
FULL_AFTER_S = 16.0
"""How long an empty bucket takes to fill."""
FRAME_BYTES = 256
"""What a frame costs beside its own bytes."""


def charged(full_at_s: float, frame_bytes: int, now_s: float, push_bytes: int) -> float:
    """When the bucket is full again, once a frame of this size is read; the last frame may take more than there is.

    Args:
        now_s: a clock that never goes back.
        push_bytes: the largest push that is taken; six of them may be read at once, and one every three seconds.
    """
    burst = max(LEAST_BURST_BYTES, 6 * push_bytes)
    return max(full_at_s, now_s) + (FRAME_BYTES + frame_bytes) * FULL_AFTER_S / burst


def wait_s(full_at_s: float, now_s: float) -> float:
    """How long until the next frame may be read; 0 where it may be now."""
    return max(0.0, full_at_s - now_s - FULL_AFTER_S)
