"""One push over connections of its own, against a scripted broker that speaks real bytes."""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from kafka.protocol import metadata, sasl
from scripted_broker import CLOSE, METADATA, SASL_AUTHENTICATE, SASL_HANDSHAKE, SILENT, ScriptedBroker, error

from clientscope.backoff import Backoff
from clientscope.catalog.configs import Type
from clientscope.client import push as module
from clientscope.client.connection_settings.tokens import TokenProvider, client_credentials
from clientscope.client.push import OwnConnectionPush, PushOutcome, PushResult, push
from clientscope.client.settings import Collected, ConfigEntry
from clientscope.local.process import free_port
from clientscope.wire.codes import API_VERSIONS, PUSH_CONFIG

# kafka-python doesn't close the socket of a connection that was refused, or whose TLS can't be set up.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")

COLLECTED = Collected(
    (ConfigEntry("acks", "all", Type.STRING, True), ConfigEntry("linger.ms", "5", Type.LONG, False)), ("ssl.key.password",)
)
PASSWORD = "canary-password-51b2"
SASL = {
    "security_protocol": "SASL_PLAINTEXT",
    "sasl_mechanism": "PLAIN",
    "sasl_plain_username": "ops",
    "sasl_plain_password": PASSWORD,
}


class CountingBroker(ScriptedBroker):
    """Knows how many of its connections have ended, and answers some requests otherwise."""

    def __init__(self, otherwise: dict[int, Any] | None = None, port: int = 0, **settings: Any) -> None:
        self.otherwise = otherwise or {}
        self._at = port
        self.ended = threading.Semaphore(0)
        super().__init__(**settings)

    def server_bind(self) -> None:
        self.server_address = ("127.0.0.1", self._at)
        super().server_bind()

    def answer(self, request: Any) -> Any:
        answer = self.otherwise.get(request.API_KEY)
        return answer(request) if callable(answer) else answer or super().answer(request)

    def shutdown_request(self, request: Any) -> None:
        super().shutdown_request(request)
        self.ended.release()


@pytest.fixture
def broker() -> Iterator[Callable[..., CountingBroker]]:
    brokers: list[CountingBroker] = []

    def make(**settings: Any) -> CountingBroker:
        brokers.append(CountingBroker(**settings))
        return brokers[-1]

    yield make
    for made in brokers:
        made.shutdown()
        made.server_close()


Brokers = Callable[..., CountingBroker]


def pushed(*servers: ScriptedBroker | str, collected: Collected = COLLECTED, timeout_s: float = 10.0, **connection: Any) -> PushResult:
    addresses = [server if isinstance(server, str) else server.address for server in servers]
    connection = {"bootstrap_servers": addresses, "client_id": "billing", "retry_backoff_ms": 10, **connection}
    return push(collected, connection, "acme-client", "1.2.3", timeout_s=timeout_s)


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.getMessage() for r in caplog.records if r.name == "clientscope.client" and r.levelno >= logging.WARNING]


def test_pushes_as_the_client_and_closes(broker: Brokers, caplog: pytest.LogCaptureFixture) -> None:
    server = broker()
    instance_id = uuid.uuid4()
    settings = {"bootstrap_servers": server.address, "client_id": "billing"}
    result = push(COLLECTED, settings, "acme-client", "1.2.3", client_instance_id=instance_id)
    assert result == PushResult(PushOutcome.PUSHED, "", ("ssl.key.password",), instance_id)
    ((hello, sent),) = server.connections
    assert (hello.client_software_name, hello.client_software_version) == ("acme-client", "1.2.3")
    assert hello.client_instance_id == instance_id
    assert sent.header.client_id == "billing"
    assert [(each.config_key, each.config_value, each.config_type, each.is_default) for each in sent.configs] == [
        ("acks", "all", 1, True),
        ("linger.ms", "5", 4, False),
    ]
    assert server.ended.acquire(timeout=5), "the connection is closed"
    assert warnings(caplog) == []


def test_a_name_that_brokers_would_refuse_is_made_one_that_they_take(broker: Brokers) -> None:
    server = broker()
    assert push(COLLECTED, {"bootstrap_servers": server.address}, "(my app)", "1.0+local").outcome is PushOutcome.PUSHED
    hello = server.connections[0][0]
    assert (hello.client_software_name, hello.client_software_version) == ("my-app", "1.0-local")


