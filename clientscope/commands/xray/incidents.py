"""Incidents that requests show by their times: reconnect storms, and transactions that nobody ended."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from clientscope.logs.events import OPEN_TRANSACTION, STORM, EventKind
from clientscope.logs.request_log import BETWEEN_IDS, LoggedRequest
from clientscope.readiness.rows import logged_ms
from udfs.kernels.applications import application_of

MOST = 20_000
"""Applications at an address whose connections are counted, and transactional ids."""
STORM_CONNECTIONS = 30
"""Connections of a minute, and again of the next one.

A client keeps its connections.  One that is refused comes back once a second (Java's ``reconnect.backoff.max.ms``), which is 60 a minute.
One minute isn't enough: many clients that start together connect within it, and then stay.
"""
_MINUTE_MS = 60_000
_TIMEOUT_MS = 60_000
"""``transaction.timeout.ms`` of a producer whose InitProducerId isn't in the log: the default of Java's and librdkafka's."""
_END_TXN, _INIT_PRODUCER_ID, _ADD_PARTITIONS, _ADD_OFFSETS = 26, 22, 24, 25


class Place(NamedTuple):
    """Where a line stands: the log's name and the line's number, from 1."""

    log: str
    line: int


class Incident(NamedTuple):
    """Something that happened to a client.

    Attributes:
        setting: name and value of the one that it is about; ``note`` says what of it.
    """

    kind: EventKind
    principal: str
    client_id: str
    place: Place
    setting: tuple[str, str]
    note: str


@dataclass(slots=True)
class _Connecting:
    """Connections of one application from one address to one broker, minute by minute; the first minute begins with the first of them.

    Attributes:
        before: connections of the minute before.
        most: in the lesser of two minutes that follow each other.
    """

    client_id: str
    place: Place
    minute_ms: int
    count: int = 0
    before: int = 0
    most: int = 0

    def add(self, at_ms: int) -> None:
        if (later := at_ms - self.minute_ms) >= _MINUTE_MS:
            self.before = self.count if later < 2 * _MINUTE_MS else 0
            self.minute_ms, self.count = at_ms if later >= 2 * _MINUTE_MS else self.minute_ms + _MINUTE_MS, 0
        self.count += 1
        self.most = max(self.most, min(self.before, self.count))


@dataclass(slots=True)
class _Transactions:
    """Transactions of one transactional id; times are as logged, and empty for none.

    Attributes:
        begun: when the one that is open began, at ``place``.
        ended: when the last one ended.
    """

    place: Place
    principal: str = ""
    client_id: str = ""
    timeout_ms: int = _TIMEOUT_MS
    begun: str = ""
    ended: str = ""

    def begin(self, at: str, place: Place) -> None:
        if not self.begun and at >= self.ended:
            self.begun, self.place = at, place

    def end(self, at: str) -> None:
        # Logs of one broker may be read in any order: an older log doesn't end what began later.
        if self.begun <= at:
            self.begun = ""
        self.ended = max(self.ended, at)


class Incidents:
    """What requests and connections of all logs show, in the order in which they come."""

    def __init__(self) -> None:
        self._connecting: dict[tuple[str, str, str, str], _Connecting] = {}
        self._transactions: dict[str, _Transactions] = {}
        self._ends: dict[str, str] = {}
        self._last = ""

    def connect(self, request: LoggedRequest, client_id: str, place: Place) -> None:
        """Takes a connection's first request after its introduction."""
        key = place.log, request.principal, application_of(client_id), request.address
        at_ms = logged_ms(request.logged_at)
        if at_ms is None or (key not in self._connecting and len(self._connecting) >= MOST):
            return
        self._connecting.setdefault(key, _Connecting(client_id, place, at_ms)).add(at_ms)

    def add(self, request: LoggedRequest, client_id: str, place: Place) -> None:
        """Takes any request."""
        at, names = request.logged_at, request.fields.get("transactionalId")
        if at != self._last:  # as few are: thousands come in a second
            self._last = at
            self._ends[place.log] = max(at, self._ends.get(place.log, ""))
        if not names or not at:
            return
        for name in names.split(BETWEEN_IDS):
            if name not in self._transactions and len(self._transactions) >= MOST:
                continue
            known = self._transactions.setdefault(name, _Transactions(place))
            if not is_of_broker(request):
                known.principal, known.client_id = request.principal, client_id
            # Only what comes to the transaction's coordinator counts, which has it all: beginning and end are in the log of one broker.
            if request.api_key in (_ADD_PARTITIONS, _ADD_OFFSETS):
                known.begin(at, place)
            elif request.api_key in (_END_TXN, _INIT_PRODUCER_ID):
                known.end(at)
                if (timeout := request.fields.get("transactionTimeoutMs", "")).isdecimal():
                    known.timeout_ms = int(timeout)

    def found(self) -> Iterator[Incident]:
        """What has happened, once the logs have ended."""
        for (_, principal, _, address), each in self._connecting.items():
            if each.most >= STORM_CONNECTIONS:
                note = f"{each.most:,} connections a minute from {address}"
                yield Incident(STORM, principal, each.client_id, each.place, ("client.id", each.client_id), note)
        for name, transaction in self._transactions.items():
            begun, end = logged_ms(transaction.begun), logged_ms(self._ends.get(transaction.place.log, ""))
            if begun is not None and end is not None and end - begun > transaction.timeout_ms:
                note = f"begun at {transaction.begun}, and not ended in the {(end - begun) // 1000:,} s that follow"
                who = transaction.principal, transaction.client_id
                yield Incident(OPEN_TRANSACTION, *who, transaction.place, ("transactional.id", name), note)


def is_of_broker(request: LoggedRequest) -> bool:
    """Whether a broker adds partitions to transactions, on behalf of producers (KIP-890)."""
    return request.api_key == _ADD_PARTITIONS and request.api_version >= 4
