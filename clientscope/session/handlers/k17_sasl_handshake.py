"""SaslHandshake (key 17): the mechanism by which the client will authenticate and, with v0, the bare tokens that follow.

KIP-43; KIP-152 put the tokens into SaslAuthenticate, see k36_sasl_authenticate.py.

Behavior:
- Everything passes unchanged except the correlation id. The broker alone decides; what it accepts begins an exchange, whether it is the
  first one of a connection or a later one (KIP-368). What the client sends behind a step waits until the broker has answered that.
- A listener without SASL, and one that has accepted the client for good, refuses (ILLEGAL_SASL_STATE): there nothing is read.
- The client's identity stays the same once an exchange is complete; Kafka refuses another principal on one connection.
- v1: the tokens come as SaslAuthenticate requests.
- v0: they come as bare frames, in both directions, until the exchange is complete. Of a mechanism whose end we can't tell (GSSAPI)
  they pass unread, and the broker is the only judge: it closes on anything but a token.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from clientscope.errors import WireError
from clientscope.session import sasl
from clientscope.session.handler import BareTokens, Handler, if_short
from clientscope.session.state import Command, Exchange, Identified, SessionState, ToBroker, ToClient
from clientscope.wire.codes import NONE, SASL_HANDSHAKE
from clientscope.wire.cursor import Cursor
from clientscope.wire.frames import LENGTH, REQUEST_HEAD, RESPONSE_HEAD, Treatment


@dataclass(frozen=True, slots=True)
class _Asked:
    """A mechanism that the client names."""

    mechanism: str
    api_version: int


def wants(state: SessionState, head: bytes) -> Treatment:
    """Reads it where the broker may take it now."""
    taken = state.sasl and state.exchange is None and (state.reauthenticates or not state.accepted)
    return if_short(head) if taken else Treatment.PASS


def request(state: SessionState, frame: bytes) -> list[Command]:
    """The client names a mechanism."""
    _, _, version, _ = REQUEST_HEAD.unpack_from(frame)
    cursor = Cursor(frame, REQUEST_HEAD.size)
    try:
        cursor.nullable_string()
        mechanism = cursor.nullable_string()
    except WireError:
        mechanism = None
    state.in_step = True
    if version == 0:
        state.shortest_request = 0  # what follows are bare tokens of the mechanism, which may be shorter than any request
    return [state.forward(frame, HANDLER, _Asked(mechanism or "", version))]


def response(state: SessionState, asked: _Asked, frame: bytes) -> list[Command]:
    """The broker takes it, or doesn't."""
    state.in_step = False
    if Cursor(frame, RESPONSE_HEAD.size).int16() == NONE:
        framed = asked.api_version > 0
        # Nobody but the broker sees the end of bare tokens of an unknown mechanism.
        state.authenticated = not framed and not sasl.understood(asked.mechanism)
        state.exchange = None if state.authenticated else Exchange(asked.mechanism, framed)
        state.bare_tokens = None if framed or state.authenticated else _BARE_TOKENS
    return [ToClient(frame)]


def _token(state: SessionState, frame: bytes) -> list[Command]:
    """A bare token from the client."""
    claim(state, frame[LENGTH.size :])
    state.in_step = True
    return [ToBroker(frame)]


def _token_answer(state: SessionState, frame: bytes) -> list[Command]:
    """A bare token from the broker."""
    state.in_step = False
    return [*accepted(state, frame[LENGTH.size :]), ToClient(frame)]


def claim(state: SessionState, token: bytes | None) -> None:
    """Remembers the principal that an exchange's first token names, and nothing else of it; None is a token that can't be read."""
    exchange = state.exchange
    if exchange is not None and exchange.claimed is None:
        claimed = sasl.Principal() if token is None else sasl.claimed(exchange.mechanism, token)
        state.exchange = replace(exchange, claimed=claimed)


def accepted(state: SessionState, token: bytes) -> list[Command]:
    """The broker has sent ``token`` without an error; if that ends the exchange, the client has the principal that it claimed."""
    exchange = state.exchange
    if exchange is None or (sasl.understood(exchange.mechanism) and not sasl.complete(exchange.mechanism, token)):
        return []
    again = state.accepted
    state.exchange, state.bare_tokens, state.authenticated, state.accepted = None, None, True, True
    if again:
        return []
    principal = exchange.claimed or sasl.Principal()
    before = state.identity
    state.identity = replace(before, principal=principal.name, principal_source=principal.source)
    return [Identified(state.identity)] if state.identity != before else []


_BARE_TOKENS = BareTokens(_token, _token_answer)
HANDLER = Handler(SASL_HANDSHAKE, range(2), wants, request, response)
