"""A gateway that is bypassed: no client notices, and nothing is read any more."""

from __future__ import annotations

import json
import os
import signal
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest
from conftest import RunningBroker, RunningGateway
from http_attacks import get
from observe import make_topic, metrics, private_file, push_one, workers
from patience import LIMIT_S, meanwhile, until

from clientscope.client.raw import RawClient
from clientscope.wire.codes import PUSH_CONFIG

TOPIC = "test.bypass"


TOKEN, OTHER = "a-token-of-32-characters-or-so-00", "another-token-of-32-characters-00"


def put(gateway: RunningGateway, body: bytes, method: str = "PUT", host: str = "", token: str = TOKEN) -> tuple[int, Any]:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    if host:
        headers["Host"] = host
    request = urllib.request.Request(f"http://{gateway.admin}/v1/bypass", body or None, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=LIMIT_S) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as refusal:
        return refusal.code, refusal.read().decode()


def keys(client: RawClient) -> set[int]:
    return {entry.api_key for entry in client.api_versions("kept", "1").api_keys}


def keys_of_a_new_client(gateway: RunningGateway) -> set[int]:
    with gateway.connect("new") as client:
        return keys(client)


def is_bypassed(gateway: RunningGateway) -> bool:
    return metrics(gateway.metrics_url)[("clientscope_gateway_bypassed",)] == 1


def test_by_a_signal_while_clients_produce_and_push(spare: RunningBroker, tmp_path: Path) -> None:
    make_topic(spare.internal, TOPIC)
    with spare.gateway(tmp_path, advertised=True) as gateway:
        errors: list[Any] = []
        sent: list[Any] = []
        producer = confluent_kafka.Producer({"bootstrap.servers": gateway.address, "acks": "all", "enable.idempotence": True})

        def produce() -> None:
            producer.produce(TOPIC, b"x" * 1000, on_delivery=lambda error, _: (errors if error else sent).append(error))
            producer.poll(0)

        with meanwhile(produce, 0.001):
            kept = gateway.connect("kept")
            assert PUSH_CONFIG in keys(kept)
            assert push_one(kept) == 0
            until(lambda: len(sent) > 100)
            status, text = put(gateway, b"true")
            assert (status, "admin_token_file" in text) == (403, True), "F38: without a token file only signals turn it"
            os.kill(gateway.pid, signal.SIGUSR1)
            until(lambda: is_bypassed(gateway) and put(gateway, b"", "GET", token="") == (200, True))
            until(lambda: PUSH_CONFIG not in keys(kept), why="the broker's own answer")
            until(lambda: PUSH_CONFIG not in keys_of_a_new_client(gateway))
            with gateway.connect("new") as new:
                keys(new)
                until(lambda: gateway.connections.get(("unknown", "unknown"), 0) >= 1)
                assert gateway.connections[("kept", "1")] == 1
            before = len(sent)
            until(lambda: len(sent) > before + 100)
            os.kill(gateway.pid, signal.SIGUSR2)
            until(lambda: not is_bypassed(gateway))
            until(lambda: PUSH_CONFIG in keys_of_a_new_client(gateway))
            with gateway.connect("again") as again:
                keys(again)
                assert push_one(again) == 0
        producer.flush(LIMIT_S)
        kept.close()
        assert not errors


def token_file(folder: Path, text: str = f"# who may\nalice {TOKEN}\n") -> Path:
    return private_file(folder / "admin.token", text)


def test_f38_a_call_needs_a_token_and_no_web_page_can_make_it(spare: RunningBroker, tmp_path: Path) -> None:
    file = token_file(tmp_path)
    with spare.gateway(tmp_path, "--admin-token-file", str(file)) as gateway:
        assert put(gateway, b"", "GET", token="") == (200, False)
        assert put(gateway, b"true", host="attacker.example:80")[0] == 403
        assert put(gateway, b"true", "POST") == (400, "PUT true, or PUT false\n")
        assert put(gateway, b"yes")[0] == 400
        assert put(gateway, b"", "GET") == (200, False)
        assert put(gateway, b"true") == (202, True)
        until(lambda: put(gateway, b"", "GET"), (200, True))
        until(lambda: PUSH_CONFIG not in keys_of_a_new_client(gateway))
        with gateway.connect("pushing") as pushing, pytest.raises(OSError):
            push_one(pushing)  # goes to the broker, which closes, as without a gateway
        until(lambda: len(workers(gateway.pid)), 1)
        (before,) = workers(gateway.pid)
        os.kill(before, signal.SIGKILL)
        until(lambda: len(workers(gateway.pid) - {before}), 1)
        assert PUSH_CONFIG not in keys_of_a_new_client(gateway), "a worker's successor is bypassed, too"
        assert put(gateway, b"false") == (202, False)
        until(lambda: put(gateway, b"", "GET"), (200, False))
        for wrong in ("", "x", TOKEN[:-1], TOKEN + "0", "alice", f"alice {TOKEN}", "\u00e4" * 20):
            assert put(gateway, b"true", token=wrong)[0] == 401
        assert put(gateway, b"", "GET", token="") == (200, False)
        for path in ("/v1/reload", "/v1/policy", "/v1/shutdown", "/-/reload", "/debug", "/debug/pprof", "/metrics", "/"):
            assert get(f"http://{gateway.admin}{path}", token=TOKEN)[0] == 404, "a policy is reloaded by a signal alone"
        refused = metrics(gateway.metrics_url)
        assert refused["clientscope_http_refused_total", "admin-listen", "token"] == 7
        token_file(tmp_path, OTHER)
        assert put(gateway, b"true")[0] == 401, "the file is read again"
        assert put(gateway, b"true", token=OTHER) == (202, True)
        until(lambda: is_bypassed(gateway))
        file.chmod(0o644)
        status, text = put(gateway, b"false", token=OTHER)
        assert (status, "every user of this machine" in text) == (503, True)
    assert TOKEN not in (tmp_path / "gateway.log").read_text()
