"""The request log of a gateway in front of a real broker, with real clients."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import kafka
from conftest import RunningBroker, running_gateway
from every import every
from forked import clientscope
from observe import counts, make_topic
from patience import LIMIT_S, until

from clientscope.client.raw import RawClient

TOPIC = "test.requests"


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_only_the_client_asked_for_is_logged_and_each_of_its_requests(spare: RunningBroker, tmp_path: Path) -> None:
    path = tmp_path / "requests.log"
    flags = ("--request-log", str(path), "--request-log-client-id", "orders-*")
    with running_gateway(spare.internal, spare.client, tmp_path, *flags, listen=spare.advertised) as gateway:
        make_topic(gateway.address, TOPIC)
        for client_id in ("orders-1", "payments-1"):
            with kafka.KafkaProducer(bootstrap_servers=gateway.address, client_id=client_id) as producer:
                for _ in range(10):
                    producer.send(TOPIC, b"x").get(LIMIT_S)
            acks_0 = kafka.KafkaProducer(bootstrap_servers=gateway.address, client_id=client_id, acks=0, enable_idempotence=False)
            with acks_0 as producer:
                for _ in range(10):
                    producer.send(TOPIC, b"x").get(LIMIT_S)
        with RawClient.connect(gateway.address, "orders-raw") as raw:
            raw.api_versions("raw", "1")
            assert raw.push_config([("acks", "all", 1, False)]).error_code == 0
        until(lambda: len([line for line in lines(path) if line["requestHeader"]["requestApiKey"] == 0]), 20)
        until(lambda: any(line["requestHeader"]["requestApiKeyName"] == "PUSH_CONFIG" for line in lines(path)))
        assert counts(gateway, "request_log_dropped") == {}
    found = lines(path)
    assert {line["requestHeader"]["clientId"] for line in found} <= {"orders-1", "orders-raw", None}
    assert {line["requestHeader"]["clientId"] for line in found} >= {"orders-1", "orders-raw"}
    names = {line["requestHeader"]["requestApiKeyName"] for line in found}
    assert names >= {"API_VERSIONS", "METADATA", "PRODUCE", "INIT_PRODUCER_ID", "PUSH_CONFIG"}
    produced = [line["totalTimeMs"] for line in found if line["requestHeader"]["requestApiKeyName"] == "PRODUCE"]
    assert len([total for total in produced if total is None]) == 10, "acks=0"
    assert all(0 < total < 10_000 for total in every(total for total in produced if total is not None))
    assert {line["listener"] for line in found} == {"CLIENT"}
    host = re.escape(gateway.address)
    assert all(re.fullmatch(rf"{host}-127\.0\.0\.1:\d+-0-\d+", line["connection"]) for line in every(found))
    assert {line["clientInformation"]["softwareName"] for line in found} <= {"kafka-python", "raw", "unknown"}
    assert next(line for line in found if line["requestHeader"]["requestApiKeyName"] == "PRODUCE")["clientInformation"]["softwareVersion"]


def test_a_file_that_cannot_be_written_is_said_at_start(broker: Any) -> None:
    flags = ("--metrics-listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--request-log", "/nowhere/requests.log")
    ended = clientscope("gateway", "--bootstrap-servers", broker.internal, "--upstream", broker.client, *flags)
    assert ended.returncode == 1
    assert "request-log: cannot write /nowhere/requests.log: No such file or directory" in ended.stderr
    assert "Traceback" not in ended.stderr
