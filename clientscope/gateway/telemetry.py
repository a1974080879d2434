"""Clients' own metrics as records of ``clientscope.telemetry``: unpacked within bounds, judged, and published if there is room.

Nothing waits for them. They have a publishing queue of their own, since records of connections and pushes matter more, and what is dropped
is counted: the client pushes again at its next interval. All of it in the gateway's event loop.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from clientscope.errors import RecordError
from clientscope.gateway.policy.runner import client_of
from clientscope.gateway.push_shapes import PushShapes
from clientscope.gateway.quota import PushQuota, PushRate
from clientscope.gateway.registry import ConnectionRegistry
from clientscope.policy.interface import RequestContext
from clientscope.policy.publishing import recorded_client
from clientscope.records.principals import authenticated
from clientscope.records.telemetry import unpack
from clientscope.session.state import RequestFields
from clientscope.wire.codes import PUSH_TELEMETRY

if TYPE_CHECKING:
    from clientscope.session.state import MetricsPushed

_PER_CLIENT = PushRate(1.0, 10)
_PER_TENANT = PushRate(250.0, 1_000)
"""Of one principal, and of one address: 15,000 clients that push once a minute. One of Java's takes the event loop 0.15 ms, or 1.5 ms
if its shape is new.
"""
_IN_ALL = PushRate(500.0, 2_000)

Publish = Callable[[str, bytes], bool]
"""``publish(key, value)``: whether there was room; it never blocks."""


class TelemetryRecords:
    """Makes and publishes records of one gateway's clients."""

    def __init__(self, registry: ConnectionRegistry, publish: Publish, count: Callable[[str, str], None]) -> None:
        self._registry = registry
        self._publish = publish
        self._count = count
        self._shapes = PushShapes(count)
        self._quota = PushQuota(_PER_CLIENT, _IN_ALL, per_principal=_PER_TENANT, per_address=_PER_TENANT)

    def take(self, connection_id: int, pushed: MetricsPushed, now_s: float, with_settings: bool = False) -> RequestFields | None:
        """Records what a client has pushed, or counts why it isn't recorded.

        Args:
            with_settings: return what the metrics show of the client's settings, where they show any.
        """
        context = self._registry.context(connection_id)
        if context is None:
            self._count("telemetry_dropped", "busy")
            return None
        principal = authenticated(context.principal)
        if self._quota.take(client_of(context), now_s, principal=principal, address=context.client_address):
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
        depends_on = (context, names, push.instance_id, pushed.copied)
        if not push.terminating:
            value = self._shapes.record(connection_id, depends_on, unpacked, with_settings)
            if value is not None:
                return value, ()
        # Most gateways take no telemetry.
        from clientscope.policy.telemetry import client_resource, record_value, redacted_metrics, shown_fields  # noqa: PLC0415

        client = client_resource({**recorded_client(context, names), "client_instance_id": str(push.instance_id), "copied": pushed.copied})
        metrics = redacted_metrics(unpacked, names, client)
        value = record_value(metrics, client, pushed.received_ms if push.terminating else None)
        if not push.terminating:
            self._shapes.judged(connection_id, depends_on, unpacked, value)
        return value, shown_fields(metrics) if with_settings else ()
