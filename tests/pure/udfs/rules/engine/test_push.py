"""Effective values of a push, against a slow reference that asks the dialects' own functions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from golden import cases
from hypothesis import example, given, settings
from hypothesis import strategies as st
from record_bytes import config_record, setting
from rule_batches import fired, outcomes, push_of
from rule_batches import record_of as record_of_case

from clientscope.catalog import sensitive, vocabulary
from clientscope.catalog.configs import DEFAULT_KEYS, TYPES, ClientType, Type
from clientscope.catalog.dialects import DIALECTS, LIBRDKAFKA
from clientscope.catalog.dialects.dialect import Dialect
from clientscope.catalog.dialects.java import JAVA
from clientscope.catalog.value_states import ValueState
from clientscope.catalog.vocabulary import KEYS, SETTLED_BY, number, number_text
from clientscope.model.enums import Origin
from clientscope.model.setting import Redaction, Setting
from clientscope.profiles import APACHE, Profile, Thresholds
from clientscope.profiles.client_patterns import ClientPattern
from clientscope.profiles.thresholds import ProfileChoice
from udfs.rules.engine import pushed_config as engine
from udfs.rules.engine.rule import FIRED, NOT_EVALUABLE, PASSED
from udfs.rules.registry import RULES

UNKNOWN = Dialect("unknown", (), {}, spellings={**JAVA.spellings, **LIBRDKAFKA.spellings}, booleans=LIBRDKAFKA.booleans)
NEVER_DEFAULT = {"application.id", "client.id", "group.id", "transactional.id"}
SOFTWARE = cases(__file__, "software.txt")


@dataclass(frozen=True)
class Pushed:
    """One push: name, value (None is redacted), IsDefault."""

    software: str
    version: str
    settings: tuple[tuple[str, str | None, bool], ...]


def known_dialect(push: Pushed) -> Dialect | None:
    return next((each for each in DIALECTS if push.software.lower() in each.software), None)


def key_of(of: Dialect | None, name: str, client_type: ClientType, complete: bool) -> str | None:
    """Kafka's name, among those that may be shown."""
    if not complete and name in KEYS:
        return name
    if of is not None:
        renamed = of.kafka_name(name, client_type)
        if renamed in KEYS or (renamed != name and name in KEYS):
            return renamed if renamed in KEYS else None
        if complete:  # the library's own names alone
            return name if of.separator == "." and name in KEYS else None
    plain = name.replace("_", ".").lower()
    if plain not in KEYS:
        plain = (of or LIBRDKAFKA).kafka_name(plain, client_type)
    return plain if plain in KEYS else None


OWNERS: dict[str, set[ClientType]] = {
    "application.id": {ClientType.STREAMS}, "client.rack": {ClientType.CONSUMER, ClientType.SHARE_CONSUMER},
    "group.id": {ClientType.CONSUMER, ClientType.SHARE_CONSUMER}, "group.instance.id": {ClientType.CONSUMER},
    "group.remote.assignor": {ClientType.CONSUMER}, "transactional.id": {ClientType.PRODUCER},
}  # fmt: skip
for _each in DIALECTS:
    for _type, _defaults in _each.defaults.items():
        for _key in _defaults:
            OWNERS.setdefault(_key, set()).add(_type)


def type_of(push: Pushed, complete: bool) -> ClientType | None:
    """The type of the client that the settings belong to; None if it is unknown or they belong to several clients."""
    keys = []
    for name, _, _ in push.settings:
        found = {key_of(known_dialect(push), name, each, complete) for each in ClientType} - {None}
        keys.append(found.pop() if len(found) == 1 else None)
    owners = [OWNERS.get(key, set(ClientType)) for key in keys if key]
    common = set(ClientType).intersection(*owners) if owners else set(ClientType)
    if not common:
        return None
    if common == {ClientType.CONSUMER, ClientType.SHARE_CONSUMER}:
        return ClientType.SHARE_CONSUMER if any(key and key.startswith("share.") for key in keys) else ClientType.CONSUMER
    listed = all(key in DEFAULT_KEYS[ClientType.ADMIN] for key in keys)
    if listed and ClientType.ADMIN in common and {"request.timeout.ms", "retries"} <= set(keys):
        return ClientType.ADMIN
    return common.pop() if len(common) == 1 else None


