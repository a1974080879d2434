"""Whether the broker behind the gateway is of the topics' cluster: otherwise its clients would be recorded under that cluster's id.

At the start the broker itself is asked, by Metadata (KIP-78), which tells the same as DescribeCluster and does so before Kafka 2.8 too. A
listener with SASL answers ApiVersions alone, and even v5, which names a cluster (KIP-1242), is held against that cluster only once a
client has authenticated (Kafka 4.4.0). There, and where the broker isn't up yet, clients' Metadata answers are looked at
(`clientscope.session.addresses`).
"""

from __future__ import annotations

import socket
import struct
import time

from clientscope.config import GatewaySettings
from clientscope.config_types import split_address
from clientscope.errors import SettingsError, WireError
from clientscope.gateway import tls
from clientscope.gateway.place import GatewayPlace
from clientscope.gateway.worker.proxy_protocol import build
from clientscope.wire.codes import METADATA
from clientscope.wire.frames import LENGTH, REQUEST_HEAD
from clientscope.wire.metadata import cluster_id

_CLIENT_ID = b"clientscope-gateway-start"
_VERSION = 4
"""Of Metadata: the first that creates no topic, which Kafka has since 0.11."""
_ANSWERED_S = 5.0
_LONGEST_ANSWER = 1024 * 1024


def require_same_cluster(settings: GatewaySettings, place: GatewayPlace) -> None:
    """Asks the broker behind the gateway of which cluster it is. Blocks.

    A listener with SASL, or whose TLS passes untouched, isn't asked. With broker ports the topics' cluster itself names its brokers.

    Raises:
        SettingsError: it is of another cluster.
    """
    if place.tls or place.sasl or settings.broker_ports:
        return
    try:
        with _connected(settings) as connection:
            other = _asked(connection)
    except (OSError, WireError, ValueError):
        return  # it isn't up, or doesn't say
    if other and other != place.cluster_id:
        raise other_cluster(settings.upstream, other, place.cluster_id)


def other_cluster(upstream: str, other: str, cluster: str) -> SettingsError:
    """The error of a gateway whose upstream is of another cluster than its topics."""
    return SettingsError(
        f"--upstream {upstream} is a broker of cluster {other}, and --bootstrap-servers are of cluster {cluster}, under which its"
        " clients would be recorded",
        "let both name the same cluster; each cluster has gateways, and topics of clientscope, of its own",
    )


def _connected(settings: GatewaySettings) -> socket.socket:
    host, port = split_address(settings.upstream)
    connection = socket.create_connection((host, port), _ANSWERED_S)
    try:
        if settings.upstream_proxy_protocol:
            connection.sendall(build(connection.getsockname()[:2], connection.getpeername()[:2]))
        context = tls.load(settings).upstream
        return connection if context is None else context.wrap_socket(connection, server_hostname=host)
    except BaseException:
        connection.close()
        raise


def _asked(connection: socket.socket) -> str | None:
    body = struct.pack(">h", len(_CLIENT_ID)) + _CLIENT_ID + struct.pack(">i?", 0, False)  # of no topic, and none is created
    connection.sendall(REQUEST_HEAD.pack(REQUEST_HEAD.size - LENGTH.size + len(body), METADATA, _VERSION, 0) + body)
    return cluster_id(_answer(connection), _VERSION)


def _answer(connection: socket.socket) -> bytes:
    """A response, its length included."""
    answer, until_s = b"", time.monotonic() + _ANSWERED_S
    while len(answer) < LENGTH.size or len(answer) < LENGTH.size + LENGTH.unpack_from(answer)[0]:
        if time.monotonic() > until_s or len(answer) > _LONGEST_ANSWER or not (part := connection.recv(64 * 1024)):
            raise WireError("truncated")
        answer += part
    return answer
