"""gateway/upstream_cluster: what an upstream answers at the gateway's start, of another cluster or of none."""

from __future__ import annotations

import socketserver
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import address_answers as answers
import pytest

from clientscope.config import GatewaySettings
from clientscope.errors import SettingsError
from clientscope.gateway import upstream_cluster
from clientscope.gateway.place import GatewayPlace

METADATA = answers.metadata(4)
"""Of a broker of the cluster named ``cluster``."""


def trickled() -> Iterator[bytes]:
    for at in range(len(METADATA)):
        time.sleep(0.05)
        yield METADATA[at : at + 1]


@contextmanager
def upstream(said: Callable[[], Iterator[bytes]]) -> Iterator[GatewaySettings]:
    """A server that answers the first request so, and closes."""

    class Once(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with suppress(OSError):
                if self.request.recv(4096):
                    for piece in said():
                        self.request.sendall(piece)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Once) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield GatewaySettings(upstream=f"127.0.0.1:{server.server_address[1]}")
        server.shutdown()


def test_refuses_another_cluster_and_names_both() -> None:
    with upstream(lambda: iter([METADATA[:7], METADATA[7:]])) as settings, pytest.raises(SettingsError) as refused:
        upstream_cluster.require_same_cluster(settings, GatewayPlace("ours", 1, "g", 1, "CLIENT"))
    assert "is a broker of cluster cluster, and --bootstrap-servers are of cluster ours" in str(refused.value)


@pytest.mark.parametrize(
    "said",
    [
        lambda: iter([METADATA]),
        lambda: iter([]),
        lambda: iter([METADATA[:-20]]),
        lambda: iter([b"HTTP/1.1 400 Bad Request\r\n\r\n"]),
        lambda: iter([struct.pack(">ii", 40, 0) + bytes(36)]),
        lambda: iter([struct.pack(">ii", -1, 0)]),
    ],
    ids=["same cluster", "closes", "cut off", "HTTP", "zeros", "negative length"],
)
def test_starts_before_the_same_cluster_and_one_that_says_nothing(said: Callable[[], Iterator[bytes]]) -> None:
    with upstream(said) as settings:
        upstream_cluster.require_same_cluster(settings, GatewayPlace("cluster", 1, "g", 1, "CLIENT"))


def test_waits_for_no_answer_that_comes_byte_by_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would be of another cluster once it was whole."""
    monkeypatch.setattr(upstream_cluster, "_ANSWERED_S", 0.5)
    with upstream(trickled) as settings:
        upstream_cluster.require_same_cluster(settings, GatewayPlace("ours", 1, "g", 1, "CLIENT"))


def test_asks_nothing_where_nobody_listens_or_a_client_has_to_authenticate() -> None:
    upstream_cluster.require_same_cluster(GatewaySettings(upstream="127.0.0.1:9"), GatewayPlace("ours", 1, "g", 1, "CLIENT"))
    with upstream(lambda: iter([METADATA])) as settings:
        upstream_cluster.require_same_cluster(settings, GatewayPlace("ours", 1, "g", 1, "CLIENT", "SASL_PLAINTEXT"))
