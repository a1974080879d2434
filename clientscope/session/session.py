"""Session: the meaning of both directions of a connection's bytes, and the choice of the handler of each key."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import replace
from time import monotonic
from typing import Protocol

from clientscope.bounded import Shared
from clientscope.errors import WireError
from clientscope.model.enums import PrincipalSource
from clientscope.model.requested_versions import MOST_VERSIONS, pair
from clientscope.session import addresses
from clientscope.session.addresses import BrokerAddresses
from clientscope.session.handler import READ_LIMIT, if_short
from clientscope.session.handlers import HANDLERS, k1324_push_config
from clientscope.session.requested import MOST_SETS, NOTHING, Served, known
from clientscope.session.shown import Looking
from clientscope.session.state import (
    UNSEEN,
    Command,
    Counted,
    Held,
    Identified,
    Identity,
    PushAnswer,
    RequestFields,
    SessionState,
)
from clientscope.session.telemetry import Telemetry
from clientscope.session.unanswered import Unanswered, is_ours
from clientscope.wire.codes import API_VERSIONS, CONFIG_MAX_BYTES
from clientscope.wire.cursor import Cursor
from clientscope.wire.describe_cluster import NO_SOFTWARE, BrokerSoftware
from clientscope.wire.frames import (
    FRAMES_PER_TURN,
    LENGTH,
    MOST_PEEKED,
    REQUEST_HEAD,
    RESPONSE_HEAD,
    SHORTEST_REQUEST,
    Discarded,
    Frame,
    FrameScanner,
    Part,
    Passed,
    Peeked,
    Treatment,
    Turn,
)

# Allowance of bytes per second that are read from a connection rather than passed: a token bucket, charged before decoding.
#
# Reading costs time that other connections' bytes wait for. An honest client has a few hundred bytes read when it connects, and one push;
# a client beyond that must wait, as a Kafka broker mutes a channel over its quota (KIP-219). No I/O; time is passed in.
#
# The bucket is a single number, since thousands of connections have one: the time at which it is full again (the generic cell rate
# algorithm, ITU-T I.371).

LEAST_BURST_BYTES = 64 * 1024
"""What may be read at once: six pushes of KIP-1324's greatest size, or a Kerberos ticket."""
FULL_AFTER_S = 16.0
"""How long an empty bucket takes to fill."""
FRAME_BYTES = 256
"""What a frame costs beside its own bytes."""


def charged(full_at_s: float, frame_bytes: int, now_s: float, push_bytes: int) -> float:
    """When the bucket is full again, once a frame of this size is read; the last frame may take more than there is.

    Args:
        now_s: a clock that never goes back.
        push_bytes: the largest push that is taken; six of them may be read at once, and one every three seconds.
    """
    burst = max(LEAST_BURST_BYTES, 6 * push_bytes)
    return max(full_at_s, now_s) + (FRAME_BYTES + frame_bytes) * FULL_AFTER_S / burst


def wait_s(full_at_s: float, now_s: float) -> float:
    """How long until the next frame may be read; 0 where it may be now."""
    return max(0.0, full_at_s - now_s - FULL_AFTER_S)


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
_MOST_UNNAMED = 16
"""Requests without a client.id after which a connection's client counts as one without a name, and its requests pass unseen."""
_BY_KEY = {handler.key: handler for handler in HANDLERS}
_versioned_head = struct.Struct(">iIi").unpack_from
"""As `REQUEST_HEAD`, with api_key and api_version as one number, a `pair`."""
_response_head = RESPONSE_HEAD.unpack_from

Bytes = bytes | memoryview
Out = Command | Passed


class Log(Protocol):
    """A request log's end of a connection, which sees the header of each request and response that passes."""

    def request(self, head: bytes) -> None:
        """A request's first bytes, `REQUEST_HEAD`; again, when it came in parts."""

    def response(self, correlation_id: int) -> None:
        """A response has begun."""

    def received(self, between_requests: bool) -> None:
        """What has come so far has been looked at."""

    def end(self) -> None:
        """Nothing more comes."""


