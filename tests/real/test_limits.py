"""F08: who holds connections without being a client is closed in time, and others don't notice. And TLS passes untouched."""

from __future__ import annotations

import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient
from conftest import running_gateway
from observe import count, gateway_connections, read_all
from patience import LIMIT_S, until

from clientscope import topics
from clientscope.client.raw import RawClient
from clientscope.local.broker import BrokerPlan, EmbeddedBroker
from clientscope.local.process import free_port
from clientscope.records.codec import ClientConnectionRecord, decode
from clientscope.records.layouts import Kind
from clientscope.records.topics import CONNECTIONS

SLOW = 2000


def is_closed(connected: socket.socket) -> bool:
    connected.settimeout(0)
    try:
        return connected.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionResetError:
        return True


def test_f08_slow_senders_are_closed_and_fresh_clients_still_connect(broker: Any, tmp_path: Path) -> None:
    """How soon a fresh client has its answer, bench/hostile.py measures."""
    flags = ("--unauthenticated-timeout-ms", str(3_000))
    with running_gateway(broker.internal, broker.client, tmp_path, *flags) as gateway, ExitStack() as stack:
        host, port = gateway.address.split(":")
        good = stack.enter_context(RawClient.connect(gateway.address, "good"))
        assert good.api_versions("good", "1").error_code == 0
        slow = [stack.enter_context(socket.create_connection((host, int(port)))) for _ in range(SLOW)]
        stopping = threading.Event()

        def drip() -> None:
            for byte in b"\0\0\0\x20\0\x12":
                for one in slow:
                    if not is_closed(one):
                        one.setblocking(True)
                        one.send(bytes([byte]))
                if stopping.wait(0.8):
                    return

        dripping = threading.Thread(target=drip)
        dripping.start()
        with RawClient.connect(gateway.address, "fresh") as fresh:
            assert fresh.api_versions("fresh", "1").error_code == 0
        until(lambda: all(map(is_closed, slow)))
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


def test_an_idle_connection_is_closed_and_a_busy_one_is_not(broker: Any, tmp_path: Path) -> None:
    with running_gateway(broker.internal, broker.client, tmp_path, "--connections-max-idle-ms", "1500") as gateway, ExitStack() as stack:
        idle, busy = (stack.enter_context(RawClient.connect(gateway.address, name)) for name in ("idle", "busy"))
        idle.api_versions("idle", "1")
        ends = time.monotonic() + 4
        while time.monotonic() < ends:
            busy.api_versions("busy", "1")
            time.sleep(0.2)
        assert is_closed(idle.socket)
        until(lambda: count(gateway, "connections_closed", "idle"), 1)


@pytest.fixture(scope="module")
def tls_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[BrokerPlan, Path]]:
    """A broker whose listener CLIENT speaks TLS, and its certificate."""
    home = tmp_path_factory.mktemp("tls")
    certificate, key, both = home / "broker.crt", home / "broker.key", home / "broker.pem"
    subprocess.run(
        ["/usr/bin/openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate],
        check=True, capture_output=True,
    )  # fmt: skip
    both.write_text(key.read_text() + certificate.read_text())
    extra = {
        "listener.security.protocol.map": "CLIENT:SSL,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(both),
    }
    plan = BrokerPlan(free_port(), free_port(), f"127.0.0.1:{free_port()}", home / "broker", extra=extra)
    with EmbeddedBroker(plan):
        topics.create(plan.internal)
        yield plan, certificate


def test_tls_passes_untouched_and_is_counted_by_address_alone(tls_broker: tuple[BrokerPlan, Path], tmp_path: Path) -> None:
    plan, certificate = tls_broker
    with running_gateway(plan.internal, f"127.0.0.1:{plan.port}", tmp_path, listen=plan.advertised) as gateway:
        admin = AdminClient({"bootstrap.servers": gateway.address, "security.protocol": "SSL", "ssl.ca.location": str(certificate)})
        assert [broker.port for broker in admin.list_topics(timeout=LIMIT_S).brokers.values()] == [int(gateway.address.split(":")[1])]
        until(lambda: set(gateway_connections(gateway.metrics_url)), {("unknown", "unknown")})
        context = ssl.create_default_context(cafile=str(certificate))
        host, port = gateway.address.split(":")
        with context.wrap_socket(socket.create_connection((host, int(port)), 10), server_hostname=host) as wrapped:
            assert wrapped.getpeercert()["subject"] == ((("commonName", "localhost"),),)  # type: ignore[index]
    opened = [decode(ClientConnectionRecord, message.value) for message in read_all(plan.internal, CONNECTIONS)]
    assert {(r.client_address, r.security_protocol, r.client_software_name) for r in opened if r.kind == Kind.OPENED} == {
        ("127.0.0.1", "SSL", "unknown")
    }
    assert "counted by address alone" in (tmp_path / "gateway.log").read_text()
