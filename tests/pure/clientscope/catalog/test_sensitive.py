"""Judgement of sensitive settings and its severity: on corpora from real clients' documentation, case by case, and its cost."""

from __future__ import annotations

import ast
import base64
import io
import json
import random
import re
import uuid
from contextlib import closing
from string import ascii_letters, digits
from urllib.parse import quote

import pyarrow as pa
import pytest
from backtracking import steps
from corpora import corpus, is_held_back
from every import every
from fleets import NOW, connected, pushed
from golden import cases
from hypothesis import given
from hypothesis import strategies as st
from record_bytes import config_record, connection_record, heartbeat, setting
from request_contexts import PLACE

from clientscope.catalog import sensitive_keys, sensitive_names, sensitive_values
from clientscope.catalog.configs import TYPES, Type
from clientscope.catalog.dialects import DIALECTS
from clientscope.catalog.disguises import DISGUISED, readings
from clientscope.catalog.placeholders import TEMPLATE
from clientscope.catalog.random_text import looks_random
from clientscope.catalog.sensitive import Tier, reason, shown, tier
from clientscope.catalog.sensitive_names import FIELDS, judge_key_text, judge_name
from clientscope.catalog.sensitive_values import judge_value
from clientscope.catalog.value_states import ValueState
from clientscope.digest import DigestKey
from clientscope.gateway.metrics import GatewayMetrics
from clientscope.gateway.registry import ConnectionRegistry
from clientscope.gateway.request_log import RequestLog
from clientscope.gateway.worker.messages import Logged
from clientscope.model.codec import encode
from clientscope.model.setting import Redaction, Setting, shown_setting
from clientscope.policy.interface import ClientConfig
from clientscope.policy.redaction import ClientNames, redact
from clientscope.session.state import UNKNOWN, Identity, PrincipalSource
from sinks.dashboard.state.connections import event
from udfs.decode import CONNECTION, PUSH
from udfs.kernels.client_facts import CLIENT

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


@pytest.mark.parametrize(("why", "of", "key", "kind", "value"), cases(__file__, "judged.txt"))
def test_reason_and_tier(why: str, of: str, key: str, kind: str, value: str) -> None:
    config_type = Type[kind or "STRING"]
    assert (reason(key, value, config_type).name, tier_of(key, value, config_type).name) == (why, of)


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


@pytest.mark.parametrize(("state", "key", "length", "expected"), cases(__file__, "tiers.txt"))
def test_a_tier_of_what_was_redacted_elsewhere(state: str, key: str, length: str, expected: str) -> None:
    assert tier(ValueState[state], key, STRING, ast.literal_eval(length)) is Tier[expected]


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
    assert missing == ["age"]


