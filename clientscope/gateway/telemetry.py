"""Clients' own metrics as records of ``clientscope.telemetry``: unpacked within bounds, judged, and published if there is room.

Nothing waits for them. They have a publishing queue of their own, since records of connections and pushes matter more, and what is dropped
is counted: the client pushes again at its next interval. All of it in the gateway's event loop.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clientscope.errors import RecordError
from clientscope.gateway.quota import PushQuota, PushRate, Rates
from clientscope.gateway.registry import ConnectionRegistry
from clientscope.model.telemetry import unpack
from clientscope.policy.interface import RequestContext
from clientscope.policy.publishing import recorded_client
from clientscope.policy.push_shape import PushShape
from clientscope.session.state import RequestFields
from clientscope.wire.codes import PUSH_TELEMETRY

if TYPE_CHECKING:
    from clientscope.session.state import MetricsPushed


_PER_TENANT = PushRate(250.0, 1_000)
"""Of one principal, and of one address: 15,000 clients that push once a minute. One of Java's takes the event loop 0.15 ms, or 1.5 ms
if its shape is new.
"""
_RATES: Rates = {
    "quota_all": PushRate(500.0, 2_000), "quota_address": _PER_TENANT, "quota_principal": _PER_TENANT, "quota": PushRate(1.0, 10),
}  # fmt: skip

Publish = Callable[[str, bytes], bool]
"""``publish(key, value)``: whether there was room; it never blocks."""


class TelemetryRecords:
    """Makes and publishes records of one gateway's clients."""

    def __init__(self, registry: ConnectionRegistry, publish: Publish, count: Callable[[str, str], None]) -> None:
        self._registry = registry
        self._publish = publish
        self._count = count
        self._shapes = PushShapes(count)
        self._quota = PushQuota(_RATES)

    def take(self, connection_id: int, pushed: MetricsPushed, now_s: float, with_settings: bool = False) -> RequestFields | None:
        """Records what a client has pushed, or counts why it isn't recorded.

        Args:
            with_settings: return what the metrics show of the client's settings, where they show any.
        """
        context = self._registry.context(connection_id)
        if context is None:
            self._count("telemetry_dropped", "busy")
            return None
        if self._quota.take(context, now_s):
            self._count("telemetry_dropped", self._quota.refused_by)
            return None
        try:
            value, fields = self._judged(connection_id, pushed, context, with_settings)
        except RecordError as error:
            self._count("telemetry_dropped", error.reason)
            return None
        if not self._publish(context.client_key, value):
            self._count("telemetry_dropped", "queue_full")
        return RequestFields(PUSH_TELEMETRY, 0, fields) if fields else None

    def closed(self, connection_id: int) -> None:
        """A connection has ended."""
        self._shapes.forget(connection_id)

    def _judged(
        self, connection_id: int, pushed: MetricsPushed, context: RequestContext, with_settings: bool
    ) -> tuple[bytes, tuple[tuple[str, str], ...]]:
        """The record of a push, and what its metrics show of the client's settings, where that is wanted.

        Raises:
            RecordError: it can't be recorded.
        """
        names, push = self._registry.names, pushed.push
        unpacked = unpack(push.compression, push.metrics)
        depends_on = (context, names.key, push.instance_id, pushed.copied)
        if not push.terminating:
            value = self._shapes.record(connection_id, depends_on, unpacked, with_settings)
            if value is not None:
                return value, ()
        # Most gateways take no telemetry.
        from clientscope.policy.telemetry import client_resource, record_value, redacted_metrics, shown_fields  # noqa: PLC0415

        client = client_resource({**recorded_client(context, names), "instance_id": str(push.instance_id), "copied": pushed.copied})
        metrics = redacted_metrics(unpacked, names, client)
        value = record_value(metrics, client, pushed.received_ms if push.terminating else None)
        if not push.terminating:
            self._shapes.judged(connection_id, depends_on, unpacked, value)
        return value, shown_fields(metrics) if with_settings else ()


# Shapes of what each connection pushes, within a bound of memory for all connections to one broker.
#
# They are kept by connection: no client can displace another's, or have more than one. A connection that pushes something else each time
# loses its own, and another is made only now and then.

MOST_SHAPES_BYTES = 48 * 1024 * 1024
"""Of all shapes: those of 10,000 Java consumers, or of more where several have labels of the same lengths."""

_PAUSE = 16
"""Pushes of a connection that are judged in full after a shape that fitted none, since making one takes as long as judging one."""


@dataclass(slots=True)
class _Pushing:
    """What is remembered of a connection.

    Attributes:
        client: whatever its records depend on beside what it pushes.
        length: of its last push that was judged in full, in bytes.
        pause: so many pushes more without a new shape.
    """

    client: Hashable
    length: int = 0
    pause: int = 0
    shape: PushShape | None = None


class PushShapes:
    """The shape of each connection's pushes; for one thread.

    Args:
        count: called with ``telemetry_judged`` and the reason of each push that was judged in full.
        most_bytes: once shapes take as much, connections without one get none.
    """

    def __init__(self, count: Callable[[str, str], None], most_bytes: int = MOST_SHAPES_BYTES) -> None:
        self._count = count
        self._most_bytes = most_bytes
        self._pushing: dict[int, _Pushing] = {}
        self.size = 0
        """Bytes that all shapes take."""

    def record(self, connection_id: int, client: Hashable, unpacked: bytes, with_settings: bool) -> bytes | None:
        """The record of a push that has the shape of its connection's last; None if it must be judged in full.

        Args:
            client: whatever the record depends on beside the push. A shape of another client's doesn't count.
            with_settings: judge it in full if it may show a setting.
        """
        pushing = self._pushing.get(connection_id)
        if pushing is None or pushing.shape is None or (with_settings and pushing.shape.has_setting):
            return None
        record = pushing.shape.record(unpacked) if pushing.client == client else None
        if record is None:
            self._drop(pushing)
        else:
            pushing.pause = 0
        return record

    def judged(self, connection_id: int, client: Hashable, unpacked: bytes, record: bytes) -> None:
        """Learns from a push that was judged in full; its shape if the connection's last push was as long.

        Args:
            record: what was made of it.
        """
        pushing = self._pushing.get(connection_id)
        if pushing is None or pushing.client != client:
            self.forget(connection_id)
            pushing = self._pushing[connection_id] = _Pushing(client)
        has_room = self.size < self._most_bytes
        self._count("telemetry_judged", "new" if has_room or pushing.shape else "no_room")
        as_long, pushing.length = pushing.length == len(unpacked), len(unpacked)
        if pushing.pause:
            pushing.pause -= 1
        elif as_long and has_room and pushing.shape is None:
            pushing.pause = _PAUSE
            pushing.shape = PushShape.of(unpacked, record)
            self.size += pushing.shape.size if pushing.shape else 0

    def forget(self, connection_id: int) -> None:
        """A connection has ended."""
        if (pushing := self._pushing.pop(connection_id, None)) is not None:
            self._drop(pushing)

    def _drop(self, pushing: _Pushing) -> None:
        if pushing.shape is not None:
            self.size -= pushing.shape.size
            pushing.shape = None
