"""F08: who holds connections without being a client is closed in time, and others don't notice."""

from __future__ import annotations

import socket
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from conftest import running_gateway
from http_attacks import connected
from observe import count, gateway_connections, is_closed
from patience import until

from clientscope.client.raw import RawClient
from clientscope.local.process import free_port

SLOW = 1000


def test_f08_slow_senders_are_closed_and_fresh_clients_still_connect(broker: Any, tmp_path: Path) -> None:
    """How soon a fresh client has its answer, bench/hostile.py measures."""
    flags = ("--unauthenticated-timeout-ms", "1500")
    with running_gateway(broker.internal, broker.client, tmp_path, *flags) as gateway, ExitStack() as stack:
        good = stack.enter_context(RawClient.connect(gateway.address, "good"))
        assert good.api_versions("good", "1").error_code == 0
        slow = [stack.enter_context(connected(gateway.address)) for _ in range(SLOW)]
        stopping = threading.Event()

        def drip() -> None:
            for byte in b"\0\0\0\x20\0\x12":
                for one in slow:
                    if not is_closed(one, 0):
                        one.setblocking(True)
                        one.send(bytes([byte]))
                if stopping.wait(0.4):
                    return

        dripping = threading.Thread(target=drip)
        dripping.start()
        with RawClient.connect(gateway.address, "fresh") as fresh:
            assert fresh.api_versions("fresh", "1").error_code == 0
        until(lambda: all(is_closed(each, 0) for each in slow))
        stopping.set()
        dripping.join()
        until(lambda: count(gateway, "connections_closed", "unauthenticated_timeout"), SLOW)
        until(lambda: gateway_connections(gateway.metrics_url), {("good", "1"): 1})
        assert good.api_versions("good", "1").error_code == 0, "one that the broker has answered stays"


def test_f08_one_address_has_its_share(broker: Any, tmp_path: Path) -> None:
    flags = ("--max-connections", "5", "--max-connections-per-ip", "3")
    with (
        running_gateway(broker.internal, broker.client, tmp_path, *flags, listen=f"0.0.0.0:{free_port()}") as gateway,
        ExitStack() as stack,
    ):
        port = int(gateway.address.split(":")[1])

        def connect(source: str) -> RawClient:
            client = RawClient(socket.create_connection(("127.0.0.1", port), 10, (source, 0)), "share")
            return stack.enter_context(client)

        kept = [connect("127.0.0.2") for _ in range(3)]
        for client in kept:
            client.api_versions("share", "1")
        with pytest.raises(OSError):
            connect("127.0.0.2").api_versions("share", "1")
        for _ in range(2):
            connect("127.0.0.3").api_versions("share", "1")
        with pytest.raises(OSError):
            connect("127.0.0.4").api_versions("share", "1")
        until(lambda: count(gateway, "connections_refused", "max_connections_per_ip"), 1)
        until(lambda: count(gateway, "connections_refused", "max_connections"), 1)
        until(lambda: gateway_connections(gateway.metrics_url), {("share", "1"): 5})
        kept[0].close()
        until(lambda: gateway_connections(gateway.metrics_url), {("share", "1"): 4})
        connect("127.0.0.2").api_versions("share", "1")
