"""The session: what the two directions of a connection's bytes mean, and who handles which key."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from time import monotonic
from typing import Protocol

from clientscope.errors import WireError
from clientscope.records.codec import PrincipalSource
from clientscope.session.allowance import charged, wait_s
from clientscope.session.handlers import (
    k17_sasl_handshake,
    k18_api_versions,
    k36_sasl_authenticate,
    k60_describe_cluster,
    k71_get_telemetry_subscriptions,
    k1324_push_config,
)
from clientscope.session.served import Served
from clientscope.session.state import (
    Command,
    Counted,
    Held,
    Identified,
    Identity,
    PendingApiVersions,
    PendingAuthenticate,
    PendingDescribeCluster,
    PendingHandshake,
    PendingNothing,
    PendingPush,
    PendingTelemetry,
    SessionState,
    Verdict,
)
from clientscope.session.unanswered import is_ours
from clientscope.wire.api_versions import Cursor
from clientscope.wire.codes import (
    API_VERSIONS,
    DESCRIBE_CLUSTER,
    GET_TELEMETRY_SUBSCRIPTIONS,
    PUSH_CONFIG,
    SASL_AUTHENTICATE,
    SASL_HANDSHAKE,
)
from clientscope.wire.describe_cluster import NEWEST as NEWEST_DESCRIBE_CLUSTER
from clientscope.wire.describe_cluster import BrokerSoftware
from clientscope.wire.frames import (
    FRAMES_PER_TURN,
    LENGTH,
    REQUEST_HEAD,
    RESPONSE_HEAD,
    SHORTEST_REQUEST,
    Discarded,
    Frame,
    FrameScanner,
    Passed,
    Treatment,
    Turn,
)

READ_LIMIT = 64 * 1024
"""A frame longer than this passes unread, PushConfig's apart: no client sends such, and a session's memory stays bounded."""
_ANSWER_LIMIT = 16 * READ_LIMIT
"""The longest answer to a request that was read; DescribeCluster lists every broker."""
_CORRELATION_ID = struct.Struct(">i")
_OTHERS_FIRST = Held(0.0)
_OTHERS_FIRST_OF_CLIENT = Held(FRAMES_PER_TURN / 16_000)
"""A client that sends many small requests at once has 16,000 a second of them looked at; a broker takes fewer from one connection."""
_IN_STEP = Held(None)
_FULL = Held(None, "unanswered")
_CROWDED = Held(None, "reserved_correlation_ids")
_CLIENT_ID_ROOM = REQUEST_HEAD.size + 2 + 1024
_HEADER_ROOM = 36_000
"""The most that a header adds to a push: client.id is an int16 string, and a tag section is not longer than the rest."""

Bytes = bytes | memoryview
Out = Command | Passed


class Observer(Protocol):
    """Who wants to see the head of each request and response that passes."""

    def request(self, head: bytes) -> None:
        """A request's first bytes, `REQUEST_HEAD`; again, when it came in parts."""

    def response(self, correlation_id: int) -> None:
        """A response has begun."""


