"""`clientscope.client.push`, against a scripted broker that speaks real bytes."""

from __future__ import annotations

import ast
import logging
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from golden import cases
from kafka.protocol import metadata, sasl
from refusals import refused
from scripted_broker import CLOSE, METADATA, PASSWORD, SASL, SASL_AUTHENTICATE, SASL_HANDSHAKE, SILENT, ScriptedBroker, error

from clientscope.backoff import Backoff
from clientscope.client import own_connection as module
from clientscope.client import push
from clientscope.errors import ClientscopeError
from clientscope.local.process import free_port
from clientscope.wire.codes import API_VERSIONS, PUSH_CONFIG

# kafka-python doesn't close the socket of a connection that was refused, or whose TLS can't be set up.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")

SETTINGS = {"client.id": "billing", "linger.ms": 5, "ssl.key.password": "canary-key-password-77"}


@pytest.fixture(autouse=True)
def rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """They follow soon."""
    monkeypatch.setattr(module, "ROUNDS", Backoff(0.001, 0.001))


Brokers = Callable[..., ScriptedBroker]
Warnings = Callable[[], list[str]]


def pushed(*servers: ScriptedBroker | str, settings: dict[str, Any] = SETTINGS, timeout_s: float = 10.0, **more: Any) -> uuid.UUID | None:
    """The instance id of a push; raises why there is none."""
    addresses = [server if isinstance(server, str) else server.address for server in servers]
    arguments = {"dialect": "java", "software": ("acme-client", "1.2.3"), **more}
    future = push(settings, bootstrap_servers=addresses, default_api_timeout_ms=timeout_s * 1000, **arguments)
    return future.result(timeout=60)


def failed(*servers: ScriptedBroker | str, **more: Any) -> str:
    with pytest.raises(ClientscopeError) as raised:
        pushed(*servers, **more)
    assert raised.value.hint
    return str(raised.value)


def test_pushes_as_the_client_and_closes(server: ScriptedBroker, warnings: Warnings) -> None:
    instance_id = pushed(server, allowed_keys="acks,linger.ms,ssl.key.password", software=("(acme client)", "1.2.3+local"))
    ((hello, sent),) = server.connections
    assert (hello.client_software_name, hello.client_software_version) == ("acme-client", "1.2.3-local"), "as brokers take it"
    assert hello.client_instance_id == instance_id
    assert sent.header.client_id == "billing"
    assert [(each.config_key, each.config_value, each.config_type, each.is_default) for each in sent.configs] == [
        ("acks", "1", 1, True),
        ("linger.ms", "5", 4, False),
    ]
    assert server.ended.acquire(timeout=5), "the connection is closed"
    assert warnings() == ["not pushed, as they are sensitive: 'ssl.key.password'"]


@pytest.mark.parametrize(("dialect", "settings", "more", "client_id"), cases(__file__, "client_ids.txt"))
def test_the_connection_has_the_client_id_that_is_pushed(
    server: ScriptedBroker, dialect: str, settings: str, more: str, client_id: str
) -> None:
    pushed(server, settings=ast.literal_eval(settings), dialect=dialect, **ast.literal_eval(more))
    (sent,) = server.pushes
    assert sent.header.client_id == client_id
    assert {each.config_key: each.config_value for each in sent.configs}.get("client.id", "") == client_id


def test_keys_and_type_are_the_callers_or_follow_from_the_settings(server: ScriptedBroker) -> None:
    instances = {
        pushed(server, settings={"group_id": "g", "max_poll_records": 7}, dialect="aiokafka"),
        pushed(server, settings={"group.id": "g"}, client_type="producer", allowed_keys=["acks"]),
    }
    assert server.instance_ids == instances and len(instances) == 2, "each push is an instance of its own"
    consumer, producer = ([each.config_key for each in sent.configs] for sent in server.pushes)
    assert "max.poll.records" in consumer
    assert producer == ["acks"]


def test_settings_that_say_no_are_obeyed(server: ScriptedBroker, warnings: Warnings) -> None:
    assert pushed(server, settings={"enable_config_push": False}, dialect="aiokafka") is None
    assert (server.connections, warnings()) == ([], [])


@pytest.mark.parametrize(("wrong", "message"), cases(__file__, "mistakes.txt"))
def test_a_mistake_is_the_futures_exception_and_logged(server: ScriptedBroker, wrong: str, message: str, warnings: Warnings) -> None:
    with refused(message):
        pushed(server, **ast.literal_eval(wrong))
    assert server.connections == []
    assert message in warnings()[-1]


def refused_credentials(request: Any) -> Any:
    return sasl.SaslAuthenticateResponse(version=request.API_VERSION, error_code=58, error_message="Invalid username or password")


def refused_mechanism(request: Any) -> Any:
    return sasl.SaslHandshakeResponse(version=request.API_VERSION, error_code=33, mechanisms=["GSSAPI"])


def refused_name(_: Any) -> Any:
    return metadata.ApiVersionsResponse(version=0, error_code=42, api_keys=[])  # kafka-python reads errors as v0


REFUSED: list[tuple[dict[str, Any], dict[str, Any], str, int]] = [
    # How the broker answers, how the client connects, what is said, and after how many connections.
    ({"otherwise": {SASL_AUTHENTICATE: refused_credentials}}, SASL, "SaslAuthenticationFailedError", 1),
    ({"otherwise": {SASL_HANDSHAKE: refused_mechanism}}, SASL, "UnsupportedSasl", 1),
    ({"otherwise": {SASL_AUTHENTICATE: CLOSE}}, SASL, "3 connections were lost during authentication, as with wrong credentials", 3),
    ({"otherwise": {API_VERSIONS: refused_name}}, {}, "client_software_name 'acme-client', client_software_version '1.2.3'", 1),
    ({"script": (error(89, throttle_ms=3_600_000),)}, {}, "ThrottlingQuotaExceeded", 1),
    *(
        ({"script": (error(code),)}, {}, named, 1)
        for code, named in ((1324, "CONFIG_TOO_LARGE"), (40, "InvalidConfig"), (42, "InvalidRequest"), (35, "Unsupported"))
    ),
]


