"""F13: TLS that ends at the gateway, and TLS again to the broker; refusals, rotation, and the identity that the gateway then knows."""

from __future__ import annotations

import os
import shutil
import socket
import ssl
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kafka
import pytest
from certificates import Authority, Pair
from confluent_kafka.admin import AdminClient
from conftest import RunningGateway, running_gateway
from forked import refused
from frame_bytes import head, request_frame
from http_attacks import connected
from listeners import taking
from observe import await_count, configurations, connection_records, counts, push_one, read_all, reloaded
from patience import LIMIT_S, until
from tls_cluster import TOPIC, Cluster, in_front, raw, tls_cluster, upstream

from clientscope.client import KafkaProducer
from clientscope.client.raw import RawClient
from clientscope.gateway.worker.proxy_protocol import build
from clientscope.model.connection import ClientConnectionRecord
from clientscope.model.enums import Kind, Origin, PrincipalSource


@pytest.fixture(scope="module")
def pair(authority: Authority) -> Pair:
    return authority.sign("gateway")


@pytest.fixture(scope="module")
def cluster(authority: Authority, folder: Path) -> Iterator[Cluster]:
    with tls_cluster(authority, folder / "broker") as running:
        yield running


def records(cluster: Cluster, client_id: str) -> list[ClientConnectionRecord]:
    return connection_records(cluster.plan.internal, client_id=client_id)


def librdkafka(gateway: RunningGateway, authority: Authority) -> AdminClient:
    """A client that is led to the gateway alone."""
    admin = AdminClient({"bootstrap.servers": gateway.address, "security.protocol": "SSL", "ssl.ca.location": str(authority.certificate)})
    assert [broker.port for broker in admin.list_topics(timeout=LIMIT_S).brokers.values()] == [int(gateway.address.split(":")[1])]
    return admin


@pytest.mark.parametrize("again", [False, True], ids=["ends_here", "again_to_the_broker"])
def test_f13_who_the_client_is_and_what_it_pushes_is_known(
    cluster: Cluster, authority: Authority, pair: Pair, tmp_path: Path, again: bool
) -> None:
    flags = [*pair.flags(), *(upstream(authority) if again else [])]
    client_id = f"tls-{again}"
    with in_front(cluster, tmp_path, *flags, secure=again) as gateway:
        settings = {"bootstrap_servers": gateway.address, "security_protocol": "SSL", "ssl_cafile": str(authority.certificate)}
        with KafkaProducer(client_id=client_id, **settings) as producer:
            big = os.urandom(900_000)
            assert producer.send(TOPIC, big).get(LIMIT_S) is not None
            assert set(gateway.connections) == {("kafka-python", kafka.__version__)}
        assert any(message.value == big for message in read_all(cluster.plan.internal, TOPIC))
        admin = librdkafka(gateway, authority)
        # It leaves its first connection, and comes again by the address that the broker advertises.
        until(lambda: "confluent-kafka-python" in {name for name, _ in gateway.connections})
        del admin

        def recorded() -> dict[int, Any]:
            return {record.origin: record for record in configurations(cluster.plan.internal, client_id=client_id)}

        until(lambda: recorded().keys() == {Origin.PUSHED, Origin.OBSERVED})
        for record in recorded().values():
            assert (record.security_protocol, record.software_name, record.principal) == ("SSL", "kafka-python", "User:ANONYMOUS")


def test_tls_passes_untouched_and_is_counted_by_address_alone(cluster: Cluster, authority: Authority, tmp_path: Path) -> None:
    with in_front(cluster, tmp_path, "--gateway-id", "passing", secure=True) as gateway:
        admin = librdkafka(gateway, authority)
        until(lambda: set(gateway.connections), {("unknown", "unknown")})
        del admin
    opened = connection_records(cluster.plan.internal, "passing", kind=Kind.OPENED)
    assert {(r.address, r.security_protocol, r.software_name) for r in opened} == {("127.0.0.1", "SSL", "unknown")}
    assert "counted by address alone" in (tmp_path / "gateway.log").read_text()


def test_f13_plain_text_to_the_gateway_and_tls_to_the_broker(cluster: Cluster, authority: Authority, tmp_path: Path) -> None:
    with in_front(cluster, tmp_path, *upstream(authority), secure=True) as gateway:
        with gateway.named("plain-first", "plain") as client:
            assert push_one(client) == 0
        until(lambda: connection_records(cluster.plan.internal, client_id="plain-first", kind=Kind.CLOSED))
        assert {(r.security_protocol, r.principal) for r in records(cluster, "plain-first")} == {("PLAINTEXT", "User:ANONYMOUS")}
    assert "the broker asks for certificates, but behind the gateway it sees User:ANONYMOUS" in (tmp_path / "gateway.log").read_text()