def test_nothing_left_to_push_connects_to_nobody(broker: Brokers) -> None:
    server = broker()
    result = pushed(server, collected=Collected((), ("sasl.jaas.config",)))
    assert (result.outcome, result.sensitive, server.connections) == (PushOutcome.NOTHING_TO_PUSH, ("sasl.jaas.config",), [])


def test_each_push_is_an_instance_of_its_own_unless_one_is_given(broker: Brokers) -> None:
    server = broker()
    results = {pushed(server).client_instance_id for _ in range(2)}
    assert len(results) == 2
    assert server.instance_ids == results


def test_after_authentication(broker: Brokers) -> None:
    server = broker()
    assert pushed(server, **SASL).outcome is PushOutcome.PUSHED
    assert server.orders() == [[API_VERSIONS, SASL_HANDSHAKE, SASL_AUTHENTICATE, PUSH_CONFIG]]


def refused_credentials(request: Any) -> Any:
    return sasl.SaslAuthenticateResponse(version=request.API_VERSION, error_code=58, error_message="Invalid username or password")


def refused_mechanism(request: Any) -> Any:
    return sasl.SaslHandshakeResponse(version=request.API_VERSION, error_code=33, mechanisms=["GSSAPI"])


@pytest.mark.parametrize(
    ("otherwise", "named"),
    [({SASL_AUTHENTICATE: refused_credentials}, "SaslAuthenticationFailedError"), ({SASL_HANDSHAKE: refused_mechanism}, "UnsupportedSasl")],
)
def test_refused_credentials_are_not_tried_again(
    broker: Brokers, otherwise: dict[int, Any], named: str, caplog: pytest.LogCaptureFixture
) -> None:
    server = broker(otherwise=otherwise)
    result = pushed(server, **SASL)
    assert result.outcome is PushOutcome.FAILED
    assert named in result.detail
    assert len(server.connections) == 1
    assert len(warnings(caplog)) == 1
    assert PASSWORD not in caplog.text + repr(result)


def test_a_token_that_nobody_gives_is_asked_for_three_times(broker: Brokers) -> None:
    endpoint = client_credentials(f"http://127.0.0.1:{free_port()}/token", "app", PASSWORD)
    settings = {"security_protocol": "SASL_PLAINTEXT", "sasl_oauth_token_provider": TokenProvider(endpoint)}
    server = broker(otherwise={SASL_HANDSHAKE: offers_oauthbearer})
    result = pushed(server, timeout_s=300, **{**settings, "sasl_mechanism": "OAUTHBEARER"})
    assert result.outcome is PushOutcome.FAILED
    assert "no token from sasl.oauthbearer.token.endpoint.url: URLError" in result.detail
    assert len(server.connections) == 3


def offers_oauthbearer(request: Any) -> Any:
    return sasl.SaslHandshakeResponse(version=request.API_VERSION, error_code=0, mechanisms=["OAUTHBEARER"])


def test_a_broker_that_only_closes_at_the_credentials_is_asked_three_times(broker: Brokers) -> None:
    server = broker(otherwise={SASL_AUTHENTICATE: CLOSE})
    result = pushed(server, timeout_s=300, **SASL)
    assert result.outcome is PushOutcome.FAILED
    assert "3 connections were lost during authentication, as with wrong credentials" in result.detail
    assert len(server.connections) == 3


def test_no_credentials_in_any_log(broker: Brokers, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.DEBUG, "kafka")
    assert pushed(broker(), **SASL).outcome is PushOutcome.PUSHED
    assert "kafka.net" in caplog.text
    assert PASSWORD not in caplog.text
    for name in ("kafka.net.connection", "kafka.protocol.parser"):
        assert logging.getLogger(name).filters == [], "kafka-python's own clients log as ever"


def refused_name(_: Any) -> Any:
    return metadata.ApiVersionsResponse(version=0, error_code=42, api_keys=[])  # kafka-python reads errors as v0


