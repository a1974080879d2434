"""A broker whose clients authenticate: every mechanism passes, the principal is known once the broker has accepted it, nothing leaks."""

from __future__ import annotations

import base64
import json
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import kafka
import pytest
from conftest import PASSWORD, REAUTHENTICATE_MS, RunningBroker, RunningGateway
from every import every
from forked import clientscope
from kafka.protocol.sasl import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from observe import await_count, by_librdkafka, configurations, connection_records, make_topic, push_one, read_all
from patience import until

from clientscope.client.raw import RawClient
from clientscope.model.enums import PrincipalSource
from clientscope.model.topics import CONFIGS, CONNECTIONS

TOPIC = "test.sasl"


@pytest.fixture(scope="module")
def broker(sasl_broker: RunningBroker) -> RunningBroker:
    make_topic(sasl_broker.internal, TOPIC)
    return sasl_broker


def unsecured_token(subject: str) -> str:
    """An unsigned JWT (RFC 7515, appendix A.5), which Kafka's default validator takes."""
    claims = {"sub": subject, "exp": time.time() + 3600}
    parts = (base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in ({"alg": "none"}, claims))
    return ".".join(parts) + "."


def librdkafka(gateway: RunningGateway, client_id: str, mechanism: str, **more: Any) -> dict[str, Any]:
    common = {"bootstrap.servers": gateway.address, "security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": mechanism}
    return {**common, "client.id": client_id, **more}


def oauth(_: str) -> tuple[str, float]:
    return unsecured_token("billing-svc"), time.time() + 3600


def credentials(mechanism: str) -> dict[str, Any]:
    names = {"PLAIN": "alice", "SCRAM-SHA-256": "bob"}
    if mechanism in names:
        return {"sasl.username": names[mechanism], "sasl.password": PASSWORD}
    return {"oauth_cb": oauth}


ACCEPTED = {
    "PLAIN": ("User:alice", PrincipalSource.PLAIN),
    "SCRAM-SHA-256": ("User:bob", PrincipalSource.SCRAM),
    "OAUTHBEARER": ("User:billing-svc", PrincipalSource.TOKEN),
}


def test_clientscope_push_as_the_applications_own_user(broker: RunningBroker, sasl_gateway: RunningGateway, tmp_path: Path) -> None:
    path = tmp_path / "client.properties"
    login = f'org.apache.kafka.common.security.scram.ScramLoginModule required username="bob" password="{PASSWORD}";'
    path.write_text(
        f"bootstrap.servers={sasl_gateway.address}\nsecurity.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-256\n"
        f"sasl.jaas.config={login}\nclient.id=pushed-from-a-file\nconfig.push.allowed.keys=acks,sasl.jaas.config\n"
    )
    flags = ("--kafka-security-protocol", "SASL_PLAINTEXT", "--kafka-sasl-mechanism", "SCRAM-SHA-256", "--kafka-sasl-username", "bob")
    ended = clientscope("push", "--properties", str(path), *flags, CLIENTSCOPE_KAFKA_SASL_PASSWORD=PASSWORD)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("pushed 1 setting of ")
    assert ended.stdout.endswith("; held back as sensitive: 'sasl.jaas.config'\n")
    (record,) = until(lambda: configurations(broker.internal, client_id="pushed-from-a-file"))
    assert record.principal == "User:bob"


def authenticated(client: RawClient, password: str = PASSWORD) -> int:
    """Authenticates by PLAIN; the broker's error code."""
    assert client.request(SaslHandshakeRequest(version=1, mechanism="PLAIN"), SaslHandshakeResponse).error_code == 0
    token = f"\0alice\0{password}".encode()
    return int(client.request(SaslAuthenticateRequest(version=1, auth_bytes=token), SaslAuthenticateResponse).error_code)


@pytest.mark.faults
def test_f12_ten_authentications_on_one_connection(broker: RunningBroker, sasl_gateway: RunningGateway) -> None:
    begins = time.monotonic()
    with sasl_gateway.named("again") as client:
        for number in range(max(10, 2 * REAUTHENTICATE_MS // 1000)):
            assert authenticated(client) == 0, number
            assert push_one(client) == 0, number
            time.sleep(1.1)  # a broker takes no further authentication within a second (KafkaChannel.maybeBeginServerReauthentication)
        # The broker closes a connection that sends another request after its session: this one lives longer than two of them.
        assert time.monotonic() - begins > 2 * REAUTHENTICATE_MS / 1000
        assert push_one(client) == 0
        until(lambda: {r.principal for r in connection_records(broker.internal, client_id="again")} >= {"User:alice"})
        assert authenticated(client, "wrong") == 58
        with pytest.raises(ConnectionError):
            push_one(client)


def test_f08_who_does_not_authenticate_in_time_is_closed(broker: RunningBroker, tmp_path: Path) -> None:
    """The broker has answered it, but not accepted it."""
    flags = ("--unauthenticated-timeout-ms", "1000")
    with broker.gateway(tmp_path, *flags) as gateway, ExitStack() as stack:
        good, named, begun = (stack.enter_context(gateway.connect(f"slow-{n}")) for n in range(3))
        assert authenticated(good) == 0
        named.api_versions("slow", "1.0")
        assert begun.request(SaslHandshakeRequest(version=1, mechanism="PLAIN"), SaslHandshakeResponse).error_code == 0
        for one in (named, begun):
            assert one.socket.recv(1) == b""
        await_count(gateway, "connections_closed", "unauthenticated_timeout", 2)
        assert good.api_versions("good", "1.0").error_code == 0


def test_f12_nothing_of_sasl_is_on_a_topic_or_in_a_log(broker: RunningBroker, sasl_gateway: RunningGateway) -> None:
    """After the tests before it: passwords, SCRAM's messages (RFC 5802), and tokens (RFC 7628), as they are and as a log may show them."""
    for mechanism in ACCEPTED:
        by_librdkafka(sasl_gateway.address, TOPIC, b"last", **librdkafka(sasl_gateway, "last", mechanism, **credentials(mechanism)))
    with kafka.KafkaAdminClient(bootstrap_servers=broker.internal) as admin:
        ours = [topic for topic in admin.list_topics() if topic.startswith("clientscope.")]
    assert {CONFIGS, CONNECTIONS} <= set(ours)
    until(lambda: {r.principal for r in connection_records(broker.internal, client_id="last")} >= {name for name, _ in ACCEPTED.values()})
    seen = b"".join((message.key or b"") + (message.value or b"") for topic in ours for message in read_all(broker.internal, topic))
    seen += b"".join(path.read_bytes() for path in (broker.data_dir / "gateway").iterdir())
    assert all(name.encode() in seen for name, _ in every(ACCEPTED.values()))
    head, claims, _ = unsecured_token("billing-svc").split(".")
    for secret in (PASSWORD, head, claims[:24], "n=bob,r=", "auth=Bearer"):
        shown = {secret.encode(), secret.encode().hex().encode(), base64.b64encode(secret.encode()).rstrip(b"=")[:-1]}
        assert [text for text in shown if text in seen] == [], secret
