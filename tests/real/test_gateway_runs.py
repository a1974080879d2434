"""A gateway that runs: its request log, its settings that are read again, its end (F14), and the epoch of its process."""

from __future__ import annotations

import json
import logging
import os
import re
import signal
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import kafka
import pytest
from conftest import RunningBroker
from every import every
from http_attacks import connected
from kafka.protocol.consumer import FetchRequest, FetchResponse
from observe import (
    answers,
    configurations,
    connection_records,
    count,
    counts,
    listed,
    make_topic,
    private_file,
    push_one,
    reloaded,
    workers,
    write,
)
from patience import LIMIT_S, eventually, meanwhile, until
from record_bytes import connection_record, heartbeat

from clientscope.digest import DigestKey
from clientscope.gateway.place import next_epoch
from clientscope.local.process import free_port
from clientscope.model.enums import Kind
from clientscope.model.topics import CONNECTIONS
from clientscope.wire.codes import CONFIG_TOO_LARGE, INVALID_CONFIG, NONE, THROTTLING_QUOTA_EXCEEDED

TOPIC = "test.requests"


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_only_the_client_asked_for_is_logged_and_each_of_its_requests(spare: RunningBroker, tmp_path: Path) -> None:
    path = tmp_path / "requests.log"
    flags = ("--request-log", str(path), "--request-log-client-id", "orders-*")
    with spare.gateway(tmp_path, *flags, advertised=True) as gateway:
        make_topic(gateway.address, TOPIC)
        for client_id in ("orders-1", "payments-1"):
            with kafka.KafkaProducer(bootstrap_servers=gateway.address, client_id=client_id) as producer:
                for _ in range(10):
                    producer.send(TOPIC, b"x").get(LIMIT_S)
            acks_0 = kafka.KafkaProducer(bootstrap_servers=gateway.address, client_id=client_id, acks=0, enable_idempotence=False)
            with acks_0 as producer:
                for _ in range(10):
                    producer.send(TOPIC, b"x").get(LIMIT_S)
        with gateway.named("orders-raw", "raw") as raw:
            assert push_one(raw) == 0
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


SECRET = "svc-AKIAIOSFODNN7EXAMPLE"
LEAK = [("sasl.jaas.config", "canary-value", 1, False)]


def test_another_digest_key_while_it_runs(broker: Any, tmp_path: Path) -> None:
    settings, log = tmp_path / "clientscope.toml", tmp_path / "gateway.log"
    keys = {}
    for name in ("first", "second"):
        keys[name] = DigestKey.read(private_file(tmp_path / name, name * 8)).key_id

    def configure(text: str) -> None:
        settings.write_text(f"[gateway]\n{text}\n")

    def digest_key_id(client_id: str) -> str | None:
        with gateway.named(client_id, "leaky") as client:
            assert client.push_config(LEAK).error_code == INVALID_CONFIG
        (found, *_) = until(lambda: configurations(broker.internal, client_id=client_id))
        return found.digest_key_id

    def name_under(key: str) -> bool:
        """Whether a name that is a secret is shown as its digest under this key."""
        expected = f"[redacted {DigestKey.read(tmp_path / key).digest(SECRET).hex()[:16]}]"

        with gateway.named("named", SECRET):
            return eventually(lambda: expected in [each["ClientName"] for each in listed(gateway)])

    configure(f'digest_key_file = "{tmp_path / "first"}"')
    with broker.gateway(tmp_path, "--config", str(settings)) as gateway:
        assert digest_key_id("before") == keys["first"]
        configure(f'digest_key_file = "{tmp_path / "missing"}"')
        reloaded(gateway, log, "the policy keeps its settings")
        for wrong in ("no_such_key = 1", "drain_timeout_ms = -1", "[no_such_table]", "[broken"):
            configure(wrong)
            reloaded(gateway, log, "the settings stay as they were")
        settings.unlink()
        reloaded(gateway, log, "the settings stay as they were")
        configure(f'digest_key_file = "{tmp_path / "first"}"')
        (tmp_path / "first").chmod(0o644)
        reloaded(gateway, log, "every user of this machine may use it")
        (tmp_path / "first").chmod(0o600)
        assert digest_key_id("meanwhile") == keys["first"]
        assert name_under("first")
        configure(f'digest_key_file = "{tmp_path / "second"}"')
        reloaded(gateway, log, "the policy has taken its settings again")
        assert digest_key_id("after") == keys["second"]
        assert name_under("second")
    assert "Traceback" not in log.read_text()