def old_tls(gateway: RunningGateway, authority: Authority) -> None:
    with warnings.catch_warnings(action="ignore"):
        context = authority.context
        context.minimum_version, context.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1
        context.set_ciphers("ALL:@SECLEVEL=0")
        with pytest.raises(ssl.SSLError, match="tlsv1 alert protocol version"):
            context.wrap_socket(connected(gateway.address), server_hostname="127.0.0.1")


def plain_text(gateway: RunningGateway, authority: Authority) -> None:
    with pytest.raises(OSError):
        gateway.named("plain")


def another_name(gateway: RunningGateway, authority: Authority) -> None:
    with pytest.raises(ssl.SSLCertVerificationError, match="not valid for 'elsewhere'"):
        authority.context.wrap_socket(connected(gateway.address), server_hostname="elsewhere")


def gone(gateway: RunningGateway, authority: Authority) -> None:
    connected(gateway.address).close()


def silent(gateway: RunningGateway, authority: Authority) -> None:
    with connected(gateway.address) as held:
        assert held.recv(1) == b""


REFUSED = {
    "unsupported_protocol": old_tls,
    "wrong_version_number": plain_text,
    "sslv3_alert_bad_certificate": another_name,
    "connection_lost": gone,
    "timeout": silent,
}


def test_f13_what_is_no_tls_of_today_is_refused_counted_and_counts_toward_the_limits(
    cluster: Cluster, authority: Authority, pair: Pair, tmp_path: Path
) -> None:
    flags = ("--unauthenticated-timeout-ms", "1500", "--max-connections", "3")
    with in_front(cluster, tmp_path, *pair.flags(), *flags) as gateway:
        for attempt in REFUSED.values():
            attempt(gateway, authority)
        until(lambda: counts(gateway, "tls_handshakes_failed"), dict.fromkeys(REFUSED, 1.0))
        held = [connected(gateway.address) for _ in range(3)]
        time.sleep(0.2)
        with pytest.raises(OSError):
            raw(gateway, authority, "one-too-many")
        await_count(gateway, "connections_refused", "max_connections", 1)
        held.pop().close()
        await_count(gateway, "tls_handshakes_failed", "connection_lost", 2)
        with raw(gateway, authority, "after") as client:
            assert client.api_versions("after", "1").error_code == 0
            until(lambda: gateway.connections, {("after", "1"): 1})
            client.socket.sendall(request_frame(9999, 0, 1))  # no such api key: the broker closes
            assert client.socket.recv(1) == b"", "the TLS client learns it"
            await_count(gateway, "connections_closed", "broker_closed", 1)
        for one in held:
            one.close()
    log = (tmp_path / "gateway.log").read_text()
    assert not [word for word in ("Traceback", "ERROR", "returning true") if word in log]


def test_a_load_balancers_header_comes_before_tls(cluster: Cluster, authority: Authority, pair: Pair, tmp_path: Path) -> None:
    flags = ("--proxy-protocol-from", "127.0.0.0/8", "--unauthenticated-timeout-ms", "1500", "--max-connections-per-ip", "1")
    with in_front(cluster, tmp_path, *pair.flags(), *flags) as gateway:

        def behind(source: str) -> RawClient:
            held = connected(gateway.address)
            header = build((source, 40_000), ("198.51.100.1", 9092))
            held.sendall(header[:20])
            time.sleep(0.2)
            held.sendall(header[20:])
            return RawClient(authority.context.wrap_socket(held, server_hostname="127.0.0.1"), f"behind {source}")

        with behind("203.0.113.7") as first, behind("203.0.113.8") as second:
            assert first.api_versions("behind", "1").error_code == second.api_versions("behind", "1").error_code == 0
            with pytest.raises(OSError), behind("203.0.113.7") as third:
                third.api_versions("behind", "1")
        with pytest.raises(OSError):
            raw(gateway, authority, "without")  # a TLS hello is no header
        silent = connected(gateway.address)
        wanted = {"max_connections_per_ip": 1, "proxy_header_invalid": 1, "proxy_header_timeout": 1}
        until(lambda: counts(gateway, "connections_refused"), wanted)
        silent.close()
    assert {record.address for record in records(cluster, "behind 203.0.113.7")} == {"203.0.113.7"}


def serial(client: RawClient) -> str:
    assert isinstance(client.socket, ssl.SSLSocket)
    return str((client.socket.getpeercert() or {})["serialNumber"])