def reference(push: Pushed, complete: bool) -> dict[str, tuple[str | None, str]]:
    """Key → effective value and origin."""
    of, client_type = known_dialect(push), type_of(push, complete)
    values: dict[str, tuple[str | None, str]] = {}
    names: set[str | None] = set()
    unreadable: set[str] = set()
    for name, value, is_default in push.settings:
        if client_type is None:
            found = {key_of(of, name, each, complete) for each in ClientType} - {None}
            key = found.pop() if len(found) == 1 else None
        else:
            key = key_of(of, name, client_type, complete)
        names.add(key)
        if key is not None:
            hidden = value is None or sensitive.reason(name, value, Type.STRING) is not ValueState.PRESENT
            written = None if hidden or value is None else (of or UNKNOWN).kafka_value(name, key, value)
            text = None if written is None or value is None else normal(key, written, value)
            (unreadable.add if written is not None and is_number(key) and math.isnan(number(written)) else unreadable.discard)(key)
            values[key] = (text, "default" if is_default else "set")
    if of is None or client_type is None:
        return values
    defaults = of.defaults_of(client_type, push.version)
    own = DEFAULT_KEYS[client_type]
    listed = bool(push.settings) and names <= set(own)
    leaves_out = listed and not of.pushes_defaults and not any(origin == "default" for _, origin in values.values())
    lacking = {key for key in own if key in defaults and key not in NEVER_DEFAULT} - values.keys()
    if complete or leaves_out:
        filled = {key: (normal(key, text, text), "default") for key, text in defaults.items() if complete or key in own}
        values = {**filled, **values}
    if complete or leaves_out or (listed and not lacking):
        known = {key: None if key in unreadable else text for key, (text, _) in values.items()}
        given = [key for key, (_, origin) in values.items() if origin == "set"]
        for key, text in of.settle(client_type, known, given, of.release_of(push.version)).items():
            if key in values or complete or key in own:
                values[key] = (text, values.get(key, ("", "default"))[1])
    return values


def is_number(key: str) -> bool:
    return TYPES[key] not in (Type.STRING, Type.LIST, Type.BOOLEAN)


def normal(key: str, text: str, raw: str) -> str:
    """Numbers as Kafka writes them; what is none as it was pushed."""
    if not is_number(key):
        return text
    return number_text(number(text)) or raw


NAMES = sorted({*(key for keys in DEFAULT_KEYS.values() for key in keys)} | {name for (name,) in cases(__file__, "names.txt")})
VALUES = [
    "0", "1", "-1", "5", "6", "all", "ALL", " all", "true", "False", "t", "none", "latest", "largest", "error", "lz4", "LZ4", "0.5", "5000",
    "30000", "2147483647", "9" * 19, "9" * 20, "500ms", "1m30s", "", " ", "lots", "é", "exactly_once_v2", "read_committed", "NaN", "inf",
    "1e3",
]  # fmt: skip
SETTINGS = st.tuples(st.sampled_from(NAMES), st.one_of(st.none(), st.sampled_from(VALUES)), st.booleans())


@st.composite
def pushes(draw: st.DrawFn) -> Pushed:
    software, version = draw(st.sampled_from(SOFTWARE))
    found: list[tuple[str, str | None, bool]] = draw(st.lists(SETTINGS, max_size=8))
    if draw(st.booleans()):  # most real pushes hold one client's own keys
        own = DEFAULT_KEYS[draw(st.sampled_from(ClientType))]
        found = [(key, draw(st.sampled_from(VALUES)), draw(st.booleans())) for key in own if draw(st.integers(0, 5))]
    if draw(st.booleans()):
        found = [(key, value, False) for key, value, _ in found]
    return Pushed(software, version, tuple(found))