def test_limits_and_quotas_change_while_it_runs_and_what_can_not_is_named(broker: Any, tmp_path: Path) -> None:
    settings, log = tmp_path / "clientscope.toml", tmp_path / "gateway.log"

    def change(text: str, said: str) -> None:
        settings.write_text(f"[gateway]\n{text}\n")
        reloaded(gateway, log, said)

    def push(client_id: str, value: str = "all") -> int:
        with gateway.named(client_id, "changing") as client:
            return push_one(client, value)

    settings.write_text("")
    with broker.gateway(tmp_path, "--config", str(settings)) as gateway, ExitStack() as stack:
        assert [push("small", "x" * 100), push("often"), push("often"), push("often")] == [NONE] * 4
        change("client_config_max_bytes = 50", "changed while the gateway runs: client_config_max_bytes\n")
        assert push("small", "x" * 100) == CONFIG_TOO_LARGE
        change("push_burst_per_client = 1\npush_rate_per_client = 0.001\nworkers = 2", "but only a restart applies it: workers\n")
        assert [push("rare"), push("rare")] == [NONE, THROTTLING_QUOTA_EXCEEDED]
        assert push("small", "x" * 100) == NONE, "what is no longer set is the default again"
        stack.enter_context(gateway.named("idle"))
        # The main process hears of connections a moment later: of two where one has just closed, it would refuse the newer.
        until(lambda: gateway.connections, {("idle", "1"): 1})
        change("max_connections = 1", "max_connections")

        def refused() -> bool:  # the worker may hear of it a moment later
            try:
                gateway.named("beyond").close()
            except OSError:
                return True
            return False

        until(refused)
        change("connections_max_idle_ms = 500\npolicy_deadline_ms = 2000", "policy_deadline_ms")
        until(lambda: gateway.connections, {}, why="of connections that are open, too")
        assert count(gateway, "connections_closed", "idle") == 1


def is_refused(address: str) -> bool:
    return not answers(int(address.rpartition(":")[2]))


@contextmanager
def endless_request(address: str) -> Iterator[None]:
    """A client that keeps sending bytes of one request that never ends."""
    with connected(address) as endless:
        endless.sendall(struct.pack(">ihhi", 1_000_000, 0, 3, 1))

        def drip() -> None:
            with suppress(OSError):
                endless.send(b"\0")

        with meanwhile(drip, 0.2):
            yield


def has_ended(pid: int) -> bool:
    """Whether a child of ours runs no more, though nobody has waited for it."""
    return not Path(f"/proc/{pid}/fd").exists() or not os.listdir(f"/proc/{pid}/fd")  # noqa: PTH208


def test_an_answer_under_way_arrives_and_then_the_connection_ends(broker: Any, tmp_path: Path) -> None:
    with broker.gateway(tmp_path) as gateway, gateway.named("waiting") as waiting:
        assert gateway.probe("healthz") == (200, "ok\n")
        assert gateway.probe("readyz") == (200, "ok\n")
        request = FetchRequest(
            version=4, replica_id=-1, max_wait_ms=900, min_bytes=1, max_bytes=1000, isolation_level=0,
            topics=[FetchRequest.FetchTopic(version=4, topic="no.such.topic", partitions=[])],
        )  # fmt: skip
        correlation_id = waiting.send(request)
        os.kill(gateway.pid, signal.SIGTERM)
        until(lambda: is_refused(gateway.address))
        assert gateway.probe("readyz") == (503, "draining\n")
        assert gateway.probe("healthz") == (200, "ok\n")
        payload = waiting.receive_frame()
        assert struct.unpack_from(">i", payload) == (correlation_id,)
        FetchResponse.decode(payload, version=4, header=True)
        with pytest.raises(ConnectionError):
            waiting.receive_frame()