def test_a_software_name_that_the_broker_refuses_is_not_tried_again(broker: Brokers) -> None:
    server = broker(otherwise={API_VERSIONS: refused_name})
    result = pushed(server)
    assert result.outcome is PushOutcome.FAILED
    assert result.detail.startswith("InvalidRequestError: ")
    assert "client_software_name 'acme-client', client_software_version '1.2.3'" in result.detail
    assert len(server.connections) == 1


def test_not_advertised_is_said_once_all_brokers_were_met(broker: Brokers, caplog: pytest.LogCaptureFixture) -> None:
    first, second = broker(advertises=False), broker(advertises=False)
    first.brokers = {1: first.port, 2: second.port}
    result = pushed(first)
    assert result.outcome is PushOutcome.NOT_ADVERTISED
    assert "none of the 2 nodes" in result.detail
    assert first.orders() == [[API_VERSIONS, METADATA]]
    assert second.orders()[0][0] == API_VERSIONS
    assert warnings(caplog) == []


def test_of_a_mixed_cluster_the_broker_that_advertises_it_gets_it(broker: Brokers) -> None:
    old, new = broker(advertises=False), broker()
    old.brokers = {1: old.port, 2: new.port}
    assert pushed(old).outcome is PushOutcome.PUSHED
    assert (len(old.pushes), len(new.pushes)) == (0, 1)


def test_a_newer_broker_gets_the_name_that_an_older_one_could_not_take(broker: Brokers) -> None:
    old, new = broker(advertises=False), broker()
    old.keys = {**old.keys, API_VERSIONS: 2}
    old.brokers = {1: old.port, 2: new.port}
    assert pushed(old).outcome is PushOutcome.PUSHED
    assert new.connections[0][0].client_software_name == "acme-client"


def test_another_bootstrap_server_is_tried(broker: Brokers) -> None:
    server = broker()
    dead = [f"127.0.0.1:{free_port()}" for _ in range(3)]
    assert pushed(*dead, server).outcome is PushOutcome.PUSHED
    assert len(server.pushes) == 1


def test_nobody_there_fails_in_time_and_says_so_once(caplog: pytest.LogCaptureFixture) -> None:
    result = pushed(f"127.0.0.1:{free_port()}", timeout_s=0.4)
    assert result.outcome is PushOutcome.FAILED
    assert result.detail == "timed out after 0.4 s; the last error was KafkaConnectionError: '111 ECONNREFUSED'"
    assert len(warnings(caplog)) == 1


