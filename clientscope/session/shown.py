"""Which requests of a connection are looked into for its client's settings, and what they have shown. No I/O, no clock.

The first few requests of each kind show all that the kind can; later ones are looked into at intervals, since a client library may send a
topic's own settings (librdkafka has acks per topic), or its rack only when nothing else has changed. All others pass unread.

Thousands of connections show the same, so what a request shows is held once for all of them.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import pairwise

from clientscope.errors import WireError
from clientscope.session import produced
from clientscope.session.intervals import INTERVALS, MULTIPLES, age, measured
from clientscope.session.produced import Produced
from clientscope.session.state import Counted, RequestFields, Shown
from clientscope.wire.frames import REQUEST_HEAD, Peeked
from clientscope.wire.request_fields import VERSIONS, request_fields

FIRST = 6
"""Requests of each kind that are looked into when a connection is new."""
REFRESHES = 16
"""Metadata requests that are looked into when a connection is new: those for new topics come in between."""
AGAIN = 1
"""The same after each interval (`clientscope.session.reports`)."""
MOST_SHOWN = 16
"""Different requests of one connection that are reported; a client of one group and one configuration sends four to eight."""

_PLACES = {api_key: place for place, api_key in enumerate(VERSIONS)}
_PRODUCE, _FETCH, _LIST_OFFSETS, _METADATA = 0, 1, 2, 3
_PACED = frozenset({8, 12})
"""OffsetCommit and Heartbeat, which clients send at intervals that are settings."""
_MORE = {_PRODUCE: produced.FIRST, _METADATA: REFRESHES, **dict.fromkeys(_PACED, INTERVALS + 1)}
_FIRST = bytes(_MORE.get(api_key, FIRST) for api_key in _PLACES)
_AGAIN = bytes(produced.AGAIN if api_key == _PRODUCE else AGAIN for api_key in _PLACES)
_MEASURED = (0.0,) * (INTERVALS + 1)
_LEAST_AGE_S = 1.0
"""Metadata requests that follow each other sooner wait for a topic, or a leader: ``retry.backoff.max.ms`` is a second."""
_MOST_MS = 2**32 - 1
_INTRODUCTION = range(8)
"""Requests with which a client introduces itself: ApiVersions, again in another version, and those of SASL."""
_NONE = range(0)
_UNKNOWN = -1.0
_MOST_HELD = 4_096


class SharedFields:
    """What requests have shown, each held once; of one process, for one thread."""

    def __init__(self) -> None:
        self._known: dict[RequestFields, RequestFields] = {}

    def same(self, request: RequestFields) -> RequestFields:
        """The one that is equal. Beyond `_MOST_HELD` all are forgotten: connections keep what they have, and share anew what comes."""
        if len(self._known) >= _MOST_HELD:
            self._known.clear()
        return self._known.setdefault(request, request)


class Looking:
    """Of one connection.

    Attributes:
        shown: what was reported.
        in_flight: correlation ids of requests whose answers are awaited: of Produce, as `clientscope.session.produced.Produced` has them;
            before the first request that is looked into, any of the client's first ones.
    """

    __slots__ = ("_answered_s", "_hop_s", "_left", "_produced", "_refreshed_s", "_shared", "_times", "in_flight", "shown")

    def __init__(self, shared: SharedFields) -> None:
        self._shared = shared
        self._left = bytearray(_FIRST)
        self._times: dict[int, Sequence[float]] | None = None
        self._refreshed_s = self._answered_s = 0.0
        self._hop_s = _UNKNOWN
        self._produced: Produced | None = None
        self.in_flight: range | set[int] = _INTRODUCTION
        self.shown: tuple[RequestFields, ...] = ()

    def wants(self, api_key: int, api_version: int) -> bool:
        """Whether a request is to be looked into; changes nothing."""
        place = _PLACES.get(api_key)
        return place is not None and self._left[place] > 0 and api_version in VERSIONS[api_key]

    def again(self) -> None:
        """Another interval begins."""
        self._left = bytearray(map(max, self._left, _AGAIN))

    def answered(self, correlation_id: int, now_s: float) -> None:
        """The answer to a request has begun; to be called while `in_flight` has any."""
        if self._produced is not None:
            self._produced.answered(correlation_id, now_s)
        elif isinstance(self.in_flight, range):
            self._answered_s, self.in_flight = now_s, self.in_flight[1:]

    def read(self, seen: Peeked, now_s: float) -> Shown | Counted | None:
        """Takes the beginning of a request that it wanted.

        Args:
            now_s: when it came, by a clock that never goes back.
        """
        _, api_key, api_version, correlation_id = REQUEST_HEAD.unpack_from(seen.data)
        self._left[_PLACES[api_key]] -= 1
        if self._hop_s == _UNKNOWN:  # a client waits for the answer to ApiVersions, or to its authentication, before it sends anything else
            self.in_flight, self._hop_s, self._answered_s = _NONE, now_s - self._answered_s, 0.0
        try:
            fields = request_fields(api_key, api_version, seen.data, REQUEST_HEAD.size, seen.whole)
        except WireError as error:
            return Counted("settings_unread", error.reason)
        if not fields:
            return None
        if api_key in _PACED:
            fields |= self._paced(api_key, now_s)
        elif api_key == _METADATA:
            fields |= self._refreshed(now_s)
        elif api_key == _PRODUCE:
            if self._produced is None:
                self._produced = Produced(self._hop_s)
                self.in_flight = self._produced.in_flight
            several = self._produced.read(correlation_id, fields, now_s)
            if several is None:
                return Counted("settings_unread", "most_reports")
            fields |= several
        elif api_key == _LIST_OFFSETS:
            if self._left[_PLACES[_FETCH]] < FIRST:
                return None  # a consumer that fetches may ask for its lag
            fields["beforeFetch"] = "true"
        request = RequestFields(api_key, api_version, tuple(fields.items()))
        if request in self.shown:
            return None
        if len(self.shown) >= MOST_SHOWN:
            return Counted("settings_unread", "most_requests")
        request = self._shared.same(request)
        self.shown = (*self.shown, request)
        return Shown(request)

    def _paced(self, api_key: int, now_s: float) -> dict[str, str]:
        """The intervals of requests, once enough of them have come."""
        if self._times is None:
            self._times = {}
        times = self._times.get(api_key, ())
        if times is _MEASURED:
            return {}
        self._times[api_key] = times = (*times, now_s)
        if len(times) <= INTERVALS:
            return {}
        self._times[api_key] = _MEASURED
        return measured([round((later - earlier) * 1000) for earlier, later in pairwise(times)])

    def _refreshed(self, now_s: float) -> dict[str, str]:
        """The last intervals of Metadata requests, as soon as an age follows from them. Each request begins the age anew."""
        before_s, self._refreshed_s = self._refreshed_s, now_s
        times = () if self._times is None else self._times.get(_METADATA, ())
        if not before_s or times is _MEASURED:
            return {}
        found = {}
        if now_s - before_s >= _LEAST_AGE_S:
            times = array("I", (*map(int, times), min(_MOST_MS, round((now_s - before_s) * 1000)))[-MULTIPLES:])
            found = age(times.tolist())
        if found or not self._left[_PLACES[_METADATA]]:  # later ones aren't all seen
            times = _MEASURED
        if times:
            self._times = {**(self._times or {}), _METADATA: times}
        return found