def test_a_second_signal_ends_at_once(broker: Any, tmp_path: Path) -> None:
    flags = ("--drain-timeout-ms", "60000")
    with broker.gateway(tmp_path, *flags) as gateway, endless_request(gateway.address):
        os.kill(gateway.pid, signal.SIGTERM)
        until(lambda: is_refused(gateway.address))
        time.sleep(0.5)
        assert gateway.probe("readyz") == (503, "draining\n"), "a request that is still coming is waited for"
        os.kill(gateway.pid, signal.SIGTERM)
        until(lambda: has_ended(gateway.pid))


def test_f14_a_drain_ends_at_its_timeout_though_a_request_is_still_coming(broker: Any, tmp_path: Path) -> None:
    flags = ("--drain-timeout-ms", "1500", "--gateway-id", "drained")
    with broker.gateway(tmp_path, *flags) as gateway, endless_request(gateway.address):
        until(lambda: sum(gateway.connections.values()), 1)
        os.kill(gateway.pid, signal.SIGTERM)
        until(lambda: is_refused(gateway.address))
        assert gateway.probe("readyz") == (503, "draining\n"), "until then it is waited for"
        until(lambda: has_ended(gateway.pid))
    assert len(connection_records(broker.internal, "drained", kind=Kind.CLOSED, reason="gateway_stopping")) == 1


def test_a_broker_that_is_away_makes_it_unready(broker: Any, tmp_path: Path) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # taken, and not listened on
        with broker.gateway(tmp_path, upstream=f"127.0.0.1:{nobody.getsockname()[1]}") as gateway:
            with pytest.raises(OSError):
                gateway.named("lost")
            until(lambda: gateway.probe("readyz")[0], 503)
            assert "took no connection" in gateway.probe("readyz")[1]
            (failing,) = workers(gateway.pid)
            os.kill(failing, signal.SIGKILL)
            until(lambda: gateway.probe("readyz"), (200, "ok\n"), why="what is known only of a worker goes with it")
            assert gateway.probe("healthz") == (200, "ok\n")


def beats(spare: Any, gateway_id: str, *epochs: int) -> None:
    """Heartbeats of a gateway's processes."""
    values = [heartbeat(number, gateway=gateway_id, epoch=epoch) for number, epoch in enumerate(epochs)]
    write(spare.internal, CONNECTIONS, *((gateway_id.encode(), value) for value in values))


def said(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [record for record in caplog.records if record.name == "clientscope.gateway.place"]


def test_it_is_the_time_or_one_more_than_the_last(spare: Any, caplog: pytest.LogCaptureFixture) -> None:
    beats(spare, "epoch-a", 5_000, 4_000)
    beats(spare, "epoch-b", 9_000)
    write(spare.internal, CONNECTIONS, (b"epoch-b", b"junk"))
    assert next_epoch(spare.internal, "epoch-a", 6_000) == 6_000
    assert next_epoch(spare.internal, "epoch-nobody", 6_000) == 6_000
    assert not said(caplog)
    assert next_epoch(spare.internal, "epoch-a", 3_000) == 5_001
    assert [record.levelno for record in said(caplog)] == [logging.WARNING]
    assert next_epoch(spare.internal, "epoch-b", 5_000) == 9_001


def test_it_is_found_behind_what_others_have_written_since(spare: Any) -> None:
    beats(spare, "epoch-c", 5_000)
    write(spare.internal, CONNECTIONS, *((b"epoch-d", connection_record(number, gateway="epoch-d")) for number in range(1_500)))
    assert next_epoch(spare.internal, "epoch-c", 1) == 5_001


def test_where_kafka_does_not_tell_the_clock_must_do(spare: Any, caplog: pytest.LogCaptureFixture) -> None:
    assert next_epoch(f"127.0.0.1:{free_port()}", "epoch-a", 7_000, patience_s=0.5) == 7_000
    assert next_epoch(spare.internal, "epoch-a", 7_000, patience_s=0.0) == 7_000
    assert len(said(caplog)) == 2


def test_a_gateway_started_after_its_clock_was_set_back_is_the_newest(spare: Any, tmp_path: Path) -> None:
    address = f"127.0.0.1:{free_port()}"
    ahead = time.time_ns() // 1_000_000 + 3_600_000
    beats(spare, address, ahead)
    with spare.gateway(tmp_path, listen=address) as gateway, gateway.named("late"):
        until(lambda: {record.epoch for record in connection_records(spare.internal, address)}, {ahead, ahead + 1})