def test_a_broker_that_comes_later_gets_it(broker: Brokers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ROUNDS", Backoff(0.001, 0.001))
    port = free_port()
    waiting = OwnConnectionPush(COLLECTED, {"bootstrap_servers": f"127.0.0.1:{port}"}, "acme-client", "1.2.3", timeout_s=10)
    came: list[CountingBroker] = []

    def come() -> None:
        came.append(broker(port=port))
        waiting.on_unreachable = lambda: None

    waiting.on_unreachable = come
    assert waiting.run().outcome is PushOutcome.PUSHED
    assert len(came[0].pushes) == 1


def test_a_node_that_never_answers_is_given_up_in_time(broker: Brokers) -> None:
    server = broker(otherwise={API_VERSIONS: SILENT})
    result = pushed(server, timeout_s=0.5)
    assert (result.outcome, server.pushes) == (PushOutcome.FAILED, [])


def test_an_unanswered_push_is_given_up_at_the_timeout(broker: Brokers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CONNECTION_SETUP_MS", 100)
    server = broker(script=(SILENT,))
    result = pushed(server, timeout_s=0.8)
    assert (result.outcome, result.detail, len(server.pushes)) == (PushOutcome.FAILED, "timed out after 0.8 s", 1)


def test_an_answer_counts_that_takes_longer_than_a_connection_may(
    broker: Brokers, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "CONNECTION_SETUP_MS", 200)
    server = broker(script=(0.6,))
    assert (pushed(server).outcome, len(server.pushes), warnings(caplog)) == (PushOutcome.PUSHED, 1, [])


def test_retriable_errors_and_a_short_throttle_are_waited_out_on_the_connection(broker: Brokers) -> None:
    server = broker(script=(error(7), error(89, throttle_ms=50)))
    assert pushed(server).outcome is PushOutcome.PUSHED
    assert server.orders() == [[API_VERSIONS, PUSH_CONFIG, PUSH_CONFIG, PUSH_CONFIG]]


def test_a_long_throttle_is_waited_out_and_the_next_connection_pushes(broker: Brokers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CONNECTION_SETUP_MS", 400)
    server = broker(script=(error(89, throttle_ms=500),))
    assert pushed(server).outcome is PushOutcome.PUSHED
    assert server.orders() == [[API_VERSIONS, PUSH_CONFIG]] * 2


def test_a_throttle_beyond_the_timeout_fails_at_once(broker: Brokers) -> None:
    server = broker(script=(error(89, throttle_ms=3_600_000),))
    result = pushed(server, timeout_s=60)
    assert result.outcome is PushOutcome.FAILED
    assert "ThrottlingQuotaExceeded" in result.detail


@pytest.mark.parametrize(
    ("code", "named"), [(1324, "CONFIG_TOO_LARGE"), (40, "InvalidConfig"), (42, "InvalidRequest"), (35, "Unsupported")]
)
def test_fatal_errors_are_refusals(broker: Brokers, code: int, named: str, caplog: pytest.LogCaptureFixture) -> None:
    server = broker(script=(error(code),))
    result = pushed(server)
    assert result.outcome is PushOutcome.REFUSED
    assert named in result.detail
    assert (len(server.pushes), len(warnings(caplog))) == (1, 1)


def test_what_is_too_long_is_not_sent(broker: Brokers) -> None:
    server = broker()
    result = pushed(server, collected=Collected((ConfigEntry("client.id", "x" * 11_000, Type.STRING, False),), ()))
    assert (result.outcome, server.pushes) == (PushOutcome.FAILED, [])


def test_lost_connections_are_tried_again_three_times_in_all(broker: Brokers) -> None:
    server = broker(script=(CLOSE, CLOSE))
    assert pushed(server).outcome is PushOutcome.PUSHED
    lost = broker(script=(CLOSE,) * 9)
    assert pushed(lost).outcome is PushOutcome.FAILED
    assert (len(server.pushes), len(lost.pushes)) == (3, 3)


def test_cancelled_by_another_thread(caplog: pytest.LogCaptureFixture) -> None:
    waiting = OwnConnectionPush(COLLECTED, {"bootstrap_servers": f"127.0.0.1:{free_port()}"}, "acme-client", "1.2.3", timeout_s=300)
    waiting.on_unreachable = threading.Timer(0.05, waiting.cancel).start
    result = waiting.run()
    assert result.outcome is PushOutcome.FAILED
    assert "the client was closed" in result.detail
    waiting.cancel()


def test_what_closing_wakes_up_is_no_cause(broker: Brokers, caplog: pytest.LogCaptureFixture) -> None:
    waiting: list[OwnConnectionPush] = []

    def silent(_: object) -> object:
        waiting[0].cancel()  # while the connection is being set up, and somebody awaits it
        return SILENT

    server = broker(otherwise={API_VERSIONS: silent})
    waiting.append(OwnConnectionPush(COLLECTED, {"bootstrap_servers": f"127.0.0.1:{server.port}"}, "acme-client", "1.2.3", timeout_s=300))
    unreachable: list[bool] = []
    waiting[0].on_unreachable = lambda: unreachable.append(True)
    result = waiting[0].run()
    assert (result.outcome, result.detail.split(";")[0], unreachable) == (PushOutcome.FAILED, "the client was closed", [])
    assert len(warnings(caplog)) == 1


def test_cancelled_before_it_runs() -> None:
    waiting = OwnConnectionPush(COLLECTED, {"bootstrap_servers": f"127.0.0.1:{free_port()}"}, "acme-client", "1.2.3", timeout_s=300)
    waiting.cancel()
    assert waiting.run().outcome is PushOutcome.FAILED


def test_a_key_file_that_is_missing_fails_at_once(broker: Brokers) -> None:
    settings = {"security_protocol": "SSL", "ssl_cafile": "/nowhere/ca.pem"}
    result = pushed(broker(), timeout_s=300, **settings)
    assert (result.outcome, result.detail.split(":")[0]) == (PushOutcome.FAILED, "FileNotFoundError")
