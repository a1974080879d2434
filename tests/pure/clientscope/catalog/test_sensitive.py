"""Judgement of sensitive settings and its severity: on corpora from real clients' documentation, case by case, and its cost."""

from __future__ import annotations

import base64
import random
import re
from string import ascii_letters, digits

import pytest
from backtracking import steps
from corpora import corpus, is_held_back
from every import every

from clientscope.catalog import sensitive_keys, sensitive_names, sensitive_values
from clientscope.catalog.disguises import DISGUISED
from clientscope.catalog.placeholders import TEMPLATE
from clientscope.catalog.random_text import looks_random
from clientscope.catalog.sensitive import Tier, reason, tier
from clientscope.records.layouts import ValueState

STRING, LIST, CLASS, PASSWORD = 1, 6, 7, 8
HALVES = pytest.mark.parametrize("held_back", [False, True], ids=["tuned on", "held back"])


def tier_of(key: str, value: str, config_type: int = STRING) -> Tier:
    return tier(reason(key, value, config_type), key, config_type, len(value.encode()))


@HALVES
def test_every_leak_is_critical(held_back: bool) -> None:
    lines = [line for line in corpus("leaks") if is_held_back(line) == held_back]
    assert len(lines) >= 100
    assert [line for line in lines if tier_of(line["key"], line["value"]) is not Tier.CREDENTIAL] == []


@HALVES
def test_nothing_innocent_is_above_info(held_back: bool) -> None:
    lines = [line for line in corpus("innocent") if is_held_back(line) == held_back]
    assert len(lines) >= 1_000
    assert [line for line in lines if tier_of(line["key"], line["value"]) > Tier.EXCLUDED] == []


def test_what_is_kept_back_is_redacted() -> None:
    """Custom settings, names of classes, and passwords without a name beside them; of these, entropy alone misses some."""
    lines = corpus("kept_back")
    missed = [line for line in lines if reason(line["key"], line["value"], STRING) is ValueState.PRESENT]
    assert [line for line in missed if not line["kind"].startswith("random")] == []
    assert len(missed) <= sum(line["kind"].startswith("random") for line in lines) / 20


def test_no_innocent_value_of_a_known_key_is_redacted() -> None:
    """But for what KIP-1324 keeps on the client: names with ``ssl`` and the like, and names of classes."""
    lines = corpus("known")
    assert len(lines) >= 3_000
    assert [line for line in lines if reason(line["key"], line["value"], STRING) is not ValueState.PRESENT] == []


RANDOM = "q7Rk2ZpX9vLm4TnB8sWc6YdH"


