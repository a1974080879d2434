"""The newest process of each gateway by its connection records: how far they were taken in, and when it was last heard."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from clientscope.findings.conditions import gateway_subject
from clientscope.records.enums import Kind
from streaming.findings.inputs import ConnectionChange, Gateway
from streaming.limits import Limit, Overflow

MOST_GATEWAYS = 10_000
"""That are known; those that stopped and those that others make up included."""

_SILENT_MS = 60 * 60_000
"""Who is full of gateways forgets one that was silent for so long."""

GATEWAYS = Limit(
    "gateways",
    MOST_GATEWAYS,
    "gateways",
    "while none was silent for an hour, clients of further ones count as connected for 30 s after a push alone",
    advice="look at who writes to clientscope.connections",
)


class GatewayProcess(NamedTuple):
    """What is known of one gateway.

    Attributes:
        epoch, sequence: of the newest record.
        heard_ms: when Kafka took the last record; beat_ms: the last heartbeat, 0 before the first.
    """

    epoch: int
    sequence: int
    heard_ms: int
    beat_ms: int


class GatewayProcesses:
    """All of them.  Times are ms since the epoch, of Kafka's clock.

    Args:
        ended: called with a gateway, and when, as soon as nothing is open there any more: another process began, or it is forgotten.
    """

    def __init__(self, ended: Callable[[Gateway, int], None]) -> None:
        self.full = Overflow(GATEWAYS)
        self._ended = ended
        self._known: dict[Gateway, GatewayProcess] = {}  # who was heard last is last
        self._subjects: dict[str, Gateway] = {}

    def takes(self, event: ConnectionChange) -> bool:
        """Notes a record; whether it says something new: of the newest process, and none that came before."""
        gateway = event.cluster, event.broker, event.gateway
        known = self._known.pop(gateway, None)
        if known is None:
            if not self._has_room(event):
                return False
            self._subjects[gateway_subject(*gateway)] = gateway
            known = GatewayProcess(-1, -1, 0, 0)
        beat_ms = max(known.beat_ms, event.appended_ms) if event.kind == Kind.HEARTBEAT else known.beat_ms
        heard_ms = max(known.heard_ms, event.appended_ms)
        is_new = (event.epoch, event.sequence) > (known.epoch, known.sequence)
        if event.epoch > known.epoch:
            self._ended(gateway, event.appended_ms)  # what the process before had open ended with it
        epoch, sequence = (event.epoch, event.sequence) if is_new else (known.epoch, known.sequence)
        self._known[gateway] = GatewayProcess(epoch, sequence, heard_ms, beat_ms)
        return is_new

    def epoch(self, gateway: Gateway) -> int | None:
        """Of its newest process; None of an unknown one."""
        known = self._known.get(gateway)
        return None if known is None else known.epoch

    def beat_ms(self, subject: str) -> int:
        """When a gateway, by `gateway_subject`, last sent a heartbeat; 0 where that isn't known."""
        gateway = self._subjects.get(subject)
        return 0 if gateway is None else self._known[gateway].beat_ms

    def _has_room(self, event: ConnectionChange) -> bool:
        if len(self._known) < MOST_GATEWAYS:
            return True
        gateway = next(iter(self._known))
        if event.appended_ms - self._known[gateway].heard_ms < _SILENT_MS:
            self.full.exceeded(gateway_subject(event.cluster, event.broker, event.gateway)[:200])
            return False
        del self._known[gateway], self._subjects[gateway_subject(*gateway)]
        self._ended(gateway, event.appended_ms)
        return True
