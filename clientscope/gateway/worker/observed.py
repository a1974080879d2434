"""Requests of one connection for the request log: which of them are logged, and how long each took. No I/O."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from clientscope.config import GatewaySettings
from clientscope.config_types import is_within, split_networks
from clientscope.session.state import Identity
from clientscope.wire.codes import API_VERSIONS, SASL_AUTHENTICATE, SASL_HANDSHAKE
from clientscope.wire.frames import REQUEST_HEAD

MOST_UNANSWERED = 256
"""Requests of a connection that are remembered; the oldest beyond it is logged as it is. A producer with acks=0 gets no answers."""
_WHO_KEYS = {API_VERSIONS, SASL_HANDSHAKE, SASL_AUTHENTICATE}
"""API keys that a client uses before it is known; lines of such requests wait until it is."""
_MOST_HELD = 16


@dataclass(frozen=True)
class RequestFilter:
    """Whose requests are logged: those that fit every part; an empty part fits all.

    Attributes:
        address: networks, as `split_networks` takes them.
        client_id, principal, software: patterns, as in ``orders-*``; whatever is not known fits ``*`` alone.
    """

    address: str = ""
    client_id: str = ""
    principal: str = ""
    software: str = ""

    @classmethod
    def of(cls, settings: GatewaySettings) -> RequestFilter | None:
        """The filter of the settings; None without a request log."""
        if not settings.request_log:
            return None
        return cls(
            settings.request_log_address, settings.request_log_client_id, settings.request_log_principal, settings.request_log_software
        )

    def takes_address(self, address: str) -> bool:
        """Whether a client at this address may be one of them."""
        return not self.address or is_within(address, split_networks(self.address))

    def takes(self, identity: Identity) -> bool:
        """Whether this client is one of them, its address apart."""
        return identity.fits(self.client_id, self.principal, self.software)


@dataclass
class _Request:
    """One request.

    Attributes:
        received_s: when its last byte came, so far; None before it was first looked at.
        at_s: when its line was due, since the epoch.
        total_ms: None where no answer passed.
    """

    head: bytes
    received_s: float | None = None
    at_s: float = 0.0
    total_ms: float | None = None


class Observed:
    """One connection's requests that wait for their answers. No I/O.

    Args:
        who: the client, as far as it is known.
        write: takes a line: when it was due, since the epoch; the request's head; its client; its time in ms, None without an answer.
        stop: called once if no filter asks for this client; nothing follows it.
        clock: seconds.
    """

    def __init__(
        self,
        chosen: RequestFilter,
        who: Callable[[], Identity],
        write: Callable[[float, bytes, Identity, float | None], None],
        stop: Callable[[], None],
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._chosen = chosen
        self._who = who
        self._write = write
        self._stop = stop
        self._clock = clock
        self._waiting: deque[_Request] = deque()
        self._fresh: list[_Request] = []
        self._held: list[_Request] = []
        self._stopped = False

    def request(self, head: bytes) -> None:
        """A request's first bytes; once more, where it is held until it is whole."""
        if self._fresh and self._fresh[-1].received_s is not None and self._fresh[-1].head == head:
            return  # the one that came in part before
        request = _Request(head)
        self._waiting.append(request)
        self._fresh.append(request)
        if len(self._waiting) > MOST_UNANSWERED:
            self._settle(self._waiting.popleft(), None)

    def received(self, between_requests: bool) -> None:
        """What has come so far has been looked at: the last byte of each request is there, but of the last one perhaps not."""
        if self._fresh:
            now_s = self._clock()
            for request in self._fresh:
                request.received_s = now_s
            self._fresh = [] if between_requests else self._fresh[-1:]

    def response(self, correlation_id: int) -> None:
        """A response's first bytes. Responses come in order: what was asked before it and not answered has no answer (acks=0)."""
        place = next((i for i, request in enumerate(self._waiting) if _correlation_id(request.head) == correlation_id), None)
        if place is None:
            return  # an answer to the gateway itself
        for _ in range(place):
            self._settle(self._waiting.popleft(), None)
        if self._waiting:
            request = self._waiting.popleft()
            now_s = self._clock()
            self._settle(request, (now_s - (request.received_s or now_s)) * 1000)

    def end(self) -> None:
        """The connection has ended: what was not answered is logged as it is."""
        while self._waiting:
            self._settle(self._waiting.popleft(), None)
        self._decide()

    def _settle(self, request: _Request, total_ms: float | None) -> None:
        request.at_s, request.total_ms = time.time(), total_ms
        self._held.append(request)
        if REQUEST_HEAD.unpack_from(request.head)[1] not in _WHO_KEYS or len(self._held) > _MOST_HELD:
            self._decide()

    def _decide(self) -> None:
        identity = self._who()
        held, self._held = self._held, []
        if self._chosen.takes(identity):
            for request in held:
                self._write(request.at_s, request.head, identity, request.total_ms)
        elif not self._stopped:
            self._stopped = True
            self._waiting.clear()
            self._stop()


def connection_name(near: tuple[str, int] | None, far: tuple[str, int] | None, connection_id: int) -> str:
    """Kafka's name of a connection: local end, remote end, processor, index."""
    return "-".join(f"{host}:{port}" for host, port in filter(None, (near, far))) + f"-0-{connection_id}"


def _correlation_id(head: bytes) -> int:
    return int(REQUEST_HEAD.unpack_from(head)[3])