class Session:
    """Feed it what was received from either side; do what it yields, in order.

    An iterator that yields `Held` goes on later, and what comes after it from that side waits: a client is read no faster than its broker
    answers, no more than its allowance (allowance.py), and a step of SASL at a time.

    Args:
        push_config: whether there is a policy; without one, key 1324 goes upstream like any unknown key.
        config_max_bytes: KIP-1324's client.config.max.bytes.
        sasl: whether the broker's listener asks for SASL authentication: no push is taken before it has succeeded.
        software: what the broker runs, for DescribeCluster (KIP-885); None leaves that untouched.
        served: what the broker serves, shared with other connections; requests beyond it are counted.
        clock: seconds; never goes back.

    Raises:
        WireError: from either direction's feeding: the stream is no Kafka protocol; close both sides.
    """

    __slots__ = ("_clock", "_first", "_full_at_s", "_requests", "_responses", "_state", "_unserved")

    def __init__(
        self,
        push_config: bool,
        config_max_bytes: int,
        sasl: bool = False,
        software: BrokerSoftware | None = None,
        served: Served | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._state = SessionState(push_config, config_max_bytes, software, sasl, not sasl, served=served or Served())
        self._full_at_s = 0.0
        self._clock = clock
        self._unserved: list[Command] = []
        self._requests = FrameScanner(REQUEST_HEAD.size, self._treat_request, SHORTEST_REQUEST)
        self._first = True
        # Fetch responses may be far larger than any request; the broker is trusted with its lengths.
        self._responses = FrameScanner(RESPONSE_HEAD.size, self._treat_response, 0, 2**31 - 1)

    @property
    def identity(self) -> Identity:
        """Who the client is, as far as it has said and the broker has accepted."""
        return self._state.identity

    @property
    def authenticated(self) -> bool:
        """Whether the broker has accepted the client, or asks for no SASL authentication."""
        return self._state.authenticated

    def named_by_certificate(self, principal: str) -> list[Command]:
        """The client has shown a certificate; where it authenticates by SASL too, that is what counts, as in Kafka."""
        if not self._state.authenticated:
            return []
        self._state.identity = replace(self._state.identity, principal=principal, principal_source=PrincipalSource.CERTIFICATE)
        return [Identified(self._state.identity)]

    def from_client(self, data: bytes) -> Iterator[Out]:
        """What to do with bytes from the client; `Passed` goes to the broker."""
        for piece in self._requests.feed(data):
            if isinstance(piece, Passed):
                if self._first:
                    yield from self._named_by_header(piece.data)
                yield piece
                self._first = False
            elif isinstance(piece, Turn):
                yield _OTHERS_FIRST_OF_CLIENT
            else:
                self._first = False
                data = piece.head if isinstance(piece, Discarded) else piece.data
                self._full_at_s = charged(self._full_at_s, len(data), self._clock(), self._state.config_max_bytes)
                if isinstance(piece, Discarded):
                    yield from k1324_push_config.too_large(self._state, piece.head)
                else:
                    yield from self._request(piece)
                while (held := self._held()) is not None:
                    yield held
            if self._state.unanswered.crowded:
                yield from self._settle()
        if self._unserved:
            unserved, self._unserved = self._unserved, []
            yield from unserved

    def from_broker(self, data: bytes) -> Iterator[Out]:
        """What to do with bytes from the broker; `Passed` goes to the client."""
        for piece in self._responses.feed(data):
            if isinstance(piece, Frame):
                yield from self._response(piece.data)
            elif isinstance(piece, Passed):
                yield piece
            elif isinstance(piece, Turn):
                yield _OTHERS_FIRST

    def _held(self) -> Held | None:
        """Why the client's next frame is not looked at now."""
        state = self._state
        if state.in_step:
            return _IN_STEP
        if state.unanswered.full:
            return _FULL
        seconds = wait_s(self._full_at_s, self._clock())
        return Held(seconds, "allowance") if seconds else None

    def _settle(self) -> Iterator[Command]:
        """Waits until the broker has answered all that the client has sent, since it has used too many ids of the gateway's own."""
        state = self._state
        if not state.authenticated:
            raise WireError("reserved_correlation_ids")  # SASL allows no carrier here
        if not state.unanswered.full:
            yield state.carrier(0, PendingNothing())
        while state.unanswered.crowded:
            yield _CROWDED

    def observe(self, observer: Observer | None) -> None:
        """Shows it each head from now on, bare SASL tokens apart; None ends that. Without an observer none of it costs anything."""
        self._requests.treat = self._treat_request if observer is None else partial(self._show_request, observer)
        self._responses.treat = self._treat_response if observer is None else partial(self._show_response, observer)

    @property
    def between_requests(self) -> bool:
        """Whether the client could be cut off here without cutting a request in two."""
        return self._requests.between_frames

    @property
    def passable(self) -> bool:
        """Whether nobody would notice if every byte passed from here on: none is held, and no answer is awaited that is read."""
        return not (self._requests.holds or self._responses.holds or self._state.unanswered or self._state.awaited)

    @property
    def held_bytes(self) -> int:
        """How many bytes of frames that aren't whole yet are kept here."""
        return self._requests.held_bytes + self._responses.held_bytes

    @property
    def unanswered_pushes(self) -> int:
        """How many pushes are under way: lost, if the connection ends now."""
        state = self._state
        if not state.unanswered:
            return int(state.awaited is not None)
        return sum(isinstance(pending, PendingPush) for pending in state.unanswered.pending()) + (state.awaited is not None)

    def end(self) -> None:
        """Drops what is held: the connection has ended."""
        for scanner in (self._requests, self._responses):
            scanner.end()

    def answer(self, token: int, verdict: Verdict) -> list[Command]:
        """The verdict on a push; of several, the first counts."""
        return k1324_push_config.answer(self._state, token, verdict)

    def _named_by_header(self, data: Bytes) -> list[Command]:
        """client.id from the very first request, for clients that begin with another than ApiVersions; best effort."""
        try:
            client_id = Cursor(bytes(data[:_CLIENT_ID_ROOM]), REQUEST_HEAD.size).nullable_string()
        except WireError:
            return []
        if client_id is None:
            return []
        self._state.identity = replace(self._state.identity, client_id=client_id)
        return [Identified(self._state.identity)]

    def _request(self, piece: Frame) -> list[Command]:
        if self._bare_tokens:
            return k17_sasl_handshake.token(self._state, piece.data)
        _, key, _, _ = REQUEST_HEAD.unpack_from(piece.data)
        return _REQUEST_HANDLERS[key](self._state, piece.data)

    def _response(self, frame: bytes) -> list[Command]:
        if self._bare_tokens:
            commands = k17_sasl_handshake.token_answer(self._state, frame)
            self._follow_sasl()
            return commands
        _, upstream_id = RESPONSE_HEAD.unpack_from(frame)
        correlation_id, pending = self._state.unanswered.answered(upstream_id)
        frame = frame[: LENGTH.size] + _CORRELATION_ID.pack(correlation_id) + frame[RESPONSE_HEAD.size :]
        if isinstance(pending, PendingPush):
            return k1324_push_config.response(self._state, pending)
        if isinstance(pending, PendingApiVersions):
            return k18_api_versions.response(self._state, pending, frame)
        if isinstance(pending, PendingDescribeCluster):
            return k60_describe_cluster.response(self._state, pending, frame)
        if isinstance(pending, PendingTelemetry):
            return k71_get_telemetry_subscriptions.response(self._state, frame)
        if isinstance(pending, PendingNothing):
            return []
        self._state.in_step = False
        if isinstance(pending, PendingAuthenticate):
            return k36_sasl_authenticate.response(self._state, pending, frame)
        assert isinstance(pending, PendingHandshake)
        commands = k17_sasl_handshake.response(self._state, pending, frame)
        self._follow_sasl()
        return commands

    @property
    def _bare_tokens(self) -> bool:
        exchange = self._state.exchange
        return exchange is not None and not exchange.framed

    def _follow_sasl(self) -> None:
        """Bare tokens have no head but their length, in either direction."""
        self._requests.head_size, self._responses.head_size = (
            (LENGTH.size, LENGTH.size) if self._bare_tokens else (REQUEST_HEAD.size, RESPONSE_HEAD.size)
        )

    def _show_request(self, observer: Observer, head: bytes) -> Treatment:
        if not self._bare_tokens:
            observer.request(head)
        return self._treat_request(head)

    def _show_response(self, observer: Observer, head: bytes) -> Treatment:
        if not self._bare_tokens:
            correlation_id = RESPONSE_HEAD.unpack_from(head)[1]
            if (asked := self._state.unanswered.client_id(correlation_id)) is not None:
                correlation_id = asked
            observer.response(correlation_id)
        return self._treat_response(head)

    def _treat_request(self, head: bytes) -> Treatment:
        if self._bare_tokens:
            return _read_if_short(head)
        length, key, version, correlation_id = REQUEST_HEAD.unpack_from(head)
        state = self._state
        if correlation_id < 0 and is_ours(correlation_id):
            state.unanswered.note(correlation_id)
        if key == API_VERSIONS:
            return _read_if_short(head)
        if key == PUSH_CONFIG and state.push_config:
            return Treatment.READ if length <= state.config_max_bytes + _HEADER_ROOM else Treatment.DISCARD
        if key == DESCRIBE_CLUSTER and state.software is not None and 0 <= version <= NEWEST_DESCRIBE_CLUSTER:
            return _read_if_short(head)
        if key == GET_TELEMETRY_SUBSCRIPTIONS and 0 <= version <= k71_get_telemetry_subscriptions.NEWEST:
            return _read_if_short(head)
        if key == SASL_HANDSHAKE and 0 <= version <= k17_sasl_handshake.NEWEST and self._takes_handshake:
            if version == 0:
                # What follows are bare tokens of the mechanism, which may be shorter than any request.
                self._requests.shortest = 0
            return _read_if_short(head)
        if key == SASL_AUTHENTICATE and 0 <= version <= k36_sasl_authenticate.NEWEST and state.exchange is not None:
            return _read_if_short(head)
        if (lack := state.served.lacks(key, version)) is not None:
            self._unserved.append(Counted("requests_unserved", lack))
        return Treatment.PASS

    @property
    def _takes_handshake(self) -> bool:
        """Whether the broker may take a SaslHandshake now."""
        state = self._state
        return state.sasl and state.exchange is None and (state.reauthenticates or not state.accepted)

    def _treat_response(self, head: bytes) -> Treatment:
        if self._bare_tokens:
            return _read_if_short(head)
        length, correlation_id = RESPONSE_HEAD.unpack_from(head)
        if correlation_id not in self._state.unanswered:
            return Treatment.PASS
        if length > _ANSWER_LIMIT:
            raise WireError("long_answer", f"{length} bytes")
        return Treatment.READ


def _read_if_short(head: bytes) -> Treatment:
    return Treatment.READ if LENGTH.unpack_from(head)[0] <= READ_LIMIT else Treatment.PASS


_REQUEST_HANDLERS: dict[int, Callable[[SessionState, bytes], list[Command]]] = {
    SASL_HANDSHAKE: k17_sasl_handshake.request,
    API_VERSIONS: k18_api_versions.request,
    SASL_AUTHENTICATE: k36_sasl_authenticate.request,
    DESCRIBE_CLUSTER: k60_describe_cluster.request,
    GET_TELEMETRY_SUBSCRIPTIONS: k71_get_telemetry_subscriptions.request,
    PUSH_CONFIG: k1324_push_config.request,
}
