"""A broker that answers by a script, over TCP and in real bytes: for faults that no real broker can be made to show."""

from __future__ import annotations

import socket
import socketserver
import struct
import threading
import time
import uuid
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from kafka.protocol import metadata, sasl

from clientscope.wire.codes import API_VERSIONS, PUSH_CONFIG, UNSUPPORTED_VERSION
from clientscope.wire.messages import ApiVersionsRequest, PushConfigRequest, PushConfigResponse

METADATA = 3
FETCH = 1  # kafka-python takes the broker's release from it
SASL_HANDSHAKE, SASL_AUTHENTICATE = 17, 36
PASSWORD = "canary-password-51b2"
SASL = {
    "security_protocol": "SASL_PLAINTEXT",
    "sasl_mechanism": "PLAIN",
    "sasl_plain_username": "ops",
    "sasl_plain_password": PASSWORD,
}
"""How a client authenticates."""
REQUESTS = {
    API_VERSIONS: ApiVersionsRequest,
    METADATA: metadata.MetadataRequest,
    PUSH_CONFIG: PushConfigRequest,
    SASL_HANDSHAKE: sasl.SaslHandshakeRequest,
    SASL_AUTHENTICATE: sasl.SaslAuthenticateRequest,
}
NEWEST = {API_VERSIONS: 4, METADATA: 12, FETCH: 17, SASL_HANDSHAKE: 1, SASL_AUTHENTICATE: 2}

CLOSE = "close"  # compared by identity: kafka-python cannot compare a message with a text
SILENT = "silent"  # nothing more is answered on this connection, as answers come in the order of requests
Answer = PushConfigResponse | str | float
"""A number is success after so many seconds."""


def error(code: int = 0, throttle_ms: int = 0, message: str | None = None) -> PushConfigResponse:
    return PushConfigResponse(version=0, error_code=code, throttle_time_ms=throttle_ms, error_message=message)


class ScriptedBroker(socketserver.ThreadingTCPServer):
    """Answers ApiVersions and Metadata, and each PushConfig by the next answer of its script, then with success.

    ``refusals`` are the first answers to ApiVersions: an error code, and the newest version of ApiVersions that is named with it, if any.
    ``otherwise`` has other answers by api key, or what makes one of a request; None is the usual one. ``ended`` is released by each
    connection that has ended.
    """

    allow_reuse_address = True
    daemon_threads = True

    def __init__(
        self,
        advertises: bool = True,
        script: tuple[Answer, ...] = (),
        refusals: tuple[tuple[int, int | None], ...] = (),
        otherwise: Mapping[int, Any] = {},
    ) -> None:
        super().__init__(("127.0.0.1", 0), Connection)
        self.keys = {**NEWEST, PUSH_CONFIG: 0} if advertises else NEWEST
        self.script = list(script)
        self.refusals = list(refusals)
        self.otherwise = dict(otherwise)
        self.ended = threading.Semaphore(0)
        self.port = self.server_address[1]
        self.address = f"127.0.0.1:{self.port}"
        self.brokers = {1: self.port}
        self.connections: list[list[Any]] = []
        self.sockets: list[socket.socket] = []
        self.push_times: list[float] = []
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def close(self) -> None:
        """Takes no more connections."""
        self.shutdown()
        self.server_close()

    def close_connections(self) -> None:
        """Ends every open connection, as a broker that restarts does."""
        for connection in self.sockets:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def shutdown_request(self, request: Any) -> None:
        super().shutdown_request(request)
        self.ended.release()

    @property
    def pushes(self) -> list[PushConfigRequest]:
        return [request for requests in self.connections for request in requests if request.API_KEY == PUSH_CONFIG]

    @property
    def instance_ids(self) -> set[uuid.UUID | None]:
        return {request.client_instance_id for requests in self.connections for request in requests if request.API_KEY == API_VERSIONS}

    def orders(self) -> list[list[int]]:
        """The api keys that came on each connection."""
        return [[request.API_KEY for request in requests] for requests in self.connections]

    def answer(self, request: Any) -> Any:
        version = request.API_VERSION
        other = self.otherwise.get(request.API_KEY)
        if (said := other(request) if callable(other) else other) is not None:
            return said
        if request.API_KEY == API_VERSIONS:
            code, keys = 0, self.keys
            if self.refusals:
                code, newest = self.refusals.pop(0)
                version = 0 if code == UNSUPPORTED_VERSION else version  # as a real broker has it
                keys = {} if newest is None else {API_VERSIONS: newest}
            named = metadata.ApiVersionsResponse.ApiVersion
            ranges = [named(version=version, api_key=key, min_version=0, max_version=newest) for key, newest in keys.items()]
            return metadata.ApiVersionsResponse(version=version, error_code=code, api_keys=ranges)
        if request.API_KEY == METADATA:
            broker = metadata.MetadataResponse.MetadataResponseBroker
            brokers = [broker(version=version, node_id=node, host="127.0.0.1", port=port) for node, port in self.brokers.items()]
            return metadata.MetadataResponse(version=version, brokers=brokers, cluster_id="c", controller_id=1, topics=[])
        if request.API_KEY == SASL_HANDSHAKE:
            return sasl.SaslHandshakeResponse(version=version, error_code=0, mechanisms=["PLAIN"])
        if request.API_KEY == SASL_AUTHENTICATE:
            return sasl.SaslAuthenticateResponse(version=version, error_code=0, auth_bytes=b"", session_lifetime_ms=0)
        self.push_times.append(time.monotonic())
        return self.script.pop(0) if self.script else error()


class Connection(socketserver.StreamRequestHandler):
    """One connection of `ScriptedBroker`."""

    server: ScriptedBroker

    def handle(self) -> None:
        requests: list[Any] = []
        silent = False
        self.server.connections.append(requests)
        self.server.sockets.append(self.connection)
        while len(size := self.rfile.read(4)) == 4:
            frame = self.rfile.read(*struct.unpack(">i", size))
            api_key, version, correlation_id = struct.unpack_from(">hhi", frame)
            request = REQUESTS[api_key].decode(frame, version=version, header=True)
            request.API_VERSION = version
            requests.append(request)
            if silent:
                continue
            answer = self.server.answer(request)
            if answer is CLOSE:
                return
            if answer is SILENT:
                silent = True
                continue
            if isinstance(answer, float):
                time.sleep(answer)
                answer = error()
            answer.with_header(correlation_id)
            self.wfile.write(answer.encode(header=True, framed=True))
