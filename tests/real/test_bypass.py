"""A gateway that is bypassed: nobody notices, and nothing is read any more."""

from __future__ import annotations

import json
import os
import signal
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import confluent_kafka
import kafka
import pytest
from conftest import RunningBroker, RunningGateway, running_gateway, start_broker
from observe import eventually, gateway_connections, metrics, workers

from clientscope.client.raw import RawClient
from clientscope.wire.codes import PUSH_CONFIG

TOPIC = "test.bypass"
PUSH = [("acks", "all", 1, True)]


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBroker]:
    """One that leads its clients to the gateway of a test here."""
    started, running = start_broker(tmp_path_factory.mktemp("bypass-broker"))
    yield running
    started.stop()


def put(gateway: RunningGateway, body: bytes, method: str = "PUT", host: str = "") -> tuple[int, Any]:
    headers = {"Host": host} if host else {}
    request = urllib.request.Request(f"http://{gateway.admin}/v1/bypass", body or None, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=5) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as refusal:
        return refusal.code, refusal.read().decode()


def keys(client: RawClient) -> set[int]:
    return {entry.api_key for entry in client.api_versions("kept", "1").api_keys}


def keys_of_a_new_client(gateway: RunningGateway) -> set[int]:
    with RawClient.connect(gateway.address, "new") as client:
        return keys(client)


def is_bypassed(gateway: RunningGateway) -> bool:
    return metrics(gateway.metrics_url)[("clientscope_gateway_bypassed",)] == 1


def test_by_a_signal_while_clients_produce_and_push(broker: RunningBroker, tmp_path: Path) -> None:
    with closing(kafka.KafkaAdminClient(bootstrap_servers=broker.internal)) as admin:
        admin.create_topics({TOPIC: {"num_partitions": 1}}, wait_for_metadata=True)
    with running_gateway(broker.internal, broker.client, tmp_path, listen=broker.advertised) as gateway:
        over, errors, sent = threading.Event(), [], []

        def produce() -> None:
            producer = confluent_kafka.Producer({"bootstrap.servers": gateway.address, "acks": "all", "enable.idempotence": True})
            while not over.wait(0.001):
                producer.produce(TOPIC, b"x" * 1000, on_delivery=lambda error, _: (errors if error else sent).append(error))
                producer.poll(0)
            producer.flush(30)

        producing = threading.Thread(target=produce)
        producing.start()
        kept = RawClient.connect(gateway.address, "kept")
        assert PUSH_CONFIG in keys(kept)
        assert kept.push_config(PUSH).error_code == 0
        assert eventually(lambda: len(sent) > 100)
        os.kill(gateway.pid, signal.SIGUSR1)
        assert eventually(lambda: is_bypassed(gateway))
        assert eventually(lambda: PUSH_CONFIG not in keys(kept)), "the broker's own answer"
        assert eventually(lambda: PUSH_CONFIG not in keys_of_a_new_client(gateway))
        with RawClient.connect(gateway.address, "new") as new:
            keys(new)
            assert eventually(lambda: gateway_connections(gateway.metrics_url)[("kept", "1")] == 1)
            assert gateway_connections(gateway.metrics_url)[("unknown", "unknown")] >= 1
        before = len(sent)
        assert eventually(lambda: len(sent) > before + 100)
        os.kill(gateway.pid, signal.SIGUSR2)
        assert eventually(lambda: not is_bypassed(gateway))
        assert eventually(lambda: PUSH_CONFIG in keys_of_a_new_client(gateway))
        with RawClient.connect(gateway.address, "again") as again:
            keys(again)
            assert again.push_config(PUSH).error_code == 0
        over.set()
        producing.join()
        kept.close()
        assert not errors


def test_by_a_call_that_no_web_page_can_make(broker: RunningBroker, tmp_path: Path) -> None:
    with running_gateway(broker.internal, broker.client, tmp_path) as gateway:
        assert put(gateway, b"", "GET") == (200, False)
        assert put(gateway, b"true", host="attacker.example:80")[0] == 403
        assert put(gateway, b"true", "POST") == (400, "PUT true, or PUT false\n")
        assert put(gateway, b"yes")[0] == 400
        assert put(gateway, b"", "GET") == (200, False)
        assert put(gateway, b"true") == (202, True)
        assert eventually(lambda: put(gateway, b"", "GET") == (200, True))
        assert eventually(lambda: PUSH_CONFIG not in keys_of_a_new_client(gateway))
        with RawClient.connect(gateway.address, "pushing") as pushing, pytest.raises(OSError):
            pushing.push_config(PUSH)  # goes to the broker, which closes, as without a gateway
        assert eventually(lambda: len(workers(gateway.pid)) == 1)
        (before,) = workers(gateway.pid)
        os.kill(before, signal.SIGKILL)
        assert eventually(lambda: len(workers(gateway.pid) - {before}) == 1)
        assert PUSH_CONFIG not in keys_of_a_new_client(gateway), "a worker's successor is bypassed, too"
        assert put(gateway, b"false") == (202, False)
        assert eventually(lambda: put(gateway, b"", "GET") == (200, False))
