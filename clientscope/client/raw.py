"""A client over one plain TCP socket that sends arbitrary bytes, well-formed or not, and never retries.

For trying servers out: it pushes without KIP-1324's exclusion, and sends any bytes.  Every wait ends at the timeout that
`RawClient.connect` was given, with ``TimeoutError``.
"""

from __future__ import annotations

import socket
import struct
import uuid
from collections.abc import Iterable
from types import TracebackType
from typing import Any

from kafka.protocol.metadata import ApiVersionsResponse

from clientscope.wire.messages import ApiVersionsRequest, PushConfigRequest, PushConfigResponse


class RawClient:
    """One connection; not for several threads."""

    def __init__(self, connected: socket.socket, client_id: str) -> None:
        self.socket = connected
        self.client_id = client_id
        self._correlation_id = 0

    @classmethod
    def connect(cls, address: str, client_id: str, timeout: float = 10.0) -> RawClient:
        """Connects to ``HOST:PORT``.

        Raises:
            OSError: nothing listens there.
        """
        host, _, port = address.rpartition(":")
        return cls(socket.create_connection((host, int(port)), timeout), client_id)

    def api_versions(self, name: str, software_version: str, instance_id: uuid.UUID | None = None, *, version: int = 4) -> Any:
        """ApiVersions in ``version`` (0 to 4); name, software version and instance id are sent from v3 on."""
        request = ApiVersionsRequest(
            version=version,
            client_software_name=name,
            client_software_version=software_version,
            client_instance_id=instance_id,
        )
        return self.request(request, ApiVersionsResponse)

    def push_config(self, configs: Iterable[tuple[str, str, int, bool]]) -> Any:
        """PushConfig v0 with (key, value, type, is default) as given."""
        request = PushConfigRequest(
            version=0,
            configs=[
                PushConfigRequest.Config(version=0, config_key=key, config_value=value, config_type=int(type_), is_default=is_default)
                for key, value, type_, is_default in configs
            ],
        )
        return self.request(request, PushConfigResponse)

    def request(self, request: Any, response_class: Any) -> Any:
        """Sends a kafka-python request and returns its response.

        Raises:
            ConnectionError: the connection was closed instead, or the answer is another request's.
        """
        correlation_id = self.send(request)
        payload = self.receive_frame()
        if payload[:4] != struct.pack(">i", correlation_id):
            raise ConnectionError(f"not the answer to request {correlation_id}")
        return response_class.decode(payload, version=request.API_VERSION, header=True)

    def send(self, request: Any) -> int:
        """Sends a request without waiting; its correlation id."""
        self._correlation_id += 1
        request.with_header(self._correlation_id, self.client_id)
        self.socket.sendall(request.encode(framed=True, header=True))
        return self._correlation_id

    def send_frame(self, payload: bytes) -> None:
        """Sends any bytes as one frame, their length before them."""
        self.socket.sendall(struct.pack(">i", len(payload)) + payload)

    def receive_frame(self) -> bytes:
        """The next frame's payload.

        Raises:
            ConnectionError: the connection was closed before or within it.
        """
        (length,) = struct.unpack(">i", self._receive(4))
        return self._receive(length)

    def close(self) -> None:
        """Closes the connection."""
        self.socket.close()

    def _receive(self, length: int) -> bytes:
        data = bytearray()
        while len(data) < length:
            part = self.socket.recv(length - len(data))
            if not part:
                raise ConnectionError("closed by the server")
            data += part
        return bytes(data)

    def __enter__(self) -> RawClient:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
