"""Requests sent under correlation ids of the gateway's own, until the broker has answered each.

Clients choose their ids and may use one for several requests at a time, so an answer says by its id alone nothing about what was
asked. Every request that is read therefore goes upstream under an id of the gateway's, and the client's own is put back into the answer.

The ids come from a small range far from those that clients count through. A client may also use one of that range (one that
counts for weeks comes by; another does so on purpose); such an id is noted, and is not used for a request behind it before that
one has surely been answered. Kafka answers a connection's requests in order, so an answer to a request of ours settles all before it;
only a Produce request with acks=0 has none.
"""

from __future__ import annotations

from clientscope.session.handler import Pending

MOST_UNANSWERED = 64
"""How many requests of a connection may await an answer that is read; nothing more is taken from the client until one comes."""

FIRST_ID = -(1324 << 20)
IDS = 1024
_MOST_NOTED = IDS // 2


class Unanswered:
    """What is to be done with the answers of one connection, by the ids that they will carry."""

    __slots__ = ("_next", "_noted", "_waiting")

    def __init__(self) -> None:
        self._waiting: dict[int, tuple[int, Pending]] | None = None  # most connections wait for nothing, and a dict takes its room
        self._noted: dict[int, int] | None = None
        self._next = 0

    def __len__(self) -> int:
        return len(self._waiting) if self._waiting is not None else 0

    def __contains__(self, upstream_id: int) -> bool:
        return self._waiting is not None and upstream_id in self._waiting

    def get(self, upstream_id: int) -> Pending | None:
        """What waits for the answer under this id; None where nothing does."""
        return self._waiting[upstream_id][1] if self._waiting is not None and upstream_id in self._waiting else None

    def pending(self) -> dict[int, Pending]:
        """What waits, in order, by the id under which it went upstream."""
        return {upstream_id: pending for upstream_id, (_, pending) in (self._waiting or {}).items()}

    @property
    def full(self) -> bool:
        """Whether nothing more may be sent before an answer has come."""
        return self._waiting is not None and len(self._waiting) >= MOST_UNANSWERED

    @property
    def crowded(self) -> bool:
        """Whether the client has used so many ids of the gateway's range that its requests must be settled first, by an answer."""
        return self._noted is not None and len(self._noted) >= _MOST_NOTED

    @property
    def nearly_full(self) -> bool:
        """Whether one more may be sent before an answer has come, or none."""
        return len(self) >= MOST_UNANSWERED - 1

    def note(self, client_id: int) -> None:
        """The client has sent a request under this id; called for ids of the gateway's range."""
        if self._noted is None:
            self._noted = {}
        self._noted[client_id] = self._next

    def add(self, pending: Pending) -> int:
        """The id under which a request goes upstream."""
        if self._waiting is None:
            self._waiting = {}
        noted = self._noted or ()
        while (upstream_id := FIRST_ID + self._next % IDS) in self._waiting or upstream_id in noted:
            self._next += 1
        self._waiting[upstream_id] = (self._next, pending)
        self._next += 1
        return upstream_id

    def answered(self, upstream_id: int) -> Pending:
        """What waits for the answer that has come; it is forgotten, as is all that was sent before it.

        Raises:
            KeyError: nothing waits under this id.
        """
        waiting = self._waiting or {}
        place, pending = waiting[upstream_id]
        while next(iter(waiting)) != upstream_id:  # answers come in order: these are acks=0
            del waiting[next(iter(waiting))]
        del waiting[upstream_id]
        self._waiting = waiting or None
        if self._noted is not None:
            self._noted = {noted: sent for noted, sent in self._noted.items() if sent > place} or None
        return pending


def is_ours(correlation_id: int) -> bool:
    """Whether an id is of the gateway's range."""
    return FIRST_ID <= correlation_id < FIRST_ID + IDS