class Session:
    """Feed it what was received from either side; do what it yields, in order.

    An iterator that yields `Held` continues later, and later bytes from that side wait: a client is read no faster than its broker
    answers, no more than its allowance, and one step of SASL at a time.

    Args:
        push_config: whether there is a policy; without one, key 1324 goes upstream like any unknown key.
        config_max_bytes: KIP-1324's client.config.max.bytes.
        sasl: whether the broker's listener asks for SASL authentication: no push is taken before it has succeeded.
        software: what the broker runs, for DescribeCluster (KIP-885).
        served: what the broker serves, shared with other connections; requests beyond it are counted.
        versions: holds what connections have requested, shared with other connections.
        fields: the same of what their requests show of settings; None if requests aren't looked into.
        clock: seconds; never goes back.
        identity: of a client that has sent nothing yet: `UNAUTHENTICATED` if it need not authenticate.
        addresses: the addresses of brokers that answers get, shared with other connections; None where they pass.
        telemetry: what clients' telemetry is asked and taken by, shared with other connections; None where it passes.
        cluster_id: of the topics' cluster; another one in the first Metadata answer is `OtherCluster`. Empty: nobody looks.

    Attributes:
        requested: versions that the client has requested since the last `forget_requested`, as `pair` numbers.

    Raises:
        WireError: from either direction's feeding: the stream is no Kafka protocol; close both sides.
    """

    __slots__ = (
        "_clock", "_counted", "_full_at_s", "_log", "_looking", "_passing", "_requests", "_responses", "_state", "_unnamed",
        "_versions", "requested",
    )  # fmt: skip

    def __init__(
        self,
        push_config: bool = True,
        config_max_bytes: int = CONFIG_MAX_BYTES,
        sasl: bool = False,
        software: BrokerSoftware = NO_SOFTWARE,
        served: Served | None = None,
        clock: Callable[[], float] = monotonic,
        identity: Identity = UNSEEN,
        versions: Shared[frozenset[int]] | None = None,
        fields: Shared[RequestFields] | None = None,
        addresses: BrokerAddresses | None = None,
        telemetry: Telemetry | None = None,
        cluster_id: str = "",
    ) -> None:
        self._state = SessionState(
            push_config, config_max_bytes, software, sasl, not sasl, served=served or Served(), identity=identity, addresses=addresses,
            telemetry=telemetry, cluster_id=cluster_id,
        )  # fmt: skip
        self._full_at_s = 0.0
        self._clock = clock
        self._counted: list[Command] = []
        self._versions = Shared(MOST_SETS) if versions is None else versions
        self._looking = None if fields is None else Looking(fields)
        self.requested = self._passing = NOTHING
        self._requests = FrameScanner(REQUEST_HEAD.size, SHORTEST_REQUEST)
        self._unnamed = _MOST_UNNAMED
        self._log: Log | None = None
        # Fetch responses may be far larger than any request; the broker is trusted with its lengths.
        self._responses = FrameScanner(RESPONSE_HEAD.size, 0, 2**31 - 1)

    @property
    def identity(self) -> Identity:
        """The client's identity, as far as it has sent it and the broker has accepted it."""
        return self._state.identity

    @property
    def unanswered(self) -> Unanswered:
        """Requests that await an answer which is read."""
        return self._state.unanswered

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

    def passes_from_client(self, data: bytes) -> bool:
        """Whether these bytes go to the broker as they are: then that is all there is to do. If not, nothing has changed: `from_client`.

        Only where nothing that it has yielded is still to be done.
        """
        if self._unnamed or self._log is not None or self._state.bare_tokens is not None:
            return False
        return self._requests.skip(data, self._passes_upstream)

    def passes_from_broker(self, data: bytes) -> bool:
        """The same of the broker's: these bytes go to the client."""
        if self._log is not None or self._state.bare_tokens is not None:
            return False
        return self._responses.skip(data, self._passes_downstream)

    def _passes_upstream(self, data: bytes, position: int) -> bool:
        """Whether `_treat_request` would let a request pass, and change nothing: as it did with the last one of this version."""
        _, version, correlation_id = _versioned_head(data, position)
        return version in self._passing and not (correlation_id < 0 and is_ours(correlation_id))

    def _passes_downstream(self, data: bytes, position: int) -> bool:
        return _response_head(data, position)[1] not in self._state.unanswered

    def from_client(self, data: bytes) -> Iterator[Out]:
        """What to do with bytes from the client; `Passed` goes to the broker."""
        for piece in self._requests.feed(data, self._treat_request):
            if isinstance(piece, Passed):
                yield piece
            elif isinstance(piece, Peeked):
                if self._unnamed:
                    yield from self._named_by_header(piece.data)
                yield from self._look(piece)
            elif isinstance(piece, Turn):
                yield _OTHERS_FIRST_OF_CLIENT
            elif isinstance(piece, Part):
                yield from self._forward(piece)
            else:
                frame = piece.head if isinstance(piece, Discarded) else piece.data
                self._full_at_s = charged(self._full_at_s, len(frame), self._clock(), self._state.config_max_bytes)
                yield from self._request(frame)
                while (held := self._held()) is not None:
                    yield held
            if self._state.unanswered.crowded:
                yield from self._settle()
        if self._counted:
            counted, self._counted = self._counted, []
            yield from counted

    def from_broker(self, data: bytes) -> Iterator[Out]:
        """What to do with bytes from the broker; `Passed` goes to the client."""
        for piece in self._responses.feed(data, self._treat_response):
            if isinstance(piece, Frame):
                yield from self._response(piece.data)
            elif isinstance(piece, Passed):
                yield piece
            elif isinstance(piece, Turn):
                yield _OTHERS_FIRST
            elif isinstance(piece, Part):
                yield from self._walk(piece)

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
            yield state.carrier(0, None, None)
        while state.unanswered.crowded:
            yield _CROWDED

    def _forward(self, part: Part) -> Iterator[Out]:
        """A request whose answer is read as it comes."""
        state = self._state
        if not part.first:
            yield Passed(part.data)
            return
        if self._unnamed:
            yield from self._named_by_header(part.data)
        seen = part.data[:MOST_PEEKED]
        yield from self._look(Peeked(seen, part.last and len(seen) == len(part.data)))
        yield addresses.forward(state, part.data)
        while state.unanswered.nearly_full:  # with acks=0 nothing may be answered by itself
            if not state.unanswered.full and all(pending.walk for pending in state.unanswered.pending().values()):
                yield state.carrier(0, None, None)
            yield _FULL

    def _walk(self, part: Part) -> Iterator[Out]:
        """An answer that is read as it comes."""
        state, data = self._state, part.data
        if part.first:
            pending = state.unanswered.answered(RESPONSE_HEAD.unpack_from(data)[1])
            state.walk = pending.walk
            data = data[: LENGTH.size] + _CORRELATION_ID.pack(pending.client_id) + data[RESPONSE_HEAD.size :]
        assert state.walk is not None
        yield from state.walk.feed(data, part.last)
        if part.last:
            state.walk = None

    def observe(self, log: Log | None) -> None:
        """Shows it each head from now on, bare SASL tokens apart; None ends that. Without a log none of it costs anything."""
        self._log = log

    @property
    def between_requests(self) -> bool:
        """Whether the client could be cut off here without cutting a request in two."""
        return self._requests.between_frames

    @property
    def passable(self) -> bool:
        """Whether every byte could pass from here on without a difference: none is held, and no answer is awaited that is read."""
        return not (self._requests.holds or self._responses.holds or self._state.unanswered or self._state.awaited)

    @property
    def held_bytes(self) -> int:
        """How many bytes of frames that aren't whole yet are kept here."""
        walk = self._state.walk
        return len(self._requests.held) + len(self._responses.held) + (walk.held_bytes if walk is not None else 0)

    @property
    def unanswered_pushes(self) -> int:
        """How many pushes are under way: lost, if the connection ends now."""
        state = self._state
        awaited = int(state.awaited is not None)
        if not state.unanswered:
            return awaited
        return awaited + sum(pending.handler is k1324_push_config.HANDLER for pending in state.unanswered.pending().values())

    def end(self) -> None:
        """Drops what is held: the connection has ended."""
        for scanner in (self._requests, self._responses):
            scanner.end()
        self._state.walk = None

    def answer(self, token: int, answer: PushAnswer) -> list[Command]:
        """The answer to a push; of several, the first counts."""
        return k1324_push_config.answer(self._state, token, answer)

    def _named_by_header(self, data: Bytes) -> list[Command]:
        """client.id from the first request that has one, for clients whose ApiVersions has none; best effort.

        Later ones don't count: a client may send it once on a connection (KIP-1313).
        """
        if self._state.last_api_versions is not None and self._state.unanswered:
            return []  # the answer to ApiVersions is awaited, which names the client
        self._unnamed -= 1
        try:
            client_id = Cursor(bytes(data[:_CLIENT_ID_ROOM]), REQUEST_HEAD.size).nullable_string()
        except WireError:
            return []
        if client_id is None or client_id == self._state.identity.client_id:
            return []
        if client_id:
            self._unnamed = 0
        self._state.identity = replace(self._state.identity, client_id=client_id)
        return [Identified(self._state.identity)]

    def _request(self, frame: bytes) -> list[Command]:
        state = self._state
        if (bare := state.bare_tokens) is not None:
            return bare.request(state, frame)
        _, key, _, _ = REQUEST_HEAD.unpack_from(frame)
        named = self._named_by_header(frame) if self._unnamed and key != API_VERSIONS else []
        commands = _BY_KEY[key].request(state, frame)
        self._requests.shortest = state.shortest_request
        return [*named, *commands] if named else commands

    def _response(self, frame: bytes) -> list[Command]:
        state = self._state
        if (bare := state.bare_tokens) is not None:
            commands = bare.response(state, frame)
        else:
            _, upstream_id = RESPONSE_HEAD.unpack_from(frame)
            pending = state.unanswered.answered(upstream_id)
            if pending.handler is None:
                return []
            frame = frame[: LENGTH.size] + _CORRELATION_ID.pack(pending.client_id) + frame[RESPONSE_HEAD.size :]
            commands = pending.handler.response(state, pending.asked, frame)
            if state.identity.client_id:
                self._unnamed = 0
        # Bare tokens have no head but their length, in either direction.
        bare_now = state.bare_tokens is not None
        self._requests.head_size = LENGTH.size if bare_now else REQUEST_HEAD.size
        self._responses.head_size = LENGTH.size if bare_now else RESPONSE_HEAD.size
        return commands

    def _treat_request(self, head: bytes) -> Treatment:
        state = self._state
        if state.bare_tokens is not None:
            return if_short(head)
        if self._log is not None:
            self._log.request(head)
        _, key, version, correlation_id = REQUEST_HEAD.unpack_from(head)
        if correlation_id < 0 and is_ours(correlation_id):
            state.unanswered.note(correlation_id)
        recorded = self._record(key, version)
        if state.addresses is not None:
            if state.addresses.requires(key, version):
                return Treatment.PARTS
        elif state.cluster_id and addresses.is_asked(key, version):
            return Treatment.PARTS
        if (handler := _BY_KEY.get(key)) is not None and (handler.versions is None or version in handler.versions):
            treatment = handler.wants(state, head)
            if treatment is not Treatment.PASS:
                return treatment
        if (lack := state.served.lacks(key, version)) is not None:
            self._counted.append(Counted("requests_unserved", lack))
        elif self._looks_into(key, version):
            return Treatment.PEEK
        elif recorded and key not in _BY_KEY:
            self._passing = self._versions.same(self._passing | {pair(key, version)})
        return Treatment.PEEK if self._unnamed else Treatment.PASS

    def _record(self, key: int, version: int) -> bool:
        """Keeps a version that the client requests, but none that it makes up; whether it is kept."""
        if (requested := pair(key, version)) in self.requested:
            return True
        if requested not in known() and not self._state.served.has(key, version):
            return False
        if len(self.requested) >= MOST_VERSIONS:
            self._counted.append(Counted("versions_unrecorded", "most_versions"))
            return False
        self.requested = self._versions.same(self.requested | {requested})
        return True

    @property
    def shown(self) -> tuple[RequestFields, ...]:
        """What its requests have shown of the client's settings."""
        return self._looking.shown if self._looking is not None else ()

    def look_again(self) -> None:
        """Looks into one more request of each kind."""
        if self._looking is not None:
            self._looking.again()
            self._passing = NOTHING

    def _looks_into(self, key: int, version: int) -> bool:
        return self._looking is not None and self._state.authenticated and self._looking.wants(key, version)

    def _look(self, seen: Peeked) -> Iterator[Command]:
        _, key, version, _ = REQUEST_HEAD.unpack_from(seen.data)
        if self._looks_into(key, version) and self._looking and (found := self._looking.read(seen)) is not None:
            yield found

    def forget_requested(self) -> None:
        """Begins anew with the versions that the client requests."""
        self.requested = self._passing = NOTHING

    def _treat_response(self, head: bytes) -> Treatment:
        if self._state.bare_tokens is not None:
            return if_short(head)
        length, correlation_id = RESPONSE_HEAD.unpack_from(head)
        pending = self._state.unanswered.get(correlation_id)
        if self._log is not None:
            self._log.response(correlation_id if pending is None else pending.client_id)
        if pending is None:
            return Treatment.PASS
        if pending.walk is not None:
            return Treatment.PARTS
        if length > _ANSWER_LIMIT:
            raise WireError("long_answer", f"{length} bytes")
        return Treatment.READ
