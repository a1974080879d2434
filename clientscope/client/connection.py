"""The handshake inside kafka-python 3's network layer, added through the ``kafka_client`` setting of its three clients.

Nothing is patched. kafka-python's own `KafkaNetClient` gets a connection manager of ours, whose connections send the ClientInstanceId in
ApiVersions and may push before they are ready.  `Pusher` (below) decides for how long the user's requests wait.

KIP-511's fallback to the version that a broker names is kafka-python's own.  Two gaps in it are closed here: kafka-python retries for ever
with a broker that refuses every version, and it can't read a broker's refusal of the client's name, so its user never learns of it.
"""

from __future__ import annotations

import re
import ssl
import struct
import time
import uuid
from collections.abc import Awaitable, Callable
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
from clientscope.errors import ClientscopeError, EnvironmentProblem
from clientscope.wire.codes import API_VERSIONS, NONE, PUSH_CONFIG, UNSUPPORTED_VERSION
from clientscope.wire.messages import ApiVersionsRequest, PushConfigResponse

_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
"""What brokers take as a client's software name or version (Kafka's ApiVersionsRequest)."""

_ERROR = struct.Struct(">ih")
"""How every answer to ApiVersions begins: correlation id, error code."""

_NO_KEYS = struct.pack(">i", 0)
"""The rest of a v0 answer that lists no API keys."""


def net_client(handshake: Handshake, *, for_push_alone: bool = False, **configs: Any) -> KafkaNetClient:
    """What kafka-python's clients make of their ``kafka_client`` setting, with the handshake in it.

    Args:
        for_push_alone: there are no requests of a user's, so a connection may wait for its push until the deadline.
    """
    net = NetworkSelector(**configs)
    return _NetClient(net=net, manager=_Manager(net, handshake, for_push_alone, **configs), **configs)


class _NetClient(KafkaNetClient):
    def close(self, node_id: Any = None) -> None:
        super().close(node_id)
        if node_id is None:
            self._manager.pusher.end()  # its loop has ended, so no answer can come any more


