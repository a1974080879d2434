"""How clients of each dialect reach Kafka, as kafka-python's arguments; no secret is ever said."""

from __future__ import annotations

import ssl
from typing import Any

import pytest
from connection_refusals import SASL, SECRET, refusal
from kafka.net.manager import KafkaConnectionManager

from clientscope.client.connection_settings import connection_settings, jaas
from clientscope.errors import ClientscopeError

MODULES = "org.apache.kafka.common.security"
PLAIN = f'{MODULES}.plain.PlainLoginModule required username="alice" password="{SECRET}";'


# What Kafka 4.4.0's own JaasContext.loadClientContext makes of these, which has been compared on some 20,000 lines.
JAAS_OPTIONS = [
    ('M required username="alice" password="s e;c=r/e//t";', {"username": "alice", "password": "s e;c=r/e//t"}),
    ("M required username='alice' password='it\\'s \"so\"';", {"username": "alice", "password": 'it\'s "so"'}),
    ('M required password="a\\"b\\\\c\\n\\101\\477\\x";', {"password": "a\"b\\c\nA'7x"}),
    ('M REQUIRED a="ünï€";', {"a": "ünï€"}),
    ("M required user=bob-1.x serviceName=$kafka_1;", {"user": "bob-1.x", "serviceName": "$kafka_1"}),
    ('M required // who\n a="b" /* and */ c="d";', {"a": "b", "c": "d"}),
    ('M required a="b" a="c";', {"a": "c"}),
    ('M required "a"="";', {"a": ""}),
    ("M required;", {}),
]


@pytest.mark.parametrize(("line", "options"), JAAS_OPTIONS)
def test_jaas_is_read_as_java_reads_it(line: str, options: dict[str, str]) -> None:
    assert jaas.parse(line) == jaas.Jaas("M", options)


@pytest.mark.parametrize(
    "line",
    [
        "", "M", "M required", 'M bogus a="b";', 'M required a="b"', "M required a=5;", "M required a=-5;", "M required a=-;",
        "M required a;",
        "M required a=;", "M required a=b/c;", 'M required a="b"; N required;', 'M required a="b\n";',
    ],
)  # fmt: skip
def test_jaas_that_java_refuses(line: str) -> None:
    with pytest.raises(ClientscopeError, match=r"sasl\.jaas\.config"):
        jaas.parse(line)


