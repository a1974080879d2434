"""The handshake inside kafka-python 3's network layer, by the ``kafka_client`` setting that its three clients offer.

Nothing is patched: a connection manager of ours is handed to kafka-python's own `KafkaNetClient`, and makes each of its
connections one that says its ClientInstanceId in ApiVersions and takes its turn at pushing before it is ready.

KIP-511's fallback to the version that a broker names is kafka-python's own.  Its ends are here: kafka-python asks a broker that
refuses every version for ever, and it can't read a broker's refusal of the client's name, which its user then never hears of.
"""

from __future__ import annotations

import re
import struct
import time
from typing import Any

import kafka.errors
from kafka.future import Future
from kafka.net.compat import KafkaNetClient
from kafka.net.connection import KafkaConnection
from kafka.net.manager import KafkaConnectionManager
from kafka.net.selector import NetworkSelector
from kafka.protocol import metadata
from kafka.protocol.frame import KafkaBytes
from kafka.protocol.parser import KafkaProtocol

from clientscope.client.handshake import Handshake, log
from clientscope.wire.codes import API_VERSIONS, NONE, PUSH_CONFIG, UNSUPPORTED_VERSION
from clientscope.wire.messages import ApiVersionsRequest, PushConfigResponse

_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
"""What brokers take as a client's software name or version (Kafka's ApiVersionsRequest)."""

_ERROR = struct.Struct(">ih")
"""How every answer to ApiVersions begins: correlation id, error code."""

_NO_KEYS = struct.pack(">i", 0)
"""How v0 goes on where there are none."""


def net_client(handshake: Handshake, **configs: Any) -> KafkaNetClient:
    """What kafka-python's clients make of their ``kafka_client`` setting, with the handshake in it."""
    net = NetworkSelector(**configs)
    return KafkaNetClient(net=net, manager=_Manager(net, handshake, **configs), **configs)


class _Manager(KafkaConnectionManager):
    def __init__(self, net: NetworkSelector, handshake: Handshake, **configs: Any) -> None:
        super().__init__(net, **configs)
        self.handshake = handshake
        self.accepted = False
        """Whether any node took our software name and version."""
        self.refusal: str | None = None
        """Why no node will take them."""

    def maybe_raise_auth_failure(self, node_id: Any) -> None:
        # What get_connection() asks first of all.
        super().maybe_raise_auth_failure(node_id)
        if self.refusal is not None:
            raise kafka.errors.InvalidRequestError(self.refusal)

    async def _connect(self, node: Any, conn: KafkaConnection, **kwargs: Any) -> None:
        # get_connection() names its connection class itself, so the object that it made changes class before it is started.
        conn.__class__ = _Connection
        conn.manager = self
        await super()._connect(node, conn, **kwargs)


class _Protocol(KafkaProtocol):
    def _process_response(self, read_buffer: KafkaBytes) -> Any:
        # kafka-python reads every error of ApiVersions as v0. A broker says UNSUPPORTED_VERSION so, and others in the version
        # that was asked: of those the error is all that matters.
        if self.in_flight_requests and self.in_flight_requests[0].request_api_key == API_VERSIONS:
            start = read_buffer.read(_ERROR.size)
            read_buffer.seek(0)
            if len(start) == _ERROR.size and _ERROR.unpack(start)[1] not in (NONE, UNSUPPORTED_VERSION):
                read_buffer = KafkaBytes(start + _NO_KEYS)
        return super()._process_response(read_buffer)


