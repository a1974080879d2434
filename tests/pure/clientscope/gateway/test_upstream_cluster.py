"""gateway/upstream_cluster: what an upstream answers at the gateway's start, of another cluster or of none."""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest
from golden import cases
from jmx_exporter import PAGE, exporter
from listeners import taking
from refusals import refused
from scripted_broker import METADATA, SILENT, ScriptedBroker

from clientscope.config import GatewaySettings
from clientscope.errors import EnvironmentProblem, SettingsError
from clientscope.gateway import upstream_cluster
from clientscope.gateway.brokers import KnownBrokers
from clientscope.gateway.cluster import find_cluster_place
from clientscope.gateway.place import GatewayPlace
from clientscope.pages import Request, listing
from clientscope.wire.describe_cluster import BrokerSoftware


def start(upstream: str, cluster: str, protocol: str = "PLAINTEXT", **settings: Any) -> None:
    given = GatewaySettings(upstream=upstream, **settings)
    upstream_cluster.require_same_cluster(given, GatewayPlace(cluster, 1, "g", 1, "CLIENT", protocol))


@pytest.fixture
def broker() -> Iterator[ScriptedBroker]:
    """Of the cluster named ``c``."""
    with closing(ScriptedBroker()) as broker:
        yield broker


def test_refuses_another_cluster_and_names_both(broker: ScriptedBroker) -> None:
    start(broker.address, "c")
    with pytest.raises(SettingsError) as caught:
        start(broker.address, "ours")
    assert "is a broker of cluster c, and --bootstrap-servers are of cluster ours" in str(caught.value)


@pytest.mark.parametrize(
    "said",
    [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", struct.pack(">ii", 40, 0) + bytes(36), struct.pack(">ii", -1, 0)],
    ids=["closes", "HTTP", "zeros", "negative length"],
)
def test_starts_before_one_that_says_nothing(said: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upstream_cluster, "_ANSWERED_MS", 1_000)

    def answer(connection: socket.socket) -> None:
        if connection.recv(4096):
            connection.sendall(said)

    with taking(answer) as address:
        start(address, "ours")


def test_waits_for_no_answer_that_never_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upstream_cluster, "_ANSWERED_MS", 500)
    with closing(ScriptedBroker(otherwise={METADATA: SILENT})) as broker:
        start(broker.address, "ours")


def test_asks_nothing_where_nobody_listens_or_a_client_has_to_say_more_first(broker: ScriptedBroker) -> None:
    start("127.0.0.1:9", "ours")
    start(broker.address, "ours", "SASL_PLAINTEXT")
    start(broker.address, "ours", upstream_proxy_protocol=True)
    assert not broker.connections


def test_an_upgrade_behind_a_gateway_that_runs_on(caplog: pytest.LogCaptureFixture) -> None:
    with exporter(PAGE % "4.3.1") as url:
        known = KnownBrokers(GatewaySettings(broker_jmx=url), 1)
        assert known.on_the_wire == BrokerSoftware("Kafka", None), "before it has looked"
        known.look()
        assert known.on_the_wire == BrokerSoftware("Kafka", "4.3.1")
    for _ in range(3):
        known.look()
        assert known.on_the_wire == BrokerSoftware("Kafka", None), "the broker is down: it may come back as another"
    assert len(caplog.records) == 1, "said once"
    with exporter(PAGE % "4.4.0") as url:
        after = KnownBrokers(GatewaySettings(broker_jmx=url), 1)
        after.look()
        assert after.on_the_wire == BrokerSoftware("Kafka", "4.4.0")


@pytest.mark.parametrize(
    ("settings", "software"),
    [
        ({}, BrokerSoftware("Kafka", None)),
        ({"broker_software_version": "4.4.0"}, BrokerSoftware("Kafka", "4.4.0")),
        ({"broker_software_name": "mine", "broker_jmx": "http://127.0.0.1:1/"}, BrokerSoftware("mine", None)),
    ],
)
def test_what_is_declared_is_not_looked_for(settings: dict[str, Any], software: BrokerSoftware) -> None:
    known = KnownBrokers(GatewaySettings(**settings), 1)
    known.look()
    assert known.on_the_wire == software


def asked(content: Callable[[], Any], host: str = "127.0.0.1:9465") -> tuple[int, bytes]:
    page = listing(content)(Request("GET", {"host": host}))
    return page.status, page.content


def test_the_page_and_what_it_says_when_no_broker_answers() -> None:
    def none() -> Any:
        raise EnvironmentProblem("no broker answers at b:1")

    status, body = asked(lambda: [{"broker": 1}])
    assert (status, json.loads(body)) == (200, [{"broker": 1}])
    assert asked(none) == (503, b"no broker answers at b:1\n")
    assert asked(none, "attacker.example:80")[0] == 403


@pytest.mark.parametrize(("given", "said"), cases(__file__, "not_with_a_cluster.txt"))
def test_what_does_not_go_with_a_cluster_is_refused_before_it_is_asked(given: str, said: str) -> None:
    settings = {"listen": "127.0.0.1:9092", **dict(each.split("=") for each in given.split())}
    with refused(said):
        find_cluster_place(GatewaySettings(broker_ports="9093-9192", **settings))
