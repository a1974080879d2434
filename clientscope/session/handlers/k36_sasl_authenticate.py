"""SaslAuthenticate (key 36): one step of the exchange that SaslHandshake v1 began (KIP-152; KIP-368 for authenticating again).

Behavior:
- Everything passes unchanged except the correlation id, one step at a time: what the client sends after a step waits until the broker
  has answered that step, as in Kafka's SaslServerAuthenticator.
- The exchange's first token names the principal that the client claims; it is known once the broker has accepted it.
- A step that can't be read leaves the exchange unfinished: the principal stays unknown, and pushes are refused.
- The last answer of v1 and v2 has the session's lifetime: where there is one, another exchange may follow.
"""

from __future__ import annotations

from contextlib import suppress

from clientscope.errors import WireError
from clientscope.session.handler import Handler, if_short
from clientscope.session.handlers import k17_sasl_handshake
from clientscope.session.state import Command, SessionState, ToClient
from clientscope.wire.codes import NONE, SASL_AUTHENTICATE
from clientscope.wire.cursor import Cursor
from clientscope.wire.frames import REQUEST_HEAD, RESPONSE_HEAD, Treatment

_FIRST_WITH_LIFETIME = 1
_FIRST_FLEXIBLE = 2


def wants(state: SessionState, head: bytes) -> Treatment:
    """Reads it while an exchange is under way."""
    return if_short(head) if state.exchange is not None else Treatment.PASS


def request(state: SessionState, frame: bytes) -> list[Command]:
    """A token from the client."""
    _, _, version, _ = REQUEST_HEAD.unpack_from(frame)
    cursor = Cursor(frame, REQUEST_HEAD.size)
    token = None
    with suppress(WireError):
        cursor.nullable_string()
        if version >= _FIRST_FLEXIBLE:
            cursor.tags()
        token = cursor.compact_byte_array() if version >= _FIRST_FLEXIBLE else cursor.byte_array()
    k17_sasl_handshake.claim(state, token)
    state.in_step = True
    return [state.forward(frame, HANDLER, version)]


def response(state: SessionState, api_version: int, frame: bytes) -> list[Command]:
    """The broker's answer to it."""
    state.in_step = False
    flexible = api_version >= _FIRST_FLEXIBLE
    cursor = Cursor(frame, RESPONSE_HEAD.size)
    try:
        if flexible:
            cursor.tags()
        code = cursor.int16()
        _ = cursor.compact_nullable_string() if flexible else cursor.nullable_string()
        token = cursor.compact_byte_array() if flexible else cursor.byte_array()
        lifetime_ms = cursor.int64() if api_version >= _FIRST_WITH_LIFETIME else 0
    except WireError:
        return [ToClient(frame)]
    if code != NONE:
        return [ToClient(frame)]
    state.reauthenticates = lifetime_ms > 0
    return [*k17_sasl_handshake.accepted(state, token), ToClient(frame)]


HANDLER = Handler(SASL_AUTHENTICATE, range(3), wants, request, response)