def record_of(push: Pushed) -> bytes:
    entries = [
        setting(key, value, default=is_default, state=ValueState.KEY_PREFIX if value is None else ValueState.PRESENT)
        for key, value, is_default in push.settings
    ]
    return config_record(*entries, software_name=push.software, software_version=push.version)


def seen(found: Sequence[Setting]) -> dict[str, tuple[str | None, str]]:
    return {each.key: (each.value, each.origin) for each in found}


@settings(deadline=None)
@example(
    Pushed("apache-kafka-java", "4.4.0", (("linger.ms", "0", False), ("max.in.flight.requests.per.connection", "9" * 19, False))),
    True,
)
@example(Pushed("librdkafka", "2.8.0", (("acks", "1", False), ("socket.timeout.ms", "7", False))), False)
@example(Pushed("librdkafka", "2.8.0", (("acks", "1", False),)), False)
@example(Pushed("kgo", "1.21.5", (("DisableIdempotentWrite", "TRUE", False),)), True)
@given(pushes(), st.booleans())
def test_effective_values_and_origins_are_the_references(made: Pushed, complete: bool) -> None:
    if complete:
        made = Pushed(made.software, made.version, tuple((key, value, False) for key, value, _ in made.settings))
    push, expected = push_of(record_of(made), complete=complete), reference(made, complete)
    assert push.client_type == type_of(made, complete)
    assert seen(push.evidence(KEYS)) == expected
    for key in ("acks", "linger.ms", "enable.idempotence"):
        origin = expected.get(key, ("", ""))[1]
        assert (push.is_set(key), push.is_default(key)) == (origin == "set", origin == "default")


