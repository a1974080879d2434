"""Versions of APIs that a connection's client has requested, for upgrade readiness.

Thousands of connections use the same few versions, and a set for each of them would take half a kilobyte. So a connection refers to a set
that all connections with the same versions share; a new version makes it refer to another one.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from clientscope.errors import WireError
from clientscope.model.requested_versions import pair
from clientscope.readiness.served import known_versions
from clientscope.wire import api_versions
from clientscope.wire.codes import GET_TELEMETRY_SUBSCRIPTIONS, PUSH_TELEMETRY

NOTHING: frozenset[int] = frozenset()

MOST_SETS = 1_024
"""Different sets of `pair` numbers that are shared."""


@cache
def known() -> frozenset[int]:
    """The versions that any known release serves, as `pair` numbers."""
    return frozenset(pair(*each) for each in known_versions())


# API versions that the broker serves, from its own ApiVersions answers; shared by all connections of a gateway.

_MOST_BYTES = 32 * 1024
"""Bytes of one answer that is learnt from; a current broker's has some 600."""


class Served:
    """The broker's ranges, learnt from the answers that pass, so that an upgraded broker's are learnt too."""

    def __init__(self) -> None:
        self._ranges: Mapping[int, tuple[int, int]] | None = None

    def learn(self, frame: bytes, api_version: int) -> None:
        """Takes the broker's answer without an error.

        Raises:
            WireError: it is no such answer, or too long for one.
        """
        if len(frame) > _MOST_BYTES:
            raise WireError("too_large")
        self._ranges = api_versions.read_ranges(frame, api_version)

    @property
    def takes_telemetry(self) -> bool:
        """Whether the broker is known to take telemetry, or at least a part of it."""
        return self._ranges is not None and not self._ranges.keys().isdisjoint((GET_TELEMETRY_SUBSCRIPTIONS, PUSH_TELEMETRY))

    def has(self, api_key: int, api_version: int) -> bool:
        """Whether the broker is known to serve it."""
        return self._ranges is not None and self.lacks(api_key, api_version) is None

    def lacks(self, api_key: int, api_version: int) -> str | None:
        """Why the broker will not serve a request, as a counter's label; None where it does, or nothing is known yet."""
        if self._ranges is None:
            return None
        found = self._ranges.get(api_key)
        if found is None:
            return "unknown_api_key"
        return None if found[0] <= api_version <= found[1] else "unsupported_version"