class _Manager(KafkaConnectionManager):
    def __init__(self, net: NetworkSelector, handshake: Handshake, for_push_alone: bool, **configs: Any) -> None:
        super().__init__(net, **configs)
        self.handshake = handshake
        self.for_push_alone = for_push_alone
        self.pusher = Pusher(net, handshake, self._connection_for_push)
        self.accepted = False
        """Whether any node took our software name and version."""
        self.refusal: str | None = None
        """Why no node will take them."""

    def close(self, node_id: Any = None, timeout_ms: float | None = None) -> None:
        if node_id is None:
            self.pusher.stop()
        super().close(node_id, timeout_ms)

    def new_connection(self, node: Any) -> _Connection:
        """A connection that the client's requests don't use."""
        connection = _Connection(self._net, node_id=node.node_id, **{**self.config, "metrics": None})
        connection.manager, connection.node = self, node
        return connection

    async def _connection_for_push(self, lender: _Connection, attempt: int, timeout_at: float) -> _Connection:
        """One that is authenticated, to a node that advertises PushConfig as far as is known.

        Not by get_connection(): a failure there would keep the user's requests from the node for a while.
        """
        nodes = [lender.node, *self.cluster.brokers(), *self.cluster.bootstrap_brokers()]
        connection = self.new_connection(nodes[attempt % len(nodes)])
        self.pusher.carrier = connection
        await connection.connect(timeout_at)
        connection._init_complete()
        return connection

    def maybe_raise_auth_failure(self, node_id: Any) -> None:
        # What get_connection() asks first of all.
        super().maybe_raise_auth_failure(node_id)
        if self.refusal is not None:
            raise kafka.errors.InvalidRequestError(self.refusal)

    async def _connect(self, node: Any, conn: KafkaConnection, **kwargs: Any) -> None:
        # get_connection() names its connection class itself, so the object that it made changes class before it is started.
        conn.__class__ = _Connection
        conn.manager, conn.node = self, node
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
    node: Any
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
            await self._introduce(timeout_at)
            if self.advertised and self.manager.for_push_alone:
                await self.push((timeout_at - time.monotonic()) / 2)
            elif self.advertised and self.manager.pusher.is_due:
                await self._lend(timeout_at)
        except Exception as error:
            self.close(error)
        else:
            self._init_complete()

    async def connect(self, timeout_at: float) -> None:
        """Connects and authenticates.

        Raises:
            KafkaError, OSError: it can't.
        """
        transport = await self.manager._build_transport(self.node, timeout_at=timeout_at)
        try:
            self.connection_made(transport)  # raises where this was closed meanwhile
        except BaseException:
            transport.close()
            raise
        await self._introduce(timeout_at)

    async def _introduce(self, timeout_at: float) -> None:
        await self._get_api_versions(timeout_at)
        if self.sasl_enabled:
            await self._sasl_authenticate(timeout_at)

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

    async def _lend(self, timeout_at: float) -> None:
        """Has the push done on this connection's transport, for as long as the user's requests may wait.

        Behind a push that still isn't answered they would wait for its answer, so then they get a transport of their own.  At most half
        of the time goes by that this connection has left to be ready.

        Raises:
            KafkaError, OSError: there is no second transport.
        """
        carrier = self.manager.new_connection(self.node)
        carrier._adopt(self)
        carrier._init_complete()
        now = time.monotonic()
        await self.manager.pusher.start(carrier, (timeout_at - now) / 2)
        if self.closed:
            carrier.close_if_idle()
        elif carrier.is_idle:
            self._adopt(carrier)
        else:
            carrier.is_left = True
            await self.connect(timeout_at)

    def _adopt(self, other: Any) -> None:
        """Takes the transport over from another connection, which is closed by that or waits for another one."""
        self.transport, other.transport = other.transport, None
        self.parser = other.parser
        self.broker_version_data, self.advertised = other.broker_version_data, other.advertised
        other.connected = False
        self.transport.set_protocol(self)

    is_left = False
    """Whether the user's requests have gone on to another transport."""

    @property
    def is_idle(self) -> bool:
        """Whether it is open and awaits no answer."""
        return self.transport is not None and not self.closed and not self.in_flight_requests

    def close_if_idle(self) -> None:
        """Closes it, unless it awaits an answer."""
        self.is_left = True
        if self.is_idle:
            self.close()

    async def push(self, longest_pause_s: float) -> None:
        """Pushes, and tries again as long as that needs no longer pause.  Best effort: raises nothing."""
        handshake = self.manager.handshake
        try:
            while not self.closed and (request := handshake.request(time.monotonic())):
                # Its own deadline, and not that of other requests: an answer that comes late counts.
                response = await self._send_request(request, timeout_at=handshake.deadline)
                delay = handshake.answered(response, time.monotonic())
                if delay is None or delay > longest_pause_s:
                    return
                await self.net.sleep(delay)
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


# Classification of connection failures: whether a push may succeed later, and which text may be shown.

_FINAL = (
    kafka.errors.SaslAuthenticationFailedError,
    kafka.errors.UnsupportedSaslMechanismError,
    kafka.errors.IllegalSaslStateError,
    kafka.errors.AuthorizationError,
    kafka.errors.InvalidRequestError,
    kafka.errors.KafkaConfigurationError,
    FileNotFoundError,
    PermissionError,
)
_CONNECTION_ENDED = (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError)


def is_final(error: Exception) -> bool:
    """Whether no other attempt would end otherwise: credentials, certificates and settings stay what they are."""
    causes = (error, error.__context__, *error.args)  # kafka-python wraps what TLS said, in either way
    if tls := next((cause for cause in causes if isinstance(cause, ssl.SSLError)), None):
        return not isinstance(tls, _CONNECTION_ENDED)
    return isinstance(error, _FINAL) or not isinstance(error, kafka.errors.KafkaError | OSError | EnvironmentProblem)


def said(error: Exception) -> str:
    """The error in words that hold no secret."""
    name = type(error).__name__
    if isinstance(error, ClientscopeError):
        return str(error)
    if not isinstance(error, kafka.errors.KafkaError | OSError):
        return name  # what else is raised may quote a secret
    text = re.sub(rf"^(\[Error -?\d+\] )?({name}(: |$))*", "", str(error))[:300]
    return f"{name}: {text!r}" if text else name


