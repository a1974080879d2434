"""A gateway that is asked to stop: pending answers still arrive, no new client is accepted, and probes report it."""

from __future__ import annotations

import os
import signal
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from conftest import running_gateway
from http_attacks import connected
from kafka.protocol.consumer import FetchRequest, FetchResponse
from observe import answers, connection_records, gateway_connections, page, workers
from patience import until

from clientscope.client.raw import RawClient
from clientscope.records.enums import Kind


def probe(url: str, name: str) -> tuple[int, str]:
    status, text = page(url.replace("metrics", name))
    return status, text.strip()


def is_refused(address: str) -> bool:
    return not answers(int(address.rpartition(":")[2]))


@contextmanager
def endless_request(address: str) -> Iterator[None]:
    """A client that keeps sending bytes of one request that never ends."""
    ended = threading.Event()
    with connected(address) as endless:
        endless.sendall(struct.pack(">ihhi", 1_000_000, 0, 3, 1))

        def drip() -> None:
            while not ended.wait(0.2):
                try:
                    endless.send(b"\0")
                except OSError:
                    return

        dripping = threading.Thread(target=drip)
        dripping.start()
        try:
            yield
        finally:
            ended.set()
            dripping.join()


def has_ended(pid: int) -> bool:
    """Whether a child of ours runs no more, though nobody has waited for it."""
    return not Path(f"/proc/{pid}/fd").exists() or not os.listdir(f"/proc/{pid}/fd")  # noqa: PTH208


def test_an_answer_under_way_arrives_and_then_the_connection_ends(broker: Any, tmp_path: Path) -> None:
    with running_gateway(broker.internal, broker.client, tmp_path) as gateway, RawClient.connect(gateway.address, "waiting") as waiting:
        assert probe(gateway.metrics_url, "healthz") == (200, "ok")
        assert probe(gateway.metrics_url, "readyz") == (200, "ok")
        waiting.api_versions("waiting", "1")
        request = FetchRequest(
            version=4, replica_id=-1, max_wait_ms=900, min_bytes=1, max_bytes=1000, isolation_level=0,
            topics=[FetchRequest.FetchTopic(version=4, topic="no.such.topic", partitions=[])],
        )  # fmt: skip
        correlation_id = waiting.send(request)
        os.kill(gateway.pid, signal.SIGTERM)
        until(lambda: is_refused(gateway.address))
        assert probe(gateway.metrics_url, "readyz") == (503, "draining")
        assert probe(gateway.metrics_url, "healthz") == (200, "ok")
        payload = waiting.receive_frame()
        assert struct.unpack_from(">i", payload) == (correlation_id,)
        FetchResponse.decode(payload, version=4, header=True)
        with pytest.raises(ConnectionError):
            waiting.receive_frame()


def test_a_second_signal_ends_at_once(broker: Any, tmp_path: Path) -> None:
    flags = ("--drain-timeout-ms", "60000")
    with running_gateway(broker.internal, broker.client, tmp_path, *flags) as gateway, endless_request(gateway.address):
        os.kill(gateway.pid, signal.SIGTERM)
        until(lambda: is_refused(gateway.address))
        time.sleep(0.5)
        assert probe(gateway.metrics_url, "readyz") == (503, "draining"), "a request that is still coming is waited for"
        os.kill(gateway.pid, signal.SIGTERM)
        until(lambda: has_ended(gateway.pid))


def test_f14_a_drain_ends_at_its_timeout_though_a_request_is_still_coming(broker: Any, tmp_path: Path) -> None:
    flags = ("--drain-timeout-ms", "1500", "--gateway-id", "drained")
    with running_gateway(broker.internal, broker.client, tmp_path, *flags) as gateway, endless_request(gateway.address):
        until(lambda: sum(gateway_connections(gateway.metrics_url).values()), 1)
        os.kill(gateway.pid, signal.SIGTERM)
        until(lambda: is_refused(gateway.address))
        assert probe(gateway.metrics_url, "readyz") == (503, "draining"), "until then it is waited for"
        until(lambda: has_ended(gateway.pid))
    records = connection_records(broker.internal, "drained")
    assert [record.reason for record in records if record.kind == Kind.CLOSED].count("gateway_stopping") == 1


def test_a_broker_that_is_away_makes_it_unready(broker: Any, tmp_path: Path) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # taken, and not listened on
        with running_gateway(broker.internal, f"127.0.0.1:{nobody.getsockname()[1]}", tmp_path) as gateway:
            with RawClient.connect(gateway.address, "lost") as lost, pytest.raises(OSError):
                lost.api_versions("lost", "1")
            until(lambda: probe(gateway.metrics_url, "readyz")[0], 503)
            assert "took no connection" in probe(gateway.metrics_url, "readyz")[1]
            (failing,) = workers(gateway.pid)
            os.kill(failing, signal.SIGKILL)
            until(lambda: probe(gateway.metrics_url, "readyz"), (200, "ok"), why="what is known only of a worker goes with it")
            assert probe(gateway.metrics_url, "healthz") == (200, "ok")
