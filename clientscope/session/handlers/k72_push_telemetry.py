"""PushTelemetry (key 72): a client's own metrics (KIP-714).

Behavior:
- Where the gateway has offered it, the gateway answers, with the errors of a broker (`clientscope.session.telemetry`). Such an answer has
  its turn by a carrier (see state.py).
- Where the broker has offered it, request and answer pass unchanged except for the correlation id, and a copy is taken of what the broker
  has accepted.
- The instance id of an accepted push is the connection's: a client may ask on one connection and push on another.
- A request that can't be read, or that has no room in a frame that is read: INVALID_REQUEST or TELEMETRY_TOO_LARGE where the gateway
  answers; else it passes unread, and is counted.
- Before SASL authentication has succeeded, on a listener that asks for it: the connection is closed, as for PushConfig.
"""

from __future__ import annotations

from clientscope.clock import now_ms
from clientscope.errors import WireError
from clientscope.session.handler import READ_LIMIT, Handler, if_short
from clientscope.session.state import Command, Counted, MetricsPushed, SessionState, ToClient
from clientscope.session.telemetry import Telemetry
from clientscope.wire.codes import ERROR_NAMES, INVALID_REQUEST, NONE, PUSH_TELEMETRY, TELEMETRY_TOO_LARGE
from clientscope.wire.frames import LENGTH, REQUEST_HEAD, Treatment
from clientscope.wire.telemetry import PushedMetrics, read_error, read_push, write_push_answer


def wants(state: SessionState, head: bytes) -> Treatment:
    """Reads it where the gateway answers, or copies."""
    if state.telemetry_offered:
        return if_short(head, Treatment.DISCARD)
    if state.telemetry is not None and state.authenticated and state.served.has(PUSH_TELEMETRY, 0):
        return if_short(head)
    return Treatment.PASS


def request(state: SessionState, frame: bytes) -> list[Command]:
    """The client pushes."""
    assert state.telemetry is not None
    if not state.telemetry_offered:
        return _copied(state, frame)
    if not state.authenticated:
        raise WireError("unauthenticated_telemetry")
    correlation_id = REQUEST_HEAD.unpack_from(frame)[3]
    error, pushed = _taken(state, state.telemetry, frame)
    carrier = state.carrier(correlation_id, HANDLER, write_push_answer(correlation_id, error))
    return [Counted("telemetry_answered", ERROR_NAMES[error]), *pushed, carrier]


def response(state: SessionState, asked: bytes | PushedMetrics | None, frame: bytes) -> list[Command]:
    """The carrier has come back, or the broker has answered."""
    if isinstance(asked, bytes):
        return [ToClient(asked)]
    try:
        error, _ = read_error(frame)
    except WireError:
        return [Counted("unreadable_frames", "telemetry_response"), ToClient(frame)]
    pushed = _reported(state, asked, copied=True) if error == NONE and asked is not None else []
    return [*pushed, ToClient(frame)]


def _taken(state: SessionState, telemetry: Telemetry, frame: bytes) -> tuple[int, list[Command]]:
    """The answer's error code, and the metrics, if there are any."""
    if LENGTH.unpack_from(frame)[0] > READ_LIMIT:
        return TELEMETRY_TOO_LARGE, []
    try:
        push = read_push(frame)
    except WireError:
        return INVALID_REQUEST, []
    error = telemetry.take(push, state.identity)
    return error, _reported(state, push, copied=False) if error == NONE else []


def _copied(state: SessionState, frame: bytes) -> list[Command]:
    try:
        push = read_push(frame)
    except WireError:
        return [Counted("unreadable_frames", "telemetry_request"), state.forward(frame, HANDLER, None)]
    return [state.forward(frame, HANDLER, push)]


def _reported(state: SessionState, push: PushedMetrics, copied: bool) -> list[Command]:
    """An ending client may push nothing but that it ends."""
    pushed = [MetricsPushed(push, now_ms(), copied)] if push.metrics else []
    return [*state.is_of_instance(push.instance_id), *pushed]


HANDLER: Handler[bytes | PushedMetrics | None] = Handler(PUSH_TELEMETRY, range(1), wants, request, response)
