"""Times at which clients were last seen, on ``clientscope.job``: connection records are kept for a week, clients for 30 days.

Where nothing was noted, nothing ends early: every client counts as seen at that start.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple
from zlib import crc32

from streaming.checkpoints.job_records import ClientsSeen, JobState
from streaming.findings.retention import DAY_MS, LastSeen

SHARDS = 256
"""Records that all clients are divided into: with a million of them each has some 400 KB, below what a topic takes."""

_CONNECTIONS_DAYS = 7
"""Retention of ``clientscope.connections``."""


class Noted(NamedTuple):
    """What an earlier process noted.

    Attributes:
        since_ms: when, and so from when on connection records have to be read; at most a week ago.
    """

    seen: LastSeen
    since_ms: int


def noted(state: JobState, now_ms: int) -> Noted:
    """What the topic says."""
    if not (shards := state.all(ClientsSeen)):
        return Noted(LastSeen(floor_ms=now_ms), now_ms)
    times = {client: seen_ms for shard in shards for client, seen_ms in shard.times.items()}
    written_ms = min(now_ms, *(shard.written_ms for shard in shards))
    readable_ms = now_ms - _CONNECTIONS_DAYS * DAY_MS
    return Noted(LastSeen(times, readable_ms if written_ms < readable_ms else 0), max(written_ms, readable_ms))


def records(times: Mapping[str, int], now_ms: int) -> list[ClientsSeen]:
    """The same for the next process."""
    shards: dict[int, dict[str, int]] = defaultdict(dict)
    for client, seen_ms in times.items():
        shards[crc32(client.encode()) % SHARDS][client] = seen_ms
    return [ClientsSeen(shard=number, written_ms=now_ms, times=shards[number]) for number in range(SHARDS)]