@pytest.mark.parametrize(("answers", "connection", "named", "connections"), REFUSED)
def test_a_refusal_is_said_once_and_not_tried_again(
    broker: Brokers,
    answers: dict[str, Any],
    connection: dict[str, Any],
    named: str,
    connections: int,
    caplog: pytest.LogCaptureFixture,
    warnings: Warnings,
) -> None:
    server = broker(**answers)
    detail = failed(server, timeout_s=300, **connection)
    assert named in detail
    assert (len(server.connections), len(server.pushes)) == (connections, int("script" in answers))
    assert len([each for each in warnings() if not each.startswith("the client gives up: ")]) == 1
    assert PASSWORD not in caplog.text + detail


def test_pushes_after_authentication_and_no_log_has_the_credentials(server: ScriptedBroker, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.DEBUG, "kafka")
    assert pushed(server, **SASL)
    assert server.orders() == [[API_VERSIONS, SASL_HANDSHAKE, SASL_AUTHENTICATE, PUSH_CONFIG]]
    assert "kafka.net" in caplog.text
    assert PASSWORD not in caplog.text
    for name in ("kafka.net.connection", "kafka.protocol.parser"):
        assert logging.getLogger(name).filters == [], "kafka-python's own clients log as ever"


def test_not_advertised_is_said_once_all_brokers_were_met(broker: Brokers, warnings: Warnings) -> None:
    first, second = broker(advertises=False), broker(advertises=False)
    first.brokers = {1: first.port, 2: second.port}
    assert failed(first).startswith("no broker here supports PushConfig: none of the 2 nodes")
    assert first.orders() == [[API_VERSIONS, METADATA]]
    assert second.orders()[0][0] == API_VERSIONS
    assert warnings() == []


@pytest.mark.parametrize("newest", [4, 2])
def test_of_a_mixed_cluster_the_broker_that_advertises_it_gets_it(broker: Brokers, newest: int) -> None:
    """And the name, which an older one could not take."""
    old, new = broker(advertises=False), broker()
    old.keys = {**old.keys, API_VERSIONS: newest}
    old.brokers = {1: old.port, 2: new.port}
    assert pushed(old)
    assert (len(old.pushes), len(new.pushes)) == (0, 1)
    assert new.connections[0][0].client_software_name == "acme-client"


def test_another_bootstrap_server_is_tried(server: ScriptedBroker) -> None:
    dead = [f"127.0.0.1:{free_port()}" for _ in range(3)]
    assert pushed(*dead, server)
    assert len(server.pushes) == 1


def test_nobody_there_fails_in_time_and_says_so_once(warnings: Warnings) -> None:
    detail = failed(f"127.0.0.1:{free_port()}", timeout_s=0.4)
    assert detail == "not pushed: timed out after 0.4 s; the last error was KafkaConnectionError: '111 ECONNREFUSED'"
    assert len(warnings()) == 1


@pytest.mark.parametrize(("silent", "pushes"), [(API_VERSIONS, 0), (PUSH_CONFIG, 1)])
def test_a_node_that_does_not_answer_is_given_up_at_the_timeout(
    broker: Brokers, monkeypatch: pytest.MonkeyPatch, silent: int, pushes: int
) -> None:
    monkeypatch.setattr(module, "CONNECTION_SETUP_MS", 100)
    server = broker(otherwise={silent: SILENT})
    assert failed(server, timeout_s=0.8).startswith("not pushed: timed out after 0.8 s")
    assert len(server.pushes) == pushes


def test_an_answer_counts_that_takes_longer_than_a_connection_may(
    broker: Brokers, monkeypatch: pytest.MonkeyPatch, warnings: Warnings
) -> None:
    monkeypatch.setattr(module, "CONNECTION_SETUP_MS", 200)
    server = broker(script=(0.6,))
    assert pushed(server)
    assert (len(server.pushes), warnings()) == (1, [])


def test_retriable_errors_and_a_short_throttle_are_waited_out_on_the_connection(broker: Brokers) -> None:
    server = broker(script=(error(7), error(89, throttle_ms=50)))
    assert pushed(server)
    assert server.orders() == [[API_VERSIONS, PUSH_CONFIG, PUSH_CONFIG, PUSH_CONFIG]]


def test_a_long_throttle_is_waited_out_and_the_next_connection_pushes(broker: Brokers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CONNECTION_SETUP_MS", 400)
    server = broker(script=(error(89, throttle_ms=500),))
    assert pushed(server)
    assert server.orders() == [[API_VERSIONS, PUSH_CONFIG]] * 2


def test_lost_connections_are_tried_again_three_times_in_all(broker: Brokers) -> None:
    server = broker(script=(CLOSE, CLOSE))
    assert pushed(server)
    lost = broker(script=(CLOSE,) * 9)
    failed(lost)
    assert (len(server.pushes), len(lost.pushes)) == (3, 3)


def test_a_key_file_that_is_missing_fails_at_once(broker: Brokers) -> None:
    settings = {"security_protocol": "SSL", "ssl_cafile": "/nowhere/ca.pem"}
    assert failed(broker(), timeout_s=300, **settings).startswith("not pushed: FileNotFoundError")
