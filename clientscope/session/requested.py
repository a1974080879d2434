"""Versions of APIs that a connection's client has requested, for upgrade readiness.

Thousands of connections use the same few versions, and a set for each of them would take half a kilobyte. So a connection refers to a set
that all connections with the same versions share; a new version makes it refer to another one.
"""

from __future__ import annotations

from functools import cache

from clientscope.readiness.served import known_versions
from clientscope.records.requested_versions import MOST_VERSIONS, pair
from clientscope.session.served import Served

NOTHING: frozenset[int] = frozenset()

_MOST_SETS = 1_024
"""Different sets that are shared. Beyond it all are forgotten: connections keep what they have, and share anew what comes."""


class SharedVersions:
    """Sets of `pair` numbers, each held once; of one process, for one thread."""

    def __init__(self) -> None:
        self._sets: dict[frozenset[int], frozenset[int]] = {}

    def __len__(self) -> int:
        return len(self._sets)

    def plus(self, versions: frozenset[int], new: int) -> frozenset[int]:
        """The set with one version more."""
        if len(self._sets) >= _MOST_SETS:
            self._sets.clear()
        larger = versions | {new}
        return self._sets.setdefault(larger, larger)


def is_recorded(served: Served, api_key: int, api_version: int) -> bool:
    """Whether a version is one that the broker, or any known release, serves: what a client makes up is not recorded."""
    return pair(api_key, api_version) in _known() or served.has(api_key, api_version)


def is_full(versions: frozenset[int]) -> bool:
    """Whether a connection has as many versions as are recorded of one."""
    return len(versions) >= MOST_VERSIONS


@cache
def _known() -> frozenset[int]:
    return frozenset(pair(*each) for each in known_versions())