def test_jaas_never_shows_its_options() -> None:
    assert SECRET not in repr(jaas.parse(PLAIN))
    refusal("java", {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.jaas.config": PLAIN[:-1]})


def test_java_without_security() -> None:
    settings = {"bootstrap.servers": "PLAINTEXT://a:1, b:2", "client.id": "billing", "retry.backoff.ms": "250", "acks": "all"}
    assert connection_settings("java", settings) == {
        "bootstrap_servers": ["a:1", "b:2"],
        "client_id": "billing",
        "security_protocol": "PLAINTEXT",
        "retry_backoff_ms": 250,
    }


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_user_and_password_in_every_dialect(mechanism: str) -> None:
    java = {"security.protocol": "sasl_plaintext", "sasl.mechanism": mechanism, "sasl.jaas.config": PLAIN}
    librdkafka = {"security.protocol": "sasl_plaintext", "sasl.mechanisms": mechanism, "sasl.username": "alice", "sasl.password": SECRET}
    python = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": mechanism}
    python |= {"sasl_plain_username": "alice", "sasl_plain_password": SECRET}
    wanted = python.items()
    assert wanted <= connection_settings("java", java).items()
    assert wanted <= connection_settings("librdkafka", librdkafka).items()
    assert wanted <= connection_settings("aiokafka", python).items()
    assert wanted <= connection_settings("kafka-python", python).items()


def test_client_ids_where_the_user_set_none() -> None:
    ids = {dialect: connection_settings(dialect, {}).get("client_id") for dialect in ("java", "librdkafka", "aiokafka", "kafka-python")}
    assert ids == {"java": "", "librdkafka": "rdkafka", "aiokafka": "aiokafka", "kafka-python": None}


def test_kafka_python_as_it_is() -> None:
    context = ssl.create_default_context()
    settings = {"bootstrap_servers": ["a:1"], "ssl_context": context, "acks": 1, "metrics": object(), "retry_backoff_ms": 5}
    assert connection_settings("kafka-python", settings) == {"bootstrap_servers": ["a:1"], "ssl_context": context, "retry_backoff_ms": 5}


def test_all_arguments_are_kafka_pythons() -> None:
    java = {"bootstrap.servers": "a:1", "security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.jaas.config": PLAIN}
    librdkafka = {"bootstrap.servers": "a:1", "security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.username": "u"}
    for made in (connection_settings("java", java), connection_settings("librdkafka", {**librdkafka, "sasl.password": SECRET})):
        assert set(made) <= set(KafkaConnectionManager.DEFAULT_CONFIG)


REFUSED = [
    ("cobol", {}, "cobol"),
    ("sarama", {"Net.SASL.User": "orders"}, "Net.SASL.User"),
    ("franz-go", {"DialTLS": "true"}, "DialTLS"),
    ("java", {"security.protocol": "TLS"}, "security.protocol"),
    ("java", {"retry.backoff.ms": "soon"}, "retry.backoff.ms"),
    ("java", SASL, "GSSAPI"),
    ("java", {**SASL, "sasl.mechanism": "PLAIN"}, "sasl.jaas.config"),
    ("java", {**SASL, "sasl.mechanism": "PLAIN", "sasl.jaas.config": "M required;"}, "no username and no password"),
    ("java", {**SASL, "sasl.mechanism": "PLAIN", "sasl.jaas.config": "${env:JAAS}"}, "config provider"),
    (
        "java",
        {**SASL, "sasl.mechanism": "PLAIN", "sasl.jaas.config": PLAIN, "sasl.client.callback.handler.class": "com.acme.H"},
        "callback",
    ),
    ("java", {**SASL, "sasl.mechanism": "SCRAM-SHA-256", "sasl.jaas.config": PLAIN[:-1] + ' tokenauth="true";'}, "delegation token"),
    ("java", {**SASL, "sasl.mechanism": "OAUTHBEARER", "sasl.jaas.config": "M required;"}, "sasl.oauthbearer.token.endpoint.url"),
    (
        "java",
        {**SASL, "sasl.mechanism": "OAUTHBEARER", "sasl.jaas.config": "M required;", "sasl.login.callback.handler.class": "com.acme.H"},
        "sasl.login.callback.handler.class",
    ),
    ("java", {"security.protocol": "SSL", "ssl.engine.factory.class": "com.acme.Ssl"}, "ssl.engine.factory.class"),
    ("java", {"security.protocol": "SSL", "ssl.truststore.type": "PEM", "ssl.truststore.location": "/nowhere"}, "ssl.truststore.location"),
    ("java", {"security.protocol": "SSL", "ssl.truststore.certificates": "none"}, "ssl.truststore.certificates"),
    ("java", {"security.protocol": "SSL", "ssl.keystore.key": SECRET}, "ssl.keystore.certificate.chain"),
    ("librdkafka", SASL, "GSSAPI"),
    ("librdkafka", {**SASL, "sasl.mechanism": "PLAIN", "sasl.username": "u"}, "sasl.password"),
    ("librdkafka", {**SASL, "sasl.mechanism": "OAUTHBEARER"}, "oauth_cb"),
    ("librdkafka", {**SASL, "sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.method": "oidc"}, "sasl.oauthbearer.token.endpoint.url"),
    ("librdkafka", {"security.protocol": "SSL", "ssl.keystore.location": "k.p12"}, "openssl pkcs12 -in k.p12"),
    ("librdkafka", {"security.protocol": "SSL", "ssl.engine.location": "e.so"}, "ssl.engine.location"),
    ("librdkafka", {"security.protocol": "SSL", "ssl.key.pem": SECRET}, "go together"),
    ("librdkafka", {"security.protocol": "SSL", "ssl.ca.location": "/nowhere"}, "ssl.ca.location"),
    ("librdkafka", {"security.protocol": "SSL", "ssl.cipher.suites": "NONSENSE"}, "ssl.cipher.suites"),
    ("librdkafka", {"security.protocol": "SSL", "enable.ssl.certificate.verification": "maybe"}, "enable.ssl.certificate.verification"),
    ("aiokafka", {"security_protocol": "SSL"}, "ssl_context"),
    ("aiokafka", {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "GSSAPI"}, "GSSAPI"),
    ("aiokafka", {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "OAUTHBEARER"}, "sasl_oauth_token_provider"),
]


@pytest.mark.parametrize(("dialect", "settings", "named"), REFUSED)
def test_what_cannot_be_taken_over_is_named(dialect: str, settings: dict[str, Any], named: str) -> None:
    error = refusal(dialect, settings)
    assert named in f"{error} {error.hint}"


def test_kafkajs_as_its_own_settings_say_it() -> None:
    plain = connection_settings("kafkajs", {"brokers": ["a:1", "b:2"], "clientId": "c", "groupId": "g"})
    assert (plain["bootstrap_servers"], plain["client_id"], plain["security_protocol"]) == (["a:1", "b:2"], "c", "PLAINTEXT")
    sasl = connection_settings(
        "kafkajs", {"brokers": ["a:1"], "ssl": True, "sasl.mechanism": "scram-sha-256", "sasl.username": "u", "sasl.password": SECRET}
    )
    assert (sasl["security_protocol"], sasl["sasl_mechanism"]) == ("SASL_SSL", "SCRAM-SHA-256")
    assert (sasl["sasl_plain_username"], sasl["sasl_plain_password"]) == ("u", SECRET)
    assert "sasl.mechanism AWS can't be taken over" in str(refusal("kafkajs", {"sasl.mechanism": "aws"}))
