"""Which requests of a connection are looked into for its client's settings, and what they have shown. No I/O, no clock.

The first few requests of each kind show all that the kind can; later ones are looked into at intervals, since a client library may send a
topic's own settings (librdkafka has acks per topic), or its rack only when nothing else has changed. All others pass unread.

Thousands of connections show the same, so what a request shows is held once for all of them.
"""

from __future__ import annotations

from clientscope.bounded import Shared
from clientscope.errors import WireError
from clientscope.session.state import Counted, RequestFields, Shown
from clientscope.wire.frames import REQUEST_HEAD, Peeked
from clientscope.wire.request_fields import VERSIONS, request_fields

FIRST = 6
"""Requests of each kind that are looked into when a connection is new."""
AGAIN = 1
"""The same after each interval (`clientscope.session.connection`)."""
MOST_SHOWN = 16
"""Different requests of one connection that are reported; a client of one group and one configuration sends four to eight."""

_PLACES = {api_key: place for place, api_key in enumerate(VERSIONS)}
MOST_HELD = 4_096
"""Different requests of all connections that are held once."""


class Looking:
    """Of one connection.

    Attributes:
        shown: what was reported.
    """

    __slots__ = ("_left", "_shared", "shown")

    def __init__(self, shared: Shared[RequestFields]) -> None:
        self._shared = shared
        self._left = bytearray([FIRST] * len(_PLACES))
        self.shown: tuple[RequestFields, ...] = ()

    def wants(self, api_key: int, api_version: int) -> bool:
        """Whether a request is to be looked into; changes nothing."""
        place = _PLACES.get(api_key)
        return place is not None and self._left[place] > 0 and api_version in VERSIONS[api_key]

    def again(self) -> None:
        """Another interval begins."""
        self._left = bytearray(max(left, AGAIN) for left in self._left)

    def read(self, seen: Peeked) -> Shown | Counted | None:
        """Takes the beginning of a request that it wanted."""
        _, api_key, api_version, _ = REQUEST_HEAD.unpack_from(seen.data)
        self._left[_PLACES[api_key]] -= 1
        try:
            fields = request_fields(api_key, api_version, seen.data, REQUEST_HEAD.size, seen.whole)
        except WireError as error:
            return Counted("settings_unread", error.reason)
        if not fields:
            return None
        request = RequestFields(api_key, api_version, tuple(fields.items()))
        if request in self.shown:
            return None
        if len(self.shown) >= MOST_SHOWN:
            return Counted("settings_unread", "most_requests")
        request = self._shared.same(request)
        self.shown = (*self.shown, request)
        return Shown(request)