# The single push of a client, run beside its own requests: they wait briefly for it, then it continues in the background.
#
# The push first uses the transport of the first connection that may push.  If it takes longer than `HOLD_S` (a slow answer, a quota, a
# broker that is gone), it continues in the client's event loop over connections of its own until the handshake's deadline.

HOLD_S = 1.5
"""The longest that the user's requests wait for a push, seconds: what they need for another connection makes two of it at most."""

_CONNECTION_SETUP_S = 10.0
"""How long a node has to take a connection and its credentials: ``socket.connection.setup.timeout.ms``."""

Connect = Callable[[Any, int, float], Awaitable[Any]]
"""Makes a connection for the push alone, from the connection that lent the first one, the attempt's number from 0, and a deadline."""


class Pusher:
    """One client instance's push, which starts once and ends once.  Everything belongs to the client's event loop but `stop` and `end`.

    Attributes:
        carrier: the connection that the push has now.
    """

    def __init__(self, net: NetworkSelector, handshake: Handshake, connect: Connect) -> None:
        self._net = net
        self._handshake = handshake
        self._connect = connect
        self._started_for: uuid.UUID | None = None
        self._stopped = False
        self._released = Future()
        self._held_until = 0.0
        self._last_error = ""
        self.carrier: Any = None

    @property
    def is_due(self) -> bool:
        """Whether a connection should `start` it.  A forked process is another instance, so it pushes again."""
        return not self._stopped and not self._handshake.done and self._started_for != self._handshake.client_instance_id

    async def start(self, lender: Any, hold_s: float) -> None:
        """Pushes over this connection, and returns when the user's requests need wait no longer: then the push may be under way."""
        self._started_for = self._handshake.client_instance_id
        self.carrier = lender
        self._released = Future()
        hold_s = min(hold_s, HOLD_S)
        self._held_until = time.monotonic() + hold_s
        self._net.call_later(hold_s, self._release)
        self._net.call_soon(self._run)
        await self._released

    def stop(self) -> None:
        """Closes what it has open: the client is being closed."""
        self._stopped = True
        if self.carrier is not None:
            self.carrier.close()

    def end(self) -> None:
        """Says that the client was closed, if the push had begun and not ended."""
        if self._started_for is not None:
            self._handshake.give_up("the client was closed before it was answered")

    def _release(self) -> None:
        if not self._released.is_done:
            self._released.success(None)

    async def _run(self) -> None:
        lender = self.carrier
        try:
            await lender.push(HOLD_S)
            if lender.is_left:
                lender.close()
            self._expire_in_time()
            attempt = 0
            while not self._is_over:
                now = time.monotonic()
                pause = max(self._handshake.pause(attempt), self._handshake.not_before - now)
                if now + pause >= self._held_until:
                    self._release()
                await self._net.sleep(pause)
                if not self._is_over:
                    await self._try_again(lender, attempt)
                attempt += 1
        except Exception as error:
            log.debug("handshake", exc_info=True)
            self._handshake.give_up(type(error).__name__)
        finally:
            self._release()

    async def _try_again(self, lender: Any, attempt: int) -> None:
        try:
            connection = await self._connect(lender, attempt, time.monotonic() + _CONNECTION_SETUP_S)
            if connection.advertised:
                await connection.push(HOLD_S)
            else:
                self._last_error = "a node that doesn't advertise PushConfig"
        except Exception as error:
            self._last_error = said(error)
            if is_final(error):
                self._handshake.give_up(self._last_error)
        finally:
            self.carrier.close()

    @property
    def _is_over(self) -> bool:
        return self._stopped or self._handshake.done

    def _expire_in_time(self) -> None:
        if not self._is_over and self._handshake.deadline is not None:
            self._net.call_at(self._handshake.deadline, self._expire)

    def _expire(self) -> None:
        if not self._is_over:
            self._handshake.expire(self._last_error)
            self.carrier.close()