def test_f13_rotation_drops_no_established_connection(cluster: Cluster, authority: Authority, tmp_path: Path) -> None:
    current = Pair(tmp_path / "tls.crt", tmp_path / "tls.key")
    log = tmp_path / "gateway.log"

    def put(new: Pair) -> None:
        shutil.copy(new.certificate, current.certificate)
        shutil.copy(new.key, current.key)

    put(authority.sign("first"))
    with in_front(cluster, tmp_path, *current.flags()) as gateway, raw(gateway, authority, "before") as before:
        assert before.api_versions("before", "1").error_code == 0
        put(authority.sign("second"))
        reloaded(gateway, log, "certificates and keys have been read again")
        with raw(gateway, authority, "after") as after:
            assert after.api_versions("after", "1").error_code == 0
            second = serial(after)
            assert second != serial(before)
        put(authority.sign("expired", days=-1))
        reloaded(gateway, log, "certificate has expired")
        current.certificate.write_text("no certificate")
        reloaded(gateway, log, "the certificates stay as they were")
        with raw(gateway, authority, "still") as still:
            assert serial(still) == second
        assert before.api_versions("before", "2").error_code == 0
        until(lambda: gateway.connections, {("before", "2"): 1})


def test_f13_a_clients_certificate_names_its_principal(cluster: Cluster, authority: Authority, pair: Pair, tmp_path: Path) -> None:
    alice = authority.sign("alice", subject="/C=DE/O=Acme, Inc/OU=ops/CN=alice")
    stranger = Authority(tmp_path / "other").sign("mallory", subject="/CN=alice")
    expired = authority.sign("alice-of-old", subject="/C=DE/O=Acme, Inc/OU=ops/CN=alice", days=-1)
    with in_front(cluster, tmp_path, *pair.flags(), "--ssl-ca-location", str(authority.certificate)) as gateway:
        for own in (None, stranger, expired):
            with pytest.raises(OSError), raw(gateway, authority, "nobody", own) as client:
                client.api_versions("nobody", "1")
        wanted = {"peer_did_not_return_a_certificate": 1, "certificate_verify_failed": 2}
        until(lambda: counts(gateway, "tls_handshakes_failed"), wanted)
        with raw(gateway, authority, "alice-app", alice) as client:
            assert client.api_versions("alice", "1").error_code == 0
            assert push_one(client) == 0
        until(lambda: records(cluster, "alice-app"))
        assert {(r.principal, r.principal_source) for r in records(cluster, "alice-app")} == {
            (r"User:CN=alice,OU=ops,O=Acme\, Inc,C=DE", PrincipalSource.CERTIFICATE)
        }
    assert "the broker sees User:ANONYMOUS for all of them" in (tmp_path / "gateway.log").read_text()


class TlsServer:
    """Takes TLS connections by one certificate after another, and says nothing on them."""

    def __init__(self, pair: Pair) -> None:
        self.show(pair)
        self.shaken = 0

    def show(self, pair: Pair) -> None:
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(pair.certificate, pair.key)

    def serve(self, connected: socket.socket) -> None:
        with self._context.wrap_socket(connected, server_side=True) as wrapped:
            self.shaken += bool(wrapped.recv(1))  # in TLS 1.3 a server is done before the client has judged it


def test_f13_a_broker_whose_certificate_has_expired_or_is_anothers_is_not_talked_to(
    cluster: Cluster, authority: Authority, tmp_path: Path
) -> None:
    wrong = (
        authority.sign("expired-broker", days=-1),
        authority.sign("another-broker", san="IP:127.0.0.2,DNS:elsewhere"),
        Authority(tmp_path / "other").sign("broker-of-another-authority"),
    )
    flags = ("--listener-name", "SECURE", *upstream(authority))
    server = TlsServer(authority.sign("right-broker"))
    with (
        taking(server.serve) as address,
        running_gateway(cluster.plan.internal, address, tmp_path, *flags, listen=cluster.secure) as gateway,
    ):
        asked = server.shaken  # by the gateway itself, at its start
        for number, pair in enumerate(wrong, 1):
            server.show(pair)
            with pytest.raises(OSError):
                gateway.named("client")
            await_count(gateway, "upstream_failures", "SSLCertVerificationError", number)
        assert server.shaken == asked, "not a byte of a client's"
        server.show(authority.sign("newer-broker"))
        with gateway.connect("client") as client:
            client.send_frame(head(18, 0, 1))
            until(lambda: server.shaken, asked + 1, why="it is the certificate that was refused")
    assert "Traceback" not in (tmp_path / "gateway.log").read_text()


def test_f13_what_cant_work_is_said_at_the_start(cluster: Cluster, authority: Authority, pair: Pair) -> None:
    words = (
        "gateway", "--bootstrap-servers", cluster.plan.internal, "--listen", cluster.secure,
        "--upstream", f"127.0.0.1:{cluster.secure_port}", "--listener-name", "SECURE",
    )  # fmt: skip
    assert "nothing says how to trust the broker" in refused(*words, *pair.flags())
    assert "certificate has expired" in refused(*words, *authority.sign("old", days=-1).flags(), *upstream(authority))
    mixed = Pair(pair.certificate, authority.sign("other").key)
    assert "it isn't the key of" in refused(*words, *mixed.flags(), *upstream(authority))