class _Connection(KafkaConnection):
    manager: _Manager
    advertised = False
    """Whether this very node advertises PushConfig.  ``broker_version_data`` can't tell: it may be the bootstrap node's."""
    unsupported: int | None = None
    """The version of ApiVersions that this node has just refused."""

    async def initialize(self, timeout_at: float | None = None) -> None:
        # KafkaConnection.initialize, with the push at the one point where the connection is authenticated and the user's
        # requests still wait.  Not in _sasl_authenticate, which re-authentication runs again.
        if timeout_at is None:
            timeout_at = self._timeout_at()
        try:
            await self._get_api_versions(timeout_at)
            if self.sasl_enabled:
                await self._sasl_authenticate(timeout_at)
            await self._push(timeout_at)
        except Exception as error:
            self.close(error)
        else:
            self._init_complete()

    async def _get_api_versions(self, timeout_at: float | None = None) -> None:
        try:
            await super()._get_api_versions(timeout_at)
        except kafka.errors.InvalidRequestError:
            refusal = _refusal(self.config["client_software_name"], self.config["client_software_version"])
            # Where another node took them, they aren't what is wrong, and kafka-python's retries are right.
            if not self.manager.accepted and self.manager.refusal is None:
                self.manager.refusal = refusal
                log.error("the client gives up: %s", refusal)
            raise kafka.errors.InvalidRequestError(refusal) from None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.parser.__class__ = _Protocol

    def _send_request(self, request: Any, future: Future | None = None, timeout_at: float | None = None) -> Future:
        if not isinstance(request, metadata.ApiVersionsRequest):
            return super()._send_request(request, future=future, timeout_at=timeout_at)
        if self.unsupported is not None and self.unsupported <= request.API_VERSION:
            refused = f"the broker refuses version {self.unsupported} of ApiVersions, and names no other that this client has"
            return (Future() if future is None else future).failure(kafka.errors.UnsupportedVersionError(refused))
        identified = ApiVersionsRequest(
            version=request.API_VERSION,
            min_version=request._min_version,
            max_version=request._max_version,
            client_software_name=request.client_software_name,
            client_software_version=request.client_software_version,
            client_instance_id=self.manager.handshake.client_instance_id,
        )
        sent = super()._send_request(identified, future=future, timeout_at=timeout_at)
        return sent.add_callback(self._see_api_versions, request.API_VERSION)

    def _see_api_versions(self, version: int | None, response: metadata.ApiVersionsResponse) -> None:
        self.unsupported = version if response.error_code == UNSUPPORTED_VERSION else None
        if response.error_code == NONE:
            self.manager.accepted = True
            self.advertised = any(key.api_key == PUSH_CONFIG and key.min_version == 0 for key in response.api_keys)

    def _maybe_throttle(self, response: Any) -> None:
        # A throttled push is for the handshake to wait out: the user's requests need not.
        if not isinstance(response, PushConfigResponse):
            super()._maybe_throttle(response)

    async def _push(self, timeout_at: float) -> None:
        """Best effort: whatever happens, the connection's start goes on.

        It takes half of the time that the connection has left to be ready, so that the user's first request is never too late
        because of it.  What is to be tried again after that is tried on the client's next connection.

        Raises:
            KafkaConnectionError: a bootstrap node left the push unanswered.  What followed would wait behind it, and bootstrap connects
                again by itself; other nodes' connections have the user's requests already, which a node that is only slow will answer.
        """
        if not self.advertised:
            return
        handshake = self.manager.handshake
        until = (time.monotonic() + timeout_at) / 2
        try:
            while request := handshake.request(time.monotonic()):
                # No timeout_at: an unanswered push must not close the connection before other requests would.
                answer = self._send_request(request)
                response = await self.manager.wait_for(answer, (until - time.monotonic()) * 1000)
                delay = handshake.answered(response, time.monotonic())
                if delay is None or time.monotonic() + delay > until:
                    break
                await self.net.sleep(delay)
        except kafka.errors.KafkaTimeoutError:
            handshake.give_up("no answer came in time")
            if self.manager.cluster.is_bootstrap(self.node_id):
                raise kafka.errors.KafkaConnectionError("PushConfig was not answered in time") from None
        except kafka.errors.KafkaError as error:
            handshake.lost(type(error).__name__)
        except Exception as error:
            log.debug("handshake", exc_info=True)
            handshake.give_up(type(error).__name__)


def _refusal(name: str, version: str) -> str:
    """Which of the two a broker must have meant by INVALID_REQUEST (KIP-511)."""
    said = {"client_software_name": name, "client_software_version": version}
    bad = [f"{setting} {value[:100]!a}" for setting, value in said.items() if not _SOFTWARE.fullmatch(value)]
    if bad:
        return f"the broker refused {' and '.join(bad)}: letters, digits, '-' and '.' are allowed, a letter or digit first and last"
    return f"the broker refused ApiVersions of client_software_name {name[:100]!a}, client_software_version {version[:100]!a} as invalid"
