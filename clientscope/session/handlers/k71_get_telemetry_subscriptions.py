"""GetTelemetrySubscriptions (key 71): what a client is to measure, and its instance id (KIP-714).

A current client that sends no id in ApiVersions still has one if its broker collects telemetry: the broker's answer
brings it, and KIP-1324 wants both to be one.

Behavior:
- Where the gateway has offered telemetry, it answers: with an id, a subscription, or THROTTLING_QUOTA_EXCEEDED; INVALID_REQUEST where
  it can't read the request. Such an answer has its turn by a carrier (see state.py).
- Elsewhere request and answer pass unchanged except for the correlation id; an answer without an error makes the identity's instance id the
  one that it carries.
- An id that the client sent in ApiVersions stays, and one that differs from it is counted.
- An unknown version, and an answer that can't be read, pass unread.
"""

from __future__ import annotations

from clientscope.errors import WireError
from clientscope.session.handler import Handler, if_short
from clientscope.session.state import Command, Counted, SessionState, ToClient
from clientscope.session.telemetry import MAX_BYTES, Telemetry
from clientscope.wire.codes import ERROR_NAMES, GET_TELEMETRY_SUBSCRIPTIONS, INVALID_REQUEST, NONE, THROTTLING_QUOTA_EXCEEDED
from clientscope.wire.frames import REQUEST_HEAD, Treatment
from clientscope.wire.telemetry import read_error, read_subscriptions_request, write_subscription


def wants(state: SessionState, head: bytes) -> Treatment:
    """Reads every request that is short enough; a longer one is no such request, and only a broker may be asked that."""
    return if_short(head, Treatment.DISCARD if state.telemetry_offered else Treatment.PASS)


def request(state: SessionState, frame: bytes) -> list[Command]:
    """The client asks what to measure."""
    if state.telemetry is None or not state.telemetry_offered:
        return [state.forward(frame, HANDLER, None)]
    if not state.authenticated:
        raise WireError("unauthenticated_telemetry")
    return _answered(state, state.telemetry, frame)


def response(state: SessionState, asked: bytes | None, frame: bytes) -> list[Command]:
    """The carrier has come back, or the broker has answered."""
    if asked is not None:
        return [ToClient(asked)]
    try:
        error, cursor = read_error(frame)
        given = cursor.uuid()
    except WireError:
        return [Counted("unreadable_frames", "telemetry_response"), ToClient(frame)]
    named = state.is_of_instance(given) if error == NONE and given is not None else []
    return [*named, ToClient(frame)]


def _answered(state: SessionState, telemetry: Telemetry, frame: bytes) -> list[Command]:
    correlation_id = REQUEST_HEAD.unpack_from(frame)[3]
    error, named = NONE, list[Command]()
    try:
        instance_id, asked = telemetry.subscribe(read_subscriptions_request(frame), state.identity)
    except WireError:
        error = INVALID_REQUEST
    else:
        if asked is None:
            error = THROTTLING_QUOTA_EXCEEDED
        else:
            named = state.is_of_instance(instance_id)
            own_id = asked.id_of(instance_id)
            answer = write_subscription(correlation_id, NONE, instance_id, own_id, asked.interval_ms, asked.prefixes, MAX_BYTES)
    if error != NONE:
        answer = write_subscription(correlation_id, error)
    return [Counted("telemetry_answered", ERROR_NAMES[error]), *named, state.carrier(correlation_id, HANDLER, answer)]


HANDLER: Handler[bytes | None] = Handler(GET_TELEMETRY_SUBSCRIPTIONS, range(1), wants, request, response)
