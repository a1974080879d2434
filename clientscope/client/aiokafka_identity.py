"""ClientInstanceId and software on aiokafka's own connections.

aiokafka 0.14 asks for ApiVersions v0, which says nothing.  A connection of ours asks for v3 first, with the software's name and version
(KIP-511) and the ClientInstanceId as tagged field 1324; where the broker lacks v3 (before Kafka 2.4), aiokafka's own request follows.

Nothing of aiokafka's is replaced for others: the two methods of its client that make connections are given to this one client again,
with another `create_conn`.
"""

from __future__ import annotations

import io
import struct
import types
import uuid
from collections.abc import Callable
from typing import Any

import aiokafka.client
import aiokafka.conn
import aiokafka.errors
from kafka.protocol.metadata import ApiVersionsResponse

from clientscope.client.handshake import log
from clientscope.wire.codes import API_VERSIONS, NONE, UNSUPPORTED_VERSION
from clientscope.wire.messages import ApiVersionsRequest

_VERSION = 3
_MAKING_CONNECTIONS = ("bootstrap", "_get_conn")

InstanceIdOf = Callable[[], uuid.UUID]


def identify(client: Any, software: tuple[str, str], instance_id: InstanceIdOf) -> bool:
    """Makes this `aiokafka.client.AIOKafkaClient` say on each connection from now on what client instance it is.

    Returns:
        Whether it could: an aiokafka that makes its connections otherwise is left as it is.
    """
    originals = {name: getattr(type(client), name, None) for name in _MAKING_CONNECTIONS}
    if not all("create_conn" in getattr(getattr(method, "__code__", None), "co_names", ()) for method in originals.values()):
        log.debug("this aiokafka makes its connections otherwise, so they say no ClientInstanceId")
        return False

    async def create_conn(host: str, port: int, **settings: Any) -> Any:
        connection = _Connection(host, port, **settings)
        connection.software, connection.instance_id = software, instance_id
        await connection.connect()
        return connection

    for name, method in originals.items():
        assert isinstance(method, types.FunctionType)
        names = {**method.__globals__, "create_conn": create_conn}
        copy = types.FunctionType(method.__code__, names, method.__name__, method.__defaults__, method.__closure__)
        copy.__kwdefaults__ = method.__kwdefaults__
        setattr(client, name, types.MethodType(copy, client))
    return True


class _Connection(aiokafka.conn.AIOKafkaConnection):
    software: tuple[str, str]
    instance_id: InstanceIdOf

    async def _do_version_lookup(self) -> None:
        name, version = self.software
        request = ApiVersionsRequest(
            version=_VERSION, client_software_name=name, client_software_version=version, client_instance_id=self.instance_id()
        )
        response = await self.send(_Request(request))
        if response.error_code == UNSUPPORTED_VERSION:
            await super()._do_version_lookup()
            return
        if response.error_code != NONE:
            raise aiokafka.errors.for_code(response.error_code)()
        self._versions = {key.api_key: (key.min_version, key.max_version) for key in response.api_keys}


class _Request:
    """A request of kafka-python's, in the shape that aiokafka's connections send and read."""

    API_KEY, API_VERSION = API_VERSIONS, _VERSION

    def __init__(self, request: Any) -> None:
        self._request = request

    def prepare(self, _versions: Any) -> _Request:
        return self

    def build_request_header(self, correlation_id: int, client_id: str) -> _Request:
        self._request.with_header(correlation_id, client_id)
        return self

    header_is_next = True

    def encode(self) -> bytes:
        # aiokafka asks the header first, then the body: kafka-python writes both at once.
        is_header, self.header_is_next = self.header_is_next, False
        return bytes(self._request.encode(header=True)) if is_header else b""

    def parse_response_header(self, read: io.BytesIO) -> Any:
        return types.SimpleNamespace(correlation_id=struct.unpack(">i", read.read(4))[0])

    class RESPONSE_TYPE:  # noqa: N801 (aiokafka's name)
        """Reads what is behind the correlation id."""

        @staticmethod
        def decode(read: io.BytesIO) -> Any:
            body = read.read()
            (error_code,) = struct.unpack_from(">h", body)
            if error_code != NONE:  # in v0's layout, whatever was asked; the error is all that matters
                return types.SimpleNamespace(error_code=error_code)
            return ApiVersionsResponse.decode(body, version=_VERSION)

    def __repr__(self) -> str:
        return "ApiVersionsRequest"
