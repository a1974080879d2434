"""GetTelemetrySubscriptions (key 71): the client instance id that a broker assigned (KIP-714).

A current client that sends no id in ApiVersions still has one if its broker collects telemetry: the broker's answer
brings it, and KIP-1324 wants both to be one.

Behavior:
- Request and answer pass unchanged except for the correlation id; an answer without an error makes the identity's instance id the
  one that it carries.
- An id that the client sent in ApiVersions stays, and one that differs from it is counted.
- An unknown version, and an answer that can't be read, pass unread.
"""

from __future__ import annotations

from dataclasses import replace

from clientscope.errors import WireError
from clientscope.session.handler import Handler, always
from clientscope.session.state import Command, Counted, Identified, SessionState, ToClient
from clientscope.wire.codes import GET_TELEMETRY_SUBSCRIPTIONS, NONE
from clientscope.wire.cursor import Cursor
from clientscope.wire.frames import RESPONSE_HEAD


def request(state: SessionState, frame: bytes) -> list[Command]:
    """The client asks what to measure."""
    return [state.forward(frame, HANDLER, None)]


def response(state: SessionState, _: None, frame: bytes) -> list[Command]:
    """The broker answers."""
    try:
        cursor = Cursor(frame, RESPONSE_HEAD.size)
        cursor.tags()
        cursor.int32()  # ThrottleTimeMs
        error = cursor.int16()
        given = cursor.uuid()
    except WireError:
        return [Counted("unreadable_frames", "telemetry_response"), ToClient(frame)]
    known = state.identity.instance_id
    if error != NONE or given is None or given == known:
        return [ToClient(frame)]
    if known is not None:
        return [Counted("unreadable_frames", "telemetry_other_instance"), ToClient(frame)]
    state.identity = replace(state.identity, instance_id=given)
    return [Identified(state.identity), ToClient(frame)]


HANDLER = Handler(GET_TELEMETRY_SUBSCRIPTIONS, range(1), always, request, response)