PATTERNS = {
    **{name: shape.pattern for name, shape in sensitive_values.SHAPES.items()},
    "hint": sensitive_values.HINT,
    "without_password": sensitive_values.WITHOUT_PASSWORD,
    "certificate": sensitive_values.CERTIFICATE,
    "disguised": DISGUISED,
    "jaas": sensitive_values.JAAS,
    "template": TEMPLATE,
    "credential": sensitive_keys.CREDENTIAL,
    "mistyped": sensitive_keys.MISTYPED,
    "about_credential": sensitive_keys.ABOUT_CREDENTIAL,
    "identifier": sensitive_keys.IDENTIFIER,
    "name_assignment": sensitive_names.NAME_ASSIGNMENT,
    "key_assignment": sensitive_names.KEY_ASSIGNMENT,
}
# What patterns begin with, and what their repeats take: the worst is text that begins a match again and again.
PIECES = (
    *("a", " ", ":", "=", "<", "$", "@", "A1a", "{{", "${", "%A", "sig=", "xoxb-", "user_", "SG.", "User:", "${a:-"),
    *("://", "://a:", "://${", "password=", "password ", "eyJ", "aaaaaaaa.eyJ", "-----BEGIN ", "jdbc:oracle:a:", "LoginModule "),
    *(".passwor", ".passwordd."),
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


KEY = DigestKey(b"k" * 32)
SECRETS = [name for (name,) in cases(__file__, "secret_names.txt")]
SECRET_KEYS = [*SECRETS, *(key for (key,) in cases(__file__, "secret_keys.txt")), RANDOM]


def test_every_string_of_the_records_is_judged_as_some_table_says() -> None:
    """A new field fails here until somebody has said how it is judged."""

    there: set[str] = set()
    for columns in (PUSH, CONNECTION, CLIENT):
        for column in columns:
            inner = column.type.value_type if pa.types.is_list(column.type) and column.name != "written" else [column]
            there |= {each.name for each in inner if pa.types.is_string(each.type)}
    settings = {"config_key", "config_value"}  # `judge_key_text` and `reason` are for them
    of_ours = {"instance_id", "decode_error", "kind", "origin", "principal_source"}
    assert there == FIELDS.keys() | settings | of_ours


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("field", FIELDS)
def test_a_secret_is_hidden_in_every_field_and_its_placeholder_isnt(field: str, secret: str) -> None:
    for names in (ClientNames(), ClientNames(KEY)):
        hidden = names(field, secret)
        assert hidden.startswith("[redacted") and len(hidden) <= 27
        assert names(field, hidden) == shown(hidden, field) == hidden, "what was judged once is left alone"
    assert ClientNames(KEY)(field, secret) != ClientNames(KEY)(field, secret + "-2"), "a digest tells two of them apart"
    assert ClientNames(KEY)(field, secret) == ClientNames(DigestKey(b"k" * 32))(field, secret), "and finds one again"
    assert shown(secret, field) == "[redacted]"


@pytest.mark.parametrize("secret", SECRET_KEYS)
def test_a_key_that_is_a_secret_takes_its_value_along_and_is_as_bad(secret: str) -> None:
    for value in ("", "x", "rest of the line"):
        pushed = ClientConfig(secret, value, 1, False)
        redacted = redact(pushed, KEY, 3)
        assert redacted.key.startswith("[redacted ") and secret not in str(redacted)
        assert redact(pushed, None, 3).key == "[redacted 3]"
        assert redacted.value is None
        bad = Tier.DOUBTFUL if secret == RANDOM else Tier.CREDENTIAL
        state = ValueState[redacted.redacted.reason.upper()]
        assert tier(state, redacted.key, 1, redacted.redacted.length) is bad, "judged by the placeholder"
        assert judge_key_text(redacted.key) is ValueState.PRESENT
    assert reason(f"{RANDOM}.password", "hunter2", 1) is ValueState.VALUE_SHAPE, "or it would be harmless once its key is gone"


def test_innocent_names_stay() -> None:
    for names in (ClientNames(), ClientNames(KEY)):
        for name, version in cases(__file__, "software.txt"):
            assert (names("software_name", name), names("software_version", version)) == (name, version)
        for field, name in cases(__file__, "innocent_names.txt"):
            assert names(field, name) == name


def test_a_client_id_that_looks_random_is_hidden_and_a_principal_isnt() -> None:
    """docs/specifications.md: ids that anybody may choose; a token's subject is given, and tells whose a client is."""
    assert ClientNames()("client_id", f"orders-{RANDOM}") == "[redacted]"
    assert ClientNames()("software_name", f"orders-{RANDOM}") == "[redacted]"
    assert ClientNames()("principal", RANDOM) == RANDOM


def test_no_key_and_no_id_of_the_corpora_or_of_any_library_is_hidden() -> None:
    """The false positives: none among some 3,000 keys and 180 ids."""
    lines = [*corpus("innocent"), *corpus("leaks")]
    keys = {line["key"] for line in lines} | set(TYPES)
    keys |= {name for dialect in DIALECTS for name in getattr(dialect, "names", {})}
    assert len(keys) > 3_000
    assert [key for key in keys if judge_key_text(key) is not ValueState.PRESENT] == []
    named = ("client.id", "clientid", "group.id", "groupid", "transactional.id", "application.id", "sasl.username", "username", "user")
    ids = {line["value"] for line in corpus("innocent") if line["key"].replace("_", ".").replace("-", ".").lower() in named}
    assert len(ids) > 100
    assert [each for each in ids if judge_name(each, True) is not ValueState.PRESENT] == []


def identities(secret: str) -> list[Identity]:
    return [
        Identity(client_id=secret), Identity(software_name=secret), Identity(software_version=secret),
        Identity(principal=secret, principal_source=PrincipalSource.PLAIN),
    ]  # fmt: skip


@pytest.mark.parametrize("secret", SECRETS)
def test_nothing_that_leaves_the_gateway_has_a_clients_secret_name(secret: str) -> None:
    metrics = GatewayMetrics()
    registry = ConnectionRegistry(PLACE, names=ClientNames(KEY), hidden=lambda field: metrics.count("names_redacted", field))
    records, lines = [], io.StringIO()
    with closing(RequestLog("-", 1_000, PLACE, lambda what, reason: None, ClientNames(KEY), lines)) as log:
        for number, identity in enumerate(identities(secret)):
            records.append(registry.opened(number, "10.0.0.1", 1))
            records.append(registry.identified(number, identity, 2))
            records.append(registry.identified(number, Identity(software_name="java", software_version="2"), 3))
            records.append(registry.identified(number, identity, 4))
            log.write(Logged("c", 0.0, bytes(12), identity, 1.0))
        redacted = [registry.listing(), [str(registry.context(number)) for number in range(4)], str(registry.counts())]
        records += [*registry.heartbeat(5, 1_000), *registry.again(range(4), 6)]
        records += [registry.closed(number, "client_closed", 7) for number in range(4)]
    written = [encode(record) for record in records if record is not None]
    assert len(written) == 25
    piece = secret[-12:]
    assert not any(piece.encode() in value for value in every(written))
    assert piece not in json.dumps(redacted, default=str) and piece not in lines.getvalue()
    assert json.dumps(redacted, default=str).count("[redacted ") >= 9 and lines.getvalue().count("[redacted ") == 4
    counted = {
        sample.labels["field"]: sample.value
        for family in metrics.registry.collect() if family.name == "clientscope_gateway_names_redacted"
        for sample in family.samples if sample.name.endswith("_total")
    }  # fmt: skip
    assert counted == dict.fromkeys(("client_id", "software_name", "software_version", "principal"), 2.0)


def test_a_connection_that_a_worker_lists_again_is_known_by_what_is_recorded_of_it() -> None:
    """Else each list would publish all redacted, and all cut, clients once more."""
    registry = ConnectionRegistry(PLACE, names=ClientNames(KEY))
    for number, identity in enumerate([*identities(SECRETS[0]), Identity(client_id="o" * 300)]):
        registry.opened(number, "10.0.0.1", 1, identity)
        assert registry.knows_as(number, identity)
        assert not registry.knows_as(number, Identity(client_id="another"))


def test_what_is_redacted_without_a_digest_infers_nobodys_software() -> None:
    registry = ConnectionRegistry(PLACE)
    registry.opened(1, "10.0.0.1", 1, Identity(client_id=SECRETS[0], software_name="java", software_version="1"))
    registry.opened(2, "10.0.0.1", 1, Identity(client_id=SECRETS[1]))
    assert [each.inferred for each in registry.listing()] == [None, None]


@pytest.mark.parametrize("secret", SECRETS)
def test_no_kernel_of_the_job_and_no_reader_of_the_page_passes_a_raw_name_on(secret: str) -> None:
    """A record that no gateway wrote, or one of an earlier release."""
    texts = [name for name in FIELDS if name != "security_protocol"]
    instance = uuid.uuid4()
    pushes = [config_record(setting(secret, "x"), instance_id=instance, **{name: secret}) for name in texts
                       if name not in ("reason", "host", "previous_software_name", "previous_software_version")]  # fmt: skip
    connections = [
        connection_record(number, [(secret, secret, 1, 1, 0)], **{name: secret})
        for number, name in enumerate(texts) if name != "digest_key_id"
    ]  # fmt: skip
    connections += [heartbeat(50, [("java", secret, 1, 1, 0)]), connection_record(51, cluster=secret)]
    made = [
        pushed((NOW, each) for each in pushes),
        connected((NOW, each) for each in connections),
        [str(event(each)) for each in connections],
    ]
    for each in made:
        text = json.dumps(each, default=str)
        assert len(text) > 100 and "[redacted" in text
        assert secret[-12:] not in text


def test_a_setting_of_a_record_that_somebody_else_wrote_is_read_without_its_secret_key() -> None:
    assert shown_setting(Setting("sasl.password = hunter2", "x")) == Setting("[redacted]", redacted=Redaction("value_shape", 1))
    assert shown_setting(Setting("password=hunter2")).key == "[redacted]"
    assert shown_setting(Setting("acks", "all", note="use sasl.password=hunter2-canary")) == Setting("acks", "all")
    assert shown_setting(Setting("linger.ms", "hunter2", type="password")).value is None, "as where it was pushed"
    assert shown_setting(Setting("acks", "all", note="not since 4.0.0")).note == "not since 4.0.0"
    why = Redaction("key_infix", 3)
    assert shown_setting(Setting("acks", "all", redacted=why)) == Setting("acks", redacted=why)


def test_unknown_is_no_name_to_judge() -> None:
    assert ClientNames()("software_name", UNKNOWN) == UNKNOWN
    assert ClientNames()("client_id", None) is None
    assert sensitive_names.placeholder() == "[redacted]"


LEAK = "pass=harbor-91"
JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="alice" password="harbor-91";'


@pytest.mark.parametrize(
    "word", ["ｐａｓｓｗｏｒｄ", "ⓟⓐⓢⓢⓦⓞⓡⓓ", "p\u200ba\u200bs\u200bs\u2060word", "pa\u00adssword", "𝐩𝐚𝐬𝐬𝐰𝐨𝐫𝐝", "\u202apassword\u202c"]
)
def test_finds_a_password_in_compatible_or_split_letters(word: str) -> None:
    assert reason("client.id", f"{word}=harbor-91", 1) is ValueState.VALUE_SHAPE
    assert reason(word, "harbor-91", 1) is not ValueState.PRESENT


@pytest.mark.parametrize(
    "encoded",
    [
        LEAK.encode().hex(),
        LEAK.encode().hex().upper(),
        f"orders,{LEAK.encode().hex()},1",
        base64.b64encode(LEAK.encode()).decode(),
        base64.b64encode(JAAS.encode()).decode(),
        base64.urlsafe_b64encode(LEAK.encode()).decode().rstrip("="),
        f"orders-{base64.urlsafe_b64encode(LEAK.encode()).decode()}",
        "".join(f"%{byte:02x}" for byte in LEAK.encode()),
        quote("alice:harbor-91@kafka", safe=""),
    ],
)
@pytest.mark.parametrize("key", ["client.id", "group.id"])
def test_removes_one_layer_of_an_encoding(key: str, encoded: str) -> None:
    assert reason(key, encoded, 1) is ValueState.VALUE_SHAPE
    assert judge_value(encoded[: min(12, len(encoded) // 3)]) is ValueState.PRESENT


@given(st.text(max_size=60))
def test_any_text_can_be_read(text: str) -> None:
    assert all(isinstance(each, str) for each in readings(text))


def test_finds_a_leak_behind_any_number_of_encoded_parts() -> None:
    innocent = " ".join(base64.b64encode(f"orders {number}".encode()).decode() for number in range(300))
    assert judge_value(innocent) is ValueState.PRESENT
    assert judge_value(f"{innocent} {base64.b64encode(LEAK.encode()).decode()}") is ValueState.VALUE_SHAPE
