"""F10: every kind of end of a connection closes both of its sides, leaves no descriptor, and has one record with the reason."""

from __future__ import annotations

import socket
import struct
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from conftest import RunningGateway, running_gateway
from every import every
from http_attacks import connected
from observe import connection_records, metrics, workers
from patience import eventually, until

from clientscope.records.enums import Kind

EACH = 20
HALF_A_FRAME = struct.pack(">ihhi", 1_000, 3, 1, 7) + b"x" * 100
HALF_A_READ_FRAME = struct.pack(">ihhi", 1_000, 18, 3, 7) + b"x" * 100
METADATA = struct.pack(">ihhihi", 14, 3, 1, 7, -1, 0)


def reset(one: socket.socket) -> None:
    one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    one.close()


class Upstream:
    """What a gateway takes for its broker: it ends each connection as it is asked to, and counts those whose other end has gone."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self.act = ""
        self.gone = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                taken, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(taken, self.act), daemon=True).start()

    def _serve(self, taken: socket.socket, act: str) -> None:
        with suppress(OSError):
            if act == "closes at once":
                taken.close()
            elif act == "resets at once":
                reset(taken)
            else:
                taken.recv(65536)
                taken.sendall(struct.pack(">ii", 1_000, 7) + b"y" * 100)  # a tenth of a response
                if act == "resets within a response":
                    reset(taken)
                elif act == "closes within a response":
                    taken.close()
                else:
                    while taken.recv(65536):
                        pass
        self.gone += 1
        taken.close()

    def close(self) -> None:
        self._listener.close()


@dataclass
class Rig:
    upstream: Upstream
    gateway: RunningGateway
    internal: str

    @property
    def descriptors(self) -> int:
        (worker,) = workers(self.gateway.pid)
        return len(list(Path(f"/proc/{worker}/fd").iterdir()))

    def reasons(self) -> Counter[str]:
        records = connection_records(self.internal, self.gateway.address)
        return Counter(record.reason for record in records if record.kind == Kind.CLOSED)


@pytest.fixture(scope="module")
def rig(broker: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    upstream = Upstream()
    with running_gateway(broker.internal, upstream.address, tmp_path_factory.mktemp("ends")) as gateway:
        yield Rig(upstream, gateway, broker.internal)
    upstream.close()


@pytest.mark.parametrize(
    ("broker_acts", "client_sends", "client_ends", "reasons"),
    [
        ("", HALF_A_FRAME, "reset", {"client_reset"}),
        ("", HALF_A_READ_FRAME, "reset", {"client_reset"}),
        ("", HALF_A_FRAME, "close", {"broker_closed", "client_closed", "client_reset"}),
        ("", METADATA, "reset", {"client_reset"}),
        ("closes at once", METADATA, "waits", {"broker_closed", "client_closed", "broker_reset"}),
        ("resets at once", METADATA, "waits", {"broker_reset", "upstream_unreachable"}),
        ("resets within a response", METADATA, "waits", {"broker_reset"}),
        ("closes within a response", METADATA, "waits", {"broker_closed", "client_closed"}),
    ],
)
def test_f10_both_legs_are_closed_and_said_to_be_once(
    rig: Rig, broker_acts: str, client_sends: bytes, client_ends: str, reasons: set[str]
) -> None:
    before, descriptors, gone = rig.reasons(), rig.descriptors, rig.upstream.gone
    rig.upstream.act = broker_acts
    clients = [connected(rig.gateway.address) for _ in range(EACH)]
    for client in clients:
        with suppress(OSError):
            client.sendall(client_sends)
    if client_ends == "waits":
        for client in clients:
            with suppress(ConnectionResetError):
                while client.recv(65536):
                    pass
            client.close()
    else:
        until(lambda: metrics(rig.gateway.metrics_url)[("clientscope_gateway_connected_clients", *labels(rig))] >= EACH)
        for client in clients:
            reset(client) if client_ends == "reset" else client.close()
    assert eventually(lambda: sum(rig.reasons().values()) - sum(before.values()) == EACH), rig.reasons() - before
    assert set(rig.reasons() - before) <= reasons
    until(lambda: rig.descriptors, descriptors, why=(rig.descriptors, descriptors))
    until(lambda: rig.upstream.gone - gone, EACH, why="the broker's leg has ended too")
    closed = metrics(rig.gateway.metrics_url)
    assert all(closed[("clientscope_gateway_connections_closed_total", reason)] for reason in every(set(rig.reasons() - before)))


def labels(rig: Rig) -> tuple[str, ...]:
    """The values of the labels that each of a gateway's gauges has."""
    return next(key[1:] for key in metrics(rig.gateway.metrics_url) if key[0] == "clientscope_gateway_connected_clients")
