"""A new connection to a broker, for its current answer to ApiVersions.

What of kafka-python 3.0.12 is worked around:

- Connections of its manager are shared, and take the bootstrap node's ranges for their own (net/connection.py:382): this one is made
  beside the manager, and keeps the answer to its own request. To be removed once ``get_broker_version_data`` asks on a fresh connection.
- It keeps nothing of an ApiVersions answer but the ranges of keys, so the answer itself is kept, with features and unknown keys.
- A connection refused leaves its socket to the garbage collector, so each is closed.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, NamedTuple

from kafka.errors import IncompatibleBrokerVersion, KafkaConnectionError, KafkaError
from kafka.net.connection import KafkaConnection
from kafka.protocol.admin import DescribeClusterRequest
from kafka.protocol.metadata import ApiVersionsRequest

from clientscope.kafka.admin import AdminClient
from clientscope.kafka.describe import Broker
from clientscope.wire.codes import NONE


@dataclass(frozen=True)
class FreshAnswer:
    """What came of a connection.

    Attributes:
        versions: the answer to ApiVersions; None where there was none.
        described: the answer to DescribeCluster; None where it wasn't asked for, the broker is older than 2.8, or it refuses.
        reason: the error that ended it; empty for none.
        closed: whether the broker took the connection, and closed it at ApiVersions.
    """

    versions: Any = None
    described: Any = None
    reason: str = ""
    closed: bool = False


def ask_broker(admin: AdminClient, broker: Broker, version: int | None = None, *, describe: bool = False) -> FreshAnswer:
    """Connects to one broker with the admin client's settings, and asks.  From any thread.

    Args:
        version: of the ApiVersions request that is tried first; None for the newest that kafka-python knows.
        describe: ask for DescribeCluster, too.
    """
    answer = admin._manager.run(_connect_and_ask, admin._manager, broker, version, describe)
    assert isinstance(answer, FreshAnswer)
    return answer


async def _connect_and_ask(manager: Any, broker: Broker, version: int | None, describe: bool) -> FreshAnswer:
    connection = _Connection(manager._net, node_id=broker.id, **manager.config)
    if version is not None:
        connection._api_versions_idx = version
    reason, lost, described = "", False, None
    try:
        await manager._connect(
            _Node(broker.id, broker.host, broker.port),
            connection,
            timeout_at=time.monotonic() + manager.config["request_timeout_ms"] / 1000,
        )
        await connection
        if describe:
            described = await _described(connection)
    except (KafkaError, OSError) as error:
        reason = str(error).removeprefix(f"{type(error).__name__}: ") or type(error).__name__
        lost = isinstance(error, KafkaConnectionError)
    finally:
        connection.close()
    closed = connection.said is None and lost and connection.asked and not connection.timed_out
    return FreshAnswer(connection.said, described, reason, closed)


async def _described(connection: KafkaConnection) -> Any:
    try:
        return await connection.send_request(DescribeClusterRequest())
    except IncompatibleBrokerVersion:
        return None


class _Node(NamedTuple):
    """What `KafkaConnectionManager._connect` wants to know."""

    node_id: int
    host: str
    port: int


class _Connection(KafkaConnection):
    """Keeps the answer to its own ApiVersions request."""

    said: Any = None
    asked = False
    timed_out = False

    def _send_request(self, request: Any, future: Any = None, timeout_at: float | None = None) -> Any:
        sent = super()._send_request(request, future=future, timeout_at=timeout_at)
        if isinstance(request, ApiVersionsRequest):
            self.asked = True
            sent.add_callback(self._see)
        return sent

    def _see(self, response: Any) -> None:
        if response.error_code == NONE:
            self.said = response

    def _request_timed_out(self, future: Any, sent_at: float, timeout_at: float) -> None:
        self.timed_out = True
        super()._request_timed_out(future, sent_at, timeout_at)