class Watched(dict[str, Any]):
    """Values that remember which were looked at."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        super().__init__(values)
        self.seen: set[str] = set()

    def get(self, key: str, default: Any = None) -> Any:
        self.seen.add(key)
        return super().get(key, default)

    def __contains__(self, key: object) -> bool:
        self.seen.add(str(key))
        return super().__contains__(key)


@pytest.mark.parametrize("each", DIALECTS, ids=lambda each: each.name)
@pytest.mark.parametrize("client_type", ClientType)
@settings(max_examples=10, deadline=None)
@given(
    values=st.dictionaries(st.sampled_from(sorted(KEYS)), st.sampled_from(VALUES)),
    more=st.dictionaries(st.sampled_from(NAMES), st.sampled_from(VALUES)),
)
def test_settling_looks_at_no_other_settings(each: Dialect, client_type: ClientType, values: dict[str, str], more: dict[str, str]) -> None:
    watched, given_keys = Watched({**values, **more}), Watched(more)
    changed = each.settle(client_type, watched, given_keys, (3, 0, 0))
    assert (watched.seen | given_keys.seen | changed.keys()) <= set(SETTLED_BY.get(client_type, ()))


JAVA_SAYS = {"software_name": "apache-kafka-java", "software_version": "4.4.0"}


def test_settings_that_clients_share_are_judged_as_each_ones() -> None:
    shared = push_of(config_record(setting("acks", "0"), setting("session.timeout.ms", "1")))
    assert {"AN101", "AN202"} <= fired(shared)
    assert outcomes(push_of(config_record(setting("retries", "0"))))["AN103"] == NOT_EVALUABLE


def test_a_client_type_that_is_known_is_not_guessed() -> None:
    push = push_of(config_record(setting("client.id", "c")), complete=True, client_type=ClientType.PRODUCER)
    assert (push.client_type, push.number("linger.ms")) == (ClientType.PRODUCER, 5.0)


@pytest.mark.parametrize("origin", [Origin.OBSERVED, Origin.REQUEST_LOG])
def test_a_push_from_the_wire_says_nothing_of_defaults_nor_does_a_part_of_a_log(origin: int) -> None:
    push = push_of(config_record(setting("acks", "1"), setting("linger.ms", "0", default=True), origin=origin, **JAVA_SAYS))
    for key in ("acks", "linger.ms"):
        assert not push.is_set(key) and not push.is_default(key)
    evidence = push.evidence(["acks", "linger.ms", "batch.size"])
    assert evidence == [Setting("acks", "1", "observed"), Setting("linger.ms", "0", "observed")]


def test_evidence_is_never_a_secret() -> None:
    redacted = setting("acks", None, state=ValueState.VALUE_SHAPE, digest=b"d" * 32, length=40)
    of = [push_of(config_record(each)).evidence(("acks",)) for each in (setting("acks", "0"), redacted, setting("group.id", "g"))]
    assert of == [[Setting("acks", "0")], [Setting("acks", redacted=Redaction("value_shape", 40, (b"d" * 32).hex()))], []]


def test_rules_ask_for_settings_alone_that_may_be_shown() -> None:
    for case in (case for rule in RULES for case in rule.cases):
        push = push_of(record_of_case(case))
        push.values = watched = Watched(push.values)
        outcomes(push)
        assert watched.seen <= KEYS


def test_profiles_have_their_own_limits_and_rules() -> None:
    slow_ones = Profile("slow", off=frozenset({"AN207"}), limits={"AN202": {"minimum_ms": 60_000}})
    profiles = Thresholds((APACHE, slow_ones), ProfileChoice(((ClientPattern(group=("slow",), client_id=("orders-1",)), 1),)))
    settings = (setting("session.timeout.ms", "45000"), setting("enable.auto.commit", "true"))
    quick, slow = (push_of(config_record(setting("group.id", group), *settings), thresholds=profiles) for group in ("quick", "slow"))
    assert [outcomes(quick)[code] for code in ("AN202", "AN207")] == [PASSED, FIRED]
    assert (outcomes(slow)["AN202"], "AN207" in outcomes(slow)) == (FIRED, False)
    (short,) = (rule for rule in RULES if rule.code == "AN202")
    advised = [short.said_of(push, FIRED).split(": ")[1] for push in (quick, slow)]
    assert advised == [f"set session.timeout.ms={least} or more." for least in (10_000, 60_000)]


def test_a_whole_push_of_javas_is_settled_and_knows_what_has_no_value() -> None:
    own = {"auto.offset.reset": "latest", "enable.auto.commit": "true", "fetch.min.bytes": "1", "fetch.max.wait.ms": "500",
           "isolation.level": "read_uncommitted", "max.poll.interval.ms": "300000", "max.poll.records": "500",
           "request.timeout.ms": "30000", "session.timeout.ms": "45000"}  # fmt: skip
    whole = [setting(key, value, default=True) for key, value in own.items()]
    push, lacking, more = map(
        push_of, (config_record(*whole), config_record(*whole[1:]), config_record(*whole, setting("check.crcs", "true")))
    )
    assert [each.is_absent("group.id") for each in (push, lacking, more)] == [True, False, False]
    assert [each.text("enable.auto.commit") for each in (push, lacking, more)] == ["false", "true", "true"]
    assert push.text("enable.auto.commit", settled=False) == "true"


def test_names_without_end_are_not_remembered() -> None:
    before = vocabulary._name.cache_info().currsize
    for turn in range(20):
        vocabulary.name(None, f"a.{turn}".ljust(10_000, "x"), False)
    assert vocabulary._name.cache_info().currsize == before


@pytest.mark.parametrize("names", [("x" * 4_097,), tuple(map(str, range(129)))], ids=["long", "many"])
def test_names_that_would_fill_the_memory_are_not_remembered(names: tuple[str, ...]) -> None:
    before = engine._read_names.cache_info().currsize
    push_of(config_record(*(setting(name, "1") for name in names)))
    assert engine._read_names.cache_info().currsize == before
