"""Records of connections that were dropped while Kafka took none, published once there is room again.

The counts heal by themselves, with the next heartbeat. A single connection does not: readers would show one that has long closed, or
miss one that is open. No I/O, no clock. Memory is bounded by what was open: a connection that came and went unpublished leaves nothing.
"""

from __future__ import annotations

from clientscope.records.connection_record import ClientConnectionRecord
from clientscope.records.enums import OF_GATEWAYS, Kind


class Unpublished:
    """Remembers whose records were dropped."""

    def __init__(self) -> None:
        self._new: set[int] = set()  # open, and no record of theirs was ever taken
        self._changed: dict[int, None] = {}  # open, in order: what the topic says of them is missing or old
        self._closed: dict[int, ClientConnectionRecord] = {}

    def published(self, record: ClientConnectionRecord, taken: bool) -> None:
        """Whether a record was taken, or dropped."""
        if record.kind in OF_GATEWAYS or (taken and not self._changed):
            return
        connection_id = record.connection_id
        if taken:
            self._forget(connection_id)
        elif record.kind == Kind.CLOSED:
            if connection_id not in self._new:
                self._closed[connection_id] = record
            self._forget(connection_id)
        else:
            if record.kind == Kind.OPENED:
                self._new.add(connection_id)
            self._changed[connection_id] = None

    def take_closed(self, most: int) -> list[ClientConnectionRecord]:
        """The dropped records of connections that have closed, as they were, the oldest first; at most so many."""
        return [self._closed.pop(connection_id) for connection_id in list(self._closed)[: max(most, 0)]]

    def open(self, most: int) -> list[int]:
        """Open connections that are to be recorded again, the longest unpublished first; at most so many."""
        return list(self._changed)[: max(most, 0)]

    def _forget(self, connection_id: int) -> None:
        self._new.discard(connection_id)
        self._changed.pop(connection_id, None)