@pytest.mark.parametrize(
    ("key", "value", "config_type", "state", "expected"),
    [
        # KIP-1324's exclusion: redacted whatever they are, and critical where they are credentials.
        ("security.protocol", "SASL_SSL", STRING, "KEY_PREFIX", "EXCLUDED"),
        ("sasl.mechanism", "PLAIN", STRING, "KEY_PREFIX", "EXCLUDED"),
        ("sasl.username", "orders", STRING, "KEY_PREFIX", "EXCLUDED"),
        ("ssl.truststore.location", "/etc/kafka/trust.jks", STRING, "KEY_PREFIX", "EXCLUDED"),
        ("saslMechanism", "PLAIN", STRING, "KEY_PREFIX", "EXCLUDED"),
        ("sasl.oauthbearer.token.endpoint.url", "https://idp/token", STRING, "KEY_PREFIX", "EXCLUDED"),
        ("sasl.oauthbearer.client.credentials.client.id", "orders", STRING, "KEY_PREFIX", "EXCLUDED"),
        ("partitioner.class", "x.Y", CLASS, "KEY_SUFFIX", "EXCLUDED"),
        ("key.serializer", "x.Y", CLASS, "TYPE", "EXCLUDED"),
        ("sasl.jaas.config", 'x.PlainLoginModule required password="b";', PASSWORD, "KEY_PREFIX", "CREDENTIAL"),
        ("sasl_plain_password", "x", STRING, "KEY_PREFIX", "CREDENTIAL"),
        ("anything", "x", PASSWORD, "TYPE", "CREDENTIAL"),
        ("ssl.keystore.password", "", PASSWORD, "KEY_PREFIX", "EXCLUDED"),
        # Certificates are public, whatever their type.
        ("ssl.truststore.certificates", "-----BEGIN CERTIFICATE-----", PASSWORD, "KEY_PREFIX", "EXCLUDED"),
        ("ca", "-----BEGIN CERTIFICATE-----", STRING, "CERTIFICATE", "EXCLUDED"),
        ("ca", "-----BEGIN PRIVATE KEY-----", STRING, "VALUE_SHAPE", "CREDENTIAL"),
        ("producer.ssl.keystore.location", "/x", STRING, "KEY_INFIX", "EXCLUDED"),
        # Words, in every spelling.
        ("basic.auth.user.info", "u:p", STRING, "KEY_WORD", "CREDENTIAL"),
        ("schema.registry.api_key", "x", STRING, "KEY_WORD", "CREDENTIAL"),
        ("passWord", "x", STRING, "KEY_WORD", "CREDENTIAL"),
        ("DB_PASSWORD", "x", STRING, "KEY_WORD", "CREDENTIAL"),
        ("clientSecret", "x", STRING, "KEY_WORD", "CREDENTIAL"),
        ("pwd", "x", STRING, "KEY_WORD", "CREDENTIAL"),
        ("refresh_token", "x", STRING, "KEY_WORD", "CREDENTIAL"),
        ("oauth.token.endpoint.uri", "https://idp/token", STRING, "CUSTOM", "EXCLUDED"),
        ("delegation.token.max.lifetime.ms", "604800000", STRING, "CUSTOM", "EXCLUDED"),
        ("basic.auth.credentials.source", "USER_INFO", STRING, "CUSTOM", "EXCLUDED"),
        ("allocate_tokens_for_keyspace", "3", STRING, "CUSTOM", "EXCLUDED"),
        # Keys of credentials, without one.
        ("sasl.jaas.config", "software.amazon.msk.auth.iam.IAMLoginModule required;", PASSWORD, "WITHOUT_SECRET", "EXCLUDED"),
        ("sasl.password", "${file:/etc/kafka/secrets:password}", STRING, "WITHOUT_SECRET", "EXCLUDED"),
        ("basic.auth.user.info", "${KEY}:${SECRET}", STRING, "WITHOUT_SECRET", "EXCLUDED"),
        ("sasl.password", "${KAFKA_PASSWORD:hunter2}", STRING, "KEY_PREFIX", "CREDENTIAL"),
        ("my.password", "[hidden]", STRING, "WITHOUT_SECRET", "EXCLUDED"),
        ("sasl.jaas.config", 'x.PlainLoginModule required password="${env:P}";', PASSWORD, "WITHOUT_SECRET", "EXCLUDED"),
        # A credential in the value outweighs KIP-1324's reason.
        ("sasl.oauthbearer.token.endpoint.url", "https://u:hunter2@idp/token", STRING, "VALUE_SHAPE", "CREDENTIAL"),
        ("bootstrap.servers", "http://${env:U}:${env:P}@registry", STRING, "PRESENT", "CLEAN"),
        ("client.id", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2ln", STRING, "VALUE_SHAPE", "CREDENTIAL"),
        ("client.id", "AKIAIOSFODNN7EXAMPLE", STRING, "VALUE_SHAPE", "CREDENTIAL"),
        # Entropy.
        ("client.id", f"billing-{RANDOM}", STRING, "LOOKS_RANDOM", "DOUBTFUL"),
        ("group.id", RANDOM, STRING, "LOOKS_RANDOM", "DOUBTFUL"),
        ("cluster.id", RANDOM, STRING, "CUSTOM", "EXCLUDED"),
        ("client.id", "MkU3OEVBNTcwNTJENDM2Qk", STRING, "PRESENT", "CLEAN"),
        ("client.id", "orders-4f9c2b7e-1a63-4d0e-9b58-6c1f0a7d3e92", STRING, "PRESENT", "CLEAN"),
        ("client.id", "orders-7d9f8b6c5-x2x4z", STRING, "PRESENT", "CLEAN"),
        ("client.id", "n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg=", STRING, "PRESENT", "CLEAN"),
        ("client.id", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", STRING, "PRESENT", "CLEAN"),
        ("client.id", "01ARZ3NDEKTSV4RRFFQ69G5FAV", STRING, "PRESENT", "CLEAN"),
        ("application.id", "io.example.S3SinkConnectorV2MetricsReporter", STRING, "PRESENT", "CLEAN"),
        # Custom configuration may be anything, KIP-1324 says.
        ("app.contact", "jane@example.com", STRING, "CUSTOM", "EXCLUDED"),
        ("app.contact", "", STRING, "CUSTOM", "EXCLUDED"),
        ("Linger.Ms", "5", STRING, "CUSTOM", "EXCLUDED"),
        ("app.contact", f"jane-{RANDOM}", STRING, "LOOKS_RANDOM", "DOUBTFUL"),
        ("app.contact", "https://u:hunter2@idp/", STRING, "VALUE_SHAPE", "CREDENTIAL"),
        *(
            (key, "5", STRING, "PRESENT", "CLEAN")
            for key in (
                "linger_ms",
                "queue.buffering.max.ms",
                "producer.linger.ms",
                "main.consumer.max.poll.records",
                "topic.retention.ms",
                "consumer.override.max.poll.records",
                "maxInFlightRequests",
                "retry.retries",
                "ProducerLinger",
                "Producer.Flush.Frequency",
                "offset.flush.interval.ms",
                "offset.storage.retention.ms",
                "value.converter.schemas.enable",
                "default.topic.config.acks",
                "go.events.channel.size",
            )
        ),
        # Names of classes, whatever type the client says they have.
        ("metric.reporters", "io.example.Reporter", STRING, "TYPE", "EXCLUDED"),
        ("partition.assignment.strategy", "MyAssignor", LIST, "TYPE", "EXCLUDED"),
        ("partition.assignment.strategy", "range,roundrobin", LIST, "PRESENT", "CLEAN"),
        ("key.serializer", "x", STRING, "TYPE", "EXCLUDED"),
        ("consumer.value_deserializer", "x", STRING, "TYPE", "EXCLUDED"),
        ("group.remote.assignor", "uniform", STRING, "PRESENT", "CLEAN"),
        ("windowed.inner.class.serde", "com.acme.Serde", STRING, "TYPE", "EXCLUDED"),
        # A user and a password without a scheme, and what only looks like them.
        ("bootstrap.servers", "alice:hunter2@kafka-1:9092", LIST, "VALUE_SHAPE", "CREDENTIAL"),
        ("client.id", "orders//alice : hunter2 @ kafka", STRING, "VALUE_SHAPE", "CREDENTIAL"),
        ("bootstrap.servers", "user:password@kafka-1:9092", LIST, "VALUE_SHAPE", "CREDENTIAL"),
        ("client.id", "User:hunter2@kafka-1:9092", STRING, "VALUE_SHAPE", "CREDENTIAL"),
        ("client.id", "owner:hunter2@kafka", STRING, "VALUE_SHAPE", "CREDENTIAL"),
        ("client.id", "mailto:jane@example.com", STRING, "PRESENT", "CLEAN"),
        ("client.id", "${MAIL:-jane@example.com}", STRING, "PRESENT", "CLEAN"),
        ("client.id", "${MAIL:-jane:hunter2@example.com}", STRING, "VALUE_SHAPE", "CREDENTIAL"),
        ("client.id", "${PASSWORD:-hunter2@example.com}", STRING, "VALUE_SHAPE", "CREDENTIAL"),
        ("client.id", "orders:1.2@sha256:9f86d081884c7d659a2feaa0c55ad015", STRING, "PRESENT", "CLEAN"),
        ("client.id", "User:alice@EXAMPLE.COM", STRING, "PRESENT", "CLEAN"),
        ("client.id", "orders 10:30@host", STRING, "PRESENT", "CLEAN"),
        ("bootstrap.servers", "SASL_SSL://kafka-0:9092,kafka-1:9092", LIST, "PRESENT", "CLEAN"),
        ("client.id", "password-reset:v2", STRING, "PRESENT", "CLEAN"),
        ("client.id", "bypass=true", STRING, "PRESENT", "CLEAN"),
        ("client.id", "orders --password hunter2", STRING, "VALUE_SHAPE", "CREDENTIAL"),
    ],
)
def test_reason_and_tier(key: str, value: str, config_type: int, state: str, expected: str) -> None:
    assert reason(key, value, config_type).name == state
    assert tier_of(key, value, config_type).name == expected


def test_most_random_text_looks_random_and_ids_never_do() -> None:
    source = random.Random(1324)  # noqa: S311 - the same each time, and nobody's secrets
    secrets = ["".join(source.choices(ascii_letters + digits, k=32)) for _ in range(500)]
    assert sum(map(looks_random, secrets)) > 475
    for size, missed in ((20, 50), (32, 10)):
        punctuated = ["".join(source.choices(ascii_letters + digits + "!#$%&()*+,-./:;<=>?@[]^_{|}~", k=size)) for _ in range(500)]
        assert sum(not looks_random(text) for text in punctuated) < missed
        assert sum(not looks_random(f"orders-{text}") for text in punctuated) < missed
    for size in (16, 20, 32, 64):
        ids = [base64.urlsafe_b64encode(source.randbytes(size)).decode().rstrip("=") for _ in range(500)]
        assert not any(map(looks_random, every(ids)))
        assert not any(looks_random(f"orders-{text}") for text in every(ids))


@pytest.mark.parametrize(
    ("state", "key", "length", "expected"),
    [
        (ValueState.KEY_PREFIX, "sasl.jaas.config", None, Tier.CREDENTIAL),
        (ValueState.KEY_PREFIX, "security.protocol", 8, Tier.EXCLUDED),
        (ValueState.KEY_WORD, "sasl.password", 0, Tier.EXCLUDED),
        # Words that an older release had.
        (ValueState.KEY_WORD, "oauth.token.endpoint.uri", 20, Tier.EXCLUDED),
        (ValueState.VALUE_SHAPE, "client.id", 20, Tier.CREDENTIAL),
        (42, "client.id", 20, Tier.CREDENTIAL),
        (-1, "client.id", 20, Tier.CREDENTIAL),
    ],
)
def test_a_tier_of_what_was_redacted_elsewhere(state: int, key: str, length: int | None, expected: Tier) -> None:
    assert tier(state, key, STRING, length) is expected


def test_a_hint_is_in_whatever_has_the_shape() -> None:
    hint = re.compile(sensitive_values.HINT)
    for line in corpus("leaks"):
        for shape in sensitive_values.SHAPES.values():
            if re.search(shape.pattern, line["value"]):
                assert re.search(shape.hint, line["value"])
                assert hint.search(line["value"])


def test_every_shape_is_in_the_corpus() -> None:
    values = [line["value"] for line in corpus("leaks")]
    missing = [name for name, shape in sensitive_values.SHAPES.items() if not any(re.search(shape.pattern, value) for value in values)]
    assert missing == ["der_base64", "age"]


PATTERNS = {
    **{name: shape.pattern for name, shape in sensitive_values.SHAPES.items()},
    "hint": sensitive_values.HINT,
    "without_password": sensitive_values.WITHOUT_PASSWORD,
    "certificate": sensitive_values.CERTIFICATE,
    "disguised": DISGUISED,
    "jaas": sensitive_values.JAAS,
    "template": TEMPLATE,
    "credential": sensitive_keys.CREDENTIAL,
    "about_credential": sensitive_keys.ABOUT_CREDENTIAL,
    "identifier": sensitive_keys.IDENTIFIER,
    "name_assignment": sensitive_names.NAME_ASSIGNMENT,
    "key_assignment": sensitive_names.KEY_ASSIGNMENT,
}
# What patterns begin with, and what their repeats take: the worst is text that begins a match again and again.
PIECES = (
    *("a", " ", ":", "=", "<", "$", "@", "A1a", "{{", "${", "%A", "sig=", "xoxb-", "user_", "SG.", "User:", "${a:-"),
    *("://", "://a:", "://${", "password=", "password ", "eyJ", "aaaaaaaa.eyJ", "-----BEGIN ", "jdbc:oracle:a:", "LoginModule "),
)


@pytest.mark.parametrize("name", PATTERNS)
def test_an_expression_takes_steps_in_proportion_to_the_text(name: str) -> None:
    """Counted, with a matcher that backtracks as Python's does; a pattern that is quadratic takes four times as many for twice the text."""
    for piece in PIECES:
        short, long = (steps(PATTERNS[name], (piece * size)[:size]) for size in (120, 240))
        # Where repeats are bounded, the cost of each place still grows a little.
        assert long <= 2.6 * short, piece
        assert long <= 300 * 240, piece


def test_the_count_tells_what_is_quadratic() -> None:
    short, long = (steps(r"[a-z]+://", "a" * size) for size in (200, 400))
    assert long > 3.5 * short
