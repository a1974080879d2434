"""Asking a broker that speaks SASL over TLS: kafka-python's own settings carry it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clientscope.catalog.releases import infer
from clientscope.cluster.api_versions import AnswerState, ask
from clientscope.errors import EnvironmentProblem
from clientscope.local.broker import BrokerPlan, EmbeddedBroker
from clientscope.local.java import java
from clientscope.local.process import free_port

PASSWORD = "correct horse"


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """kafka-python's settings for a broker whose listener CLIENT speaks SASL_SSL."""
    data_dir = tmp_path_factory.mktemp("secured")
    store, certificate = data_dir / "broker.p12", data_dir / "broker.pem"
    common = [str(Path(java()).resolve().with_name("keytool")), "-alias", "broker", "-keystore", str(store), "-storepass", PASSWORD]
    names = ["-dname", "CN=127.0.0.1", "-ext", "SAN=ip:127.0.0.1", "-keyalg", "EC", "-validity", "2"]
    subprocess.run([*common, "-genkeypair", "-storetype", "PKCS12", *names], check=True, capture_output=True)
    subprocess.run([*common, "-exportcert", "-rfc", "-file", str(certificate)], check=True, capture_output=True)
    port = free_port()
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    extra = {
        "listener.security.protocol.map": "CLIENT:SASL_SSL,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.client.plain.sasl.jaas.config": f'{module} required user_alice="{PASSWORD}";',
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.location": str(store),
        "ssl.keystore.password": PASSWORD,
        "ssl.key.password": PASSWORD,
    }
    with EmbeddedBroker(BrokerPlan(port, free_port(), f"127.0.0.1:{port}", data_dir / "broker", extra=extra)):
        yield {
            "bootstrap_servers": f"127.0.0.1:{port}",
            "security_protocol": "SASL_SSL",
            "ssl_cafile": str(certificate),
            "sasl_mechanism": "PLAIN",
            "sasl_plain_username": "alice",
            "sasl_plain_password": PASSWORD,
        }


def test_a_broker_behind_tls_and_sasl_is_asked(secured: dict[str, Any]) -> None:
    (answer,) = ask(secured).answers
    assert (answer.state, str(infer(answer.ranges, answer.finalized, answer.supported))) == (AnswerState.ANSWERED, "4.4")


def test_a_wrong_password_is_said_and_not_shown(secured: dict[str, Any]) -> None:
    with pytest.raises(EnvironmentProblem) as caught:
        ask({**secured, "sasl_plain_password": "wrong horse", "bootstrap_timeout_ms": 3000})
    assert "horse" not in str(caught.value) + str(caught.value.hint)
