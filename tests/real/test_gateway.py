"""The gateway in front of a real broker: real clients pass, bad input is answered or closed, and the broker's JMX agrees.

Its limits (F08), its workers, and ``clientscope connections``.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import time
import uuid
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import aiokafka
import kafka
import psutil
import pytest
from conftest import RunningGateway
from every import every
from forked import clientscope, printed, refused
from frame_bytes import head
from http_attacks import connected
from observe import (
    WorkerMemory,
    await_count,
    by_librdkafka,
    connection_records,
    count,
    is_closed,
    metrics,
    push_one,
    statuses,
    workers,
)
from patience import LIMIT_S, until

from clientscope.client.raw import RawClient
from clientscope.local.process import free_port
from clientscope.model.enums import Kind
from clientscope.wire.messages import ApiVersionsRequest


def test_four_clients_produce_and_consume_through_it_and_the_counts_are_the_brokers_own(gateway: Any, broker: Any, topic: str) -> None:
    with kafka.KafkaProducer(bootstrap_servers=gateway.address, client_id="direct") as producer:
        for number in range(500):
            producer.send(topic, b"%d" % number)
        producer.flush(LIMIT_S)
        confluent = by_librdkafka(gateway.address, topic, b"from librdkafka")

        async def from_aiokafka() -> None:
            async with aiokafka.AIOKafkaProducer(bootstrap_servers=gateway.address) as sender:
                await sender.send_and_wait(topic, b"from aiokafka")

        asyncio.run(from_aiokafka())
        consumer = kafka.KafkaConsumer(topic, bootstrap_servers=gateway.address, auto_offset_reset="earliest")
        with consumer:
            values = [next(consumer).value for _ in range(502)]
            assert values[:500] == [b"%d" % number for number in range(500)]
            assert set(values[500:]) == {b"from librdkafka", b"from aiokafka"}
            until(lambda: gateway.connections == broker.connections != {})
            names = {name for name, _ in gateway.connections}
            assert names == {"kafka-python", "confluent-kafka-python"}
        del confluent
    until(lambda: gateway.connections, {})
    until(lambda: broker.connections, {})


def test_gateway_records_the_bytes_per_second_of_each_connection(broker: Any, tmp_path: Path) -> None:
    """All that a client sent and received, and nothing of one that is idle."""
    with (
        broker.gateway(tmp_path, "--gateway-id", "gateway-traffic") as gateway,
        gateway.named("idle"),
        gateway.connect("busy") as busy,
    ):

        def said() -> list[dict[int, tuple[int, int]]]:
            records = connection_records(broker.internal, "gateway-traffic", kind=Kind.TRAFFIC)
            return [{number: (came, went) for number, came, went in record.traffic} for record in records]

        until(lambda: bool(said()) and not said()[-1], why="both are idle now")
        before, sent, received = len(said()), 0, 0
        end = time.monotonic() + 2
        while time.monotonic() < end:
            busy.send(ApiVersionsRequest(version=0))
            received += 4 + len(busy.receive_frame())
            sent += 4 + 10 + len("busy")
            time.sleep(0.01)
        until(lambda: len(said()) > before + 2 and not said()[-1])
        beats = [beat for beat in said()[before:] if beat]
        assert {len(beat) for beat in beats} == {1}, "the idle one is in none"
        per_second = [rates for beat in beats for rates in beat.values()]
        assert sum(came for came, _ in per_second) == pytest.approx(sent, rel=0.25)
        assert sum(went for _, went in per_second) == pytest.approx(received, rel=0.25)


def test_f06_a_nonsense_length_closes_the_connection_and_is_counted(gateway: Any) -> None:
    garbage = b"\x16\x03\x01\x02\0\1\0\1\xfc"  # TLS
    before, memory = count(gateway, "frames_refused", "bad_length"), WorkerMemory(gateway.pid)
    for _ in range(20):
        with connected(gateway.address) as held:
            held.sendall(garbage)
            assert is_closed(held)
            memory.rss()
    await_count(gateway, "frames_refused", "bad_length", before + 20)
    memory.stays_within(2**20)


def test_a_push_leaves_the_brokers_own_idea_of_the_client_as_it_was(gateway: Any, broker: Any) -> None:
    with gateway.named("carrier-test") as client:
        assert push_one(client) == 0
        assert broker.connections["carrier-test", "1"] == 1
        client.api_versions("", "", version=0)
        until(lambda: ("carrier-test", "1") not in broker.connections)
        until(lambda: ("carrier-test", "1") not in gateway.connections)


def test_it_says_what_its_broker_is_declared_to_be_and_how_it_is_until_it_is_stopped(broker: Any, tmp_path: Any) -> None:
    flags = ("--gateway-id", "teller", "--broker-software-name", "Kafka", "--broker-software-version", "4.4.0")
    with broker.gateway(tmp_path, *flags) as declared:
        with kafka.KafkaAdminClient(bootstrap_servers=declared.address) as admin:
            assert [node["broker_id"] for node in admin.describe_cluster()["brokers"]] == [1]

        def told() -> list[dict[str, Any]]:
            """Of its broker."""
            return [each for each in statuses(broker.internal).values() if each.get("gateway") == "teller"]

        until(lambda: ("gateway", "teller") in statuses(broker.internal) and told())
        gateway, (mine, *_) = statuses(broker.internal)["gateway", "teller"], told()
        assert (gateway["condition"], gateway["figures"]["broker"]) == ("ok", 1)
        assert (mine["software_name"], mine["software_version"], mine["source"]) == ("Kafka", "4.4.0", "declared")
        assert mine["apis"]["18"][0] == 0
    assert statuses(broker.internal)["gateway", "teller"]["condition"] == "stopped"


def test_it_records_the_versions_that_a_client_requested(gateway: Any, broker: Any) -> None:
    def recorded(kind: Kind) -> list[Any]:
        return [each.requested_versions for each in connection_records(broker.internal, gateway.address, kind=kind, client_id="asks-old")]

    def asks(client: RawClient) -> None:
        client.send_frame(head(3, 0, 7, b"asks-old") + bytes(4))
        client.receive_frame()

    with gateway.connect("asks-old") as client:
        for _ in range(100):
            asks(client)
        until(lambda: recorded(Kind.PRESENT), [((3, 0),)], why="one record of many requests")
    with gateway.connect("asks-old") as short:
        asks(short)
    until(lambda: recorded(Kind.CLOSED), 2 * [((3, 0),)])
    assert len(recorded(Kind.PRESENT)) == 1
    said = clientscope("readiness", "--bootstrap-servers", broker.internal, "--target", "4.0.0")
    assert "asks-old" in said.stdout
    assert "--broker-release" not in said.stderr, "the broker's release comes from the gateway's status"


def test_one_whose_port_is_taken_ends_and_says_so(broker: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        for flag, other in (("listen", "metrics-listen"), ("metrics-listen", "listen")):
            said = refused("gateway", "--bootstrap-servers", broker.internal, f"--{flag}", address, f"--{other}", "127.0.0.1:0", status=1)
            assert said.startswith(f"error: {flag}: cannot listen on {address}: ") and "hint: " in said


def test_f08_one_address_has_its_share(broker: Any, tmp_path: Path) -> None:
    flags = ("--max-connections", "5", "--max-connections-per-ip", "3")
    with (
        broker.gateway(tmp_path, *flags, listen=f"0.0.0.0:{free_port()}") as gateway,
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
        await_count(gateway, "connections_refused", "max_connections_per_ip", 1)
        await_count(gateway, "connections_refused", "max_connections", 1)
        until(lambda: gateway.connections, {("share", "1"): 5})
        kept[0].close()
        until(lambda: gateway.connections, {("share", "1"): 4})
        connect("127.0.0.2").api_versions("share", "1")


NAME = ("spread", "1")


def spread(gateway: RunningGateway, stack: ExitStack) -> RawClient:
    return stack.enter_context(gateway.named("spread"))


def is_open(client: RawClient) -> bool:
    try:
        return bool(client.api_versions(*NAME).error_code == 0)
    except OSError:
        return False


def test_a_worker_that_is_killed_takes_its_own_connections_with_it_and_no_other(broker: Any, tmp_path: Path) -> None:
    with (
        broker.gateway(tmp_path, "--workers", "3", "--gateway-id", "killed") as gateway,
        ExitStack() as stack,
    ):
        clients = [spread(gateway, stack) for _ in range(60)]
        until(lambda: gateway.connections, {NAME: 60})
        until(lambda: len(workers(gateway.pid)), 3)
        running = workers(gateway.pid)
        os.kill(running.pop(), signal.SIGKILL)
        left = [client for client in clients if is_open(client)]
        assert 0 < len(left) < 60
        until(lambda: gateway.connections == {NAME: len(left)})
        lost = 60 - len(left)
        await_count(gateway, "connections_closed", "worker_lost", lost)
        again = [spread(gateway, stack) for _ in range(40)]
        assert all(map(is_open, every([*left, *again])))
        until(lambda: gateway.connections == {NAME: len(left) + 40})
        assert metrics(gateway.metrics_url)["clientscope_gateway_event_loop_lag_seconds_count", "worker"] > 0
    records = connection_records(broker.internal, "killed")
    assert [record.sequence for record in records] == list(range(len(records)))
    opened = [record.connection for record in records if record.kind == Kind.OPENED]
    closed = {record.connection: record.reason for record in records if record.kind == Kind.CLOSED}
    assert len(set(opened)) == len(opened) == len(closed) == 100
    assert list(closed.values()).count("worker_lost") == lost


def test_a_gateway_that_can_make_no_more_workers_stops_and_says_so(broker: Any, tmp_path: Path) -> None:
    with broker.gateway(tmp_path, "--workers", "2") as gateway:
        until(lambda: len(workers(gateway.pid)), 2)
        first, second = workers(gateway.pid)
        psutil.Process(first).parent().kill()  # the template
        os.kill(first, signal.SIGKILL)
        until(lambda: "the gateway stops, to be started again" in (tmp_path / "gateway.log").read_text())
        until(lambda: not Path(f"/proc/{second}").exists())


def test_limits_hold_for_all_workers_together(broker: Any, tmp_path: Path) -> None:
    flags = ("--workers", "3", "--max-connections", "30")
    with broker.gateway(tmp_path, *flags) as gateway, ExitStack() as stack:
        for _ in range(60):
            stack.enter_context(connected(gateway.address))
        until(lambda: sum(gateway.connections.values()), 30)
        await_count(gateway, "connections_refused", "max_connections", 30)


def listing(gateway: Any, *flags: str) -> str:
    return printed("connections", "--admin", gateway.admin, *flags, COLUMNS="140")


def test_json_and_table(gateway: Any) -> None:
    instance = uuid.uuid4()
    with (
        gateway.named("listed-old", "listed-java", "2.8.1", instance),
        gateway.named("listed-new", "listed-java", "4.4.0"),
        gateway.connect("listed-new") as silent,
    ):
        silent.api_versions("", "", version=0)
        lines = [json.loads(line) for line in listing(gateway, "-o", "jsonl", "client_id:listed-*").splitlines()]
        assert [(c["ClientId"], c["ClientName"], c["ClientVersion"], c["Inferred"]) for c in lines] == [
            ("listed-old", "listed-java", "2.8.1", None),
            ("listed-new", "listed-java", "4.4.0", None),
            ("listed-new", "unknown", "unknown", ["listed-java", "4.4.0"]),
        ]
        assert lines[0]["ClientInstanceId"] == str(instance)
        ends = {(c["ClientAddress"], c["Principal"], c["Listener"], c["SecurityProtocol"]) for c in lines}
        assert ends == {("127.0.0.1", "User:ANONYMOUS", "CLIENT", "PLAINTEXT")}
        text = listing(gateway, "software:listed-java", "version:<3.0")
        assert text.startswith("1 connection on listener CLIENT (PLAINTEXT)")
        assert "listed-old" in text
        assert "listed-java (inferred)" in listing(gateway, "client_id:listed-new")
    assert "0 connections" in listing(gateway, "client_id:listed-*")


def test_only_on_loopback() -> None:
    """And only under its own name: test_bypass.py, of the same listener."""
    assert "is not loopback" in refused("gateway", "--admin-listen", "0.0.0.0:9465")
