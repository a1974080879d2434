"""Judgement of sensitive settings and its severity: on corpora from real clients' documentation, case by case, and its cost."""

from __future__ import annotations

import base64
import random
import re
from string import ascii_letters, digits
from typing import Any

import pytest
from backtracking import steps
from corpora import corpus, is_held_back
from every import every

from clientscope.catalog import sensitive_keys, sensitive_names, sensitive_values
from clientscope.catalog.disguises import DISGUISED
from clientscope.catalog.placeholders import TEMPLATE
from clientscope.catalog.random_text import looks_random
from clientscope.catalog.sensitive import Tier, reason, tier
from clientscope.records.enums import ValueState

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


JUDGED: dict[tuple[str, str], list[tuple[str, str] | tuple[str, str, int]]] = {
    # KIP-1324's exclusion: redacted whatever they are, and critical where they are credentials.
    ("KEY_PREFIX", "EXCLUDED"): [
        ("security.protocol", "SASL_SSL"),
        ("sasl.mechanism", "PLAIN"),
        ("sasl.username", "orders"),
        ("ssl.truststore.location", "/etc/kafka/trust.jks"),
        ("saslMechanism", "PLAIN"),
        ("sasl.oauthbearer.token.endpoint.url", "https://idp/token"),
        ("sasl.oauthbearer.client.credentials.client.id", "orders"),
        ("ssl.keystore.password", "", PASSWORD),
        # Certificates are public, whatever their type.
        ("ssl.truststore.certificates", "-----BEGIN CERTIFICATE-----", PASSWORD),
    ],
    ("KEY_PREFIX", "CREDENTIAL"): [
        ("sasl.jaas.config", 'x.PlainLoginModule required password="b";', PASSWORD),
        ("sasl_plain_password", "x"),
        ("sasl.password", "${KAFKA_PASSWORD:hunter2}"),
    ],
    ("KEY_SUFFIX", "EXCLUDED"): [("partitioner.class", "x.Y", CLASS)],
    ("KEY_INFIX", "EXCLUDED"): [("producer.ssl.keystore.location", "/x")],
    ("CERTIFICATE", "EXCLUDED"): [("ca", "-----BEGIN CERTIFICATE-----")],
    # Names of classes, whatever type the client says they have.
    ("TYPE", "EXCLUDED"): [
        ("key.serializer", "x.Y", CLASS),
        ("metric.reporters", "io.example.Reporter"),
        ("event.listeners", "none,io.example.Listener"),
        ("partition.assignment.strategy", "MyAssignor", LIST),
        ("key.serializer", "x"),
        ("consumer.value_deserializer", "x"),
        ("windowed.inner.class.serde", "com.acme.Serde"),
    ],
    ("TYPE", "CREDENTIAL"): [("anything", "x", PASSWORD)],
    # Words, in every spelling.
    ("KEY_WORD", "CREDENTIAL"): [
        ("basic.auth.user.info", "u:p"),
        ("schema.registry.api_key", "x"),
        ("passWord", "x"),
        ("DB_PASSWORD", "x"),
        ("clientSecret", "x"),
        ("pwd", "x"),
        ("refresh_token", "x"),
    ],
    # Keys of credentials, without one.
    ("WITHOUT_SECRET", "EXCLUDED"): [
        ("sasl.jaas.config", "software.amazon.msk.auth.iam.IAMLoginModule required;", PASSWORD),
        ("sasl.password", "${file:/etc/kafka/secrets:password}"),
        ("basic.auth.user.info", "${KEY}:${SECRET}"),
        ("my.password", "[hidden]"),
        ("sasl.jaas.config", 'x.PlainLoginModule required password="${env:P}";', PASSWORD),
    ],
    # Custom configuration may be anything, KIP-1324 says.
    ("CUSTOM", "EXCLUDED"): [
        ("oauth.token.endpoint.uri", "https://idp/token"),
        ("delegation.token.max.lifetime.ms", "604800000"),
        ("basic.auth.credentials.source", "USER_INFO"),
        ("allocate_tokens_for_keyspace", "3"),
        ("cluster.id", RANDOM),
        ("app.contact", "jane@example.com"),
        ("app.contact", ""),
        ("Linger.Ms", "5"),
    ],
    # A credential in the value outweighs KIP-1324's reason.
    ("VALUE_SHAPE", "CREDENTIAL"): [
        ("ca", "-----BEGIN PRIVATE KEY-----"),
        ("sasl.oauthbearer.token.endpoint.url", "https://u:hunter2@idp/token"),
        ("client.id", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2ln"),
        ("client.id", "AKIAIOSFODNN7EXAMPLE"),
        ("app.contact", "https://u:hunter2@idp/"),
        # A user and a password without a scheme.
        ("bootstrap.servers", "alice:hunter2@kafka-1:9092", LIST),
        ("client.id", "orders//alice : hunter2 @ kafka"),
        ("bootstrap.servers", "user:password@kafka-1:9092", LIST),
        ("client.id", "User:hunter2@kafka-1:9092"),
        ("client.id", "owner:hunter2@kafka"),
        ("client.id", "${MAIL:-jane:hunter2@example.com}"),
        ("client.id", "${PASSWORD:-hunter2@example.com}"),
        ("client.id", "orders --password hunter2"),
    ],
    ("LOOKS_RANDOM", "DOUBTFUL"): [
        ("client.id", f"billing-{RANDOM}"),
        ("group.id", RANDOM),
        ("app.contact", f"jane-{RANDOM}"),
    ],
    ("PRESENT", "CLEAN"): [
        ("bootstrap.servers", "http://${env:U}:${env:P}@registry"),
        ("partition.assignment.strategy", "range,roundrobin", LIST),
        ("group.remote.assignor", "uniform"),
        # Ids, of which some have much entropy.
        ("client.id", "MkU3OEVBNTcwNTJENDM2Qk"),
        ("client.id", "orders-4f9c2b7e-1a63-4d0e-9b58-6c1f0a7d3e92"),
        ("client.id", "orders-7d9f8b6c5-x2x4z"),
        ("client.id", "n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg="),
        ("client.id", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"),
        ("client.id", "01ARZ3NDEKTSV4RRFFQ69G5FAV"),
        ("application.id", "io.example.S3SinkConnectorV2MetricsReporter"),
        # What only looks like a user and a password.
        ("client.id", "mailto:jane@example.com"),
        ("client.id", "${MAIL:-jane@example.com}"),
        ("client.id", "orders:1.2@sha256:9f86d081884c7d659a2feaa0c55ad015"),
        ("client.id", "User:alice@EXAMPLE.COM"),
        ("client.id", "orders 10:30@host"),
        ("bootstrap.servers", "SASL_SSL://kafka-0:9092,kafka-1:9092", LIST),
        ("client.id", "password-reset:v2"),
        ("client.id", "bypass=true"),
        *(
            (key, "5")
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
    ],
}
"""By reason and tier: keys, values, and types of those that are no strings."""


@pytest.mark.parametrize(("judged", "setting"), [(judged, each) for judged, settings in JUDGED.items() for each in settings])
def test_reason_and_tier(judged: tuple[str, str], setting: Any) -> None:
    key, value, config_type = (*setting, STRING)[:3]
    assert (reason(key, value, config_type).name, tier_of(key, value, config_type).name) == judged


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
