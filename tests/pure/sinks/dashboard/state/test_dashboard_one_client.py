"""One client's page: its configuration, its starts, its findings, what could not be judged; and nothing of another client (F41, F44)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import pytest
from page_state import INSTANCE, NOW_MS, browser, found, live, opened, pushed, result
from record_bytes import config_record, setting

from clientscope.api.clients import ClientDetail, Configuration, EffectiveSetting
from clientscope.catalog.configs import Type
from clientscope.catalog.value_states import ValueState
from clientscope.errors import EnvironmentProblem
from clientscope.model.client_key import client_key
from clientscope.model.enums import Kind, Origin
from clientscope.model.setting import Redaction
from clientscope.report.findings import FindingChoice
from sinks.dashboard.state.known import TopicRecord
from sinks.dashboard.state.one_client import configuration, detail
from sinks.dashboard.state.pushes import pack, unpack
from sinks.dashboard.state.reader import Place
from sinks.dashboard.state.state import State
from udfs.rules.registry import EVERY_RULE

SECRET = "hunter2-very-secret"


DEFAULTS = {
    "acks": "all", "batch.size": "16384", "buffer.memory": "33554432", "client.id": "app", "compression.type": "none",
    "delivery.timeout.ms": "120000", "enable.idempotence": "true", "linger.ms": "5", "max.in.flight.requests.per.connection": "5",
    "request.timeout.ms": "30000", "retries": "2147483647",
}  # fmt: skip


def by_key(found: Configuration) -> dict[str, EffectiveSetting]:
    return {each.key: each for each in found.settings}


def made(*settings: Any, **fields: Any) -> Configuration:
    return configuration(config_record(*settings, **fields), NOW_MS)


CONFIGURED: dict[str, tuple[list[Any], dict[str, str], dict[str, tuple[str | None, str, str | None]]]] = {
    # acks=1 turns off what is only on by default (KIP-679).
    "defaults, and what settings make of each other": (
        [setting(key, value, default=key not in ("acks", "client.id")) for key, value in (DEFAULTS | {"acks": "1"}).items()], {},
        {"acks": ("1", "set", None), "linger.ms": ("5", "default", None), "enable.idempotence": ("false", "default", "true")},
    ),
    "its own spelling is kept beside Kafka's": (
        [setting("request.required.acks", "-1")], {"software_name": "librdkafka", "software_version": "2.6.0"},
        {"acks": ("all", "set", "-1")},
    ),
    "what is withheld has no value even where another name of it has one": (
        [setting("ProducerLinger", "7ms"), setting("linger.ms", None, state=ValueState.LOOKS_RANDOM)],
        {"software_name": "kgo", "software_version": "v1.21.5"},
        {"linger.ms": (None, "set", None)},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("settings", "fields", "expected"), CONFIGURED.values(), ids=CONFIGURED)
def test_what_applies_and_where_it_comes_from(
    settings: list[Any], fields: dict[str, str], expected: dict[str, tuple[str | None, str, str | None]]
) -> None:
    values = by_key(made(*settings, **fields))
    assert {key: (values[key].value, values[key].origin, values[key].pushed) for key in expected} == expected


def test_a_configuration_is_of_a_dialect_and_a_type_and_says_what_was_reported() -> None:
    found = made(setting("acks", "1"), setting("linger.ms", "5", default=True))
    assert (found.dialect, found.client_type, found.origin) == ("java", "producer", "pushed")
    assert made(*CONFIGURED["defaults, and what settings make of each other"][0]).whole and not made(setting("acks", "1")).whole
    left_out = by_key(made(setting("acks", "1"), software_name="kafka-python", software_version="2.2.0"))["retries"]
    assert (by_key(found)["linger.ms"].reported, left_out.reported, left_out.type, left_out.value) == (True, False, "int", "2147483647")


def test_a_withheld_value_has_a_reason_and_no_value() -> None:
    digest = bytes(range(32))
    redacted = setting("ssl.key.password", None, state=ValueState.KEY_PREFIX, digest=digest, length=9)
    raw = setting("sasl.jaas.config", f'PlainLoginModule required password="{SECRET}";', type=Type.PASSWORD)
    found = made(redacted, raw, setting("note", f"postgres://me:{SECRET}@db/x"))
    values = by_key(found)
    password = values["ssl.key.password"]
    assert (password.value, password.redacted) == (None, Redaction("key_prefix", 9, digest.hex()))
    assert all(values[key].redacted for key in ("sasl.jaas.config", "note"))
    assert SECRET not in str(found)


def test_hostile_settings_are_bounded_and_cleaned() -> None:
    (other,) = made(setting("k\x1b[31m" + "x" * 5_000, "v\u202e" * 3_000)).settings
    assert len(other.key) <= 256
    assert len(other.value or "") <= 1_000
    assert not {"\x1b", "\u202e"} & set(other.key + (other.value or ""))


class Topic:
    """Configurations by place, as a topic has them."""

    def __init__(self, *records: TopicRecord) -> None:
        self.values = {(record.partition, record.offset): record.value for record in records if record.topic == "clientscope.configs"}
        self.asked: list[Sequence[Place]] = []
        self.down = False

    def __call__(self, places: Sequence[Place]) -> Mapping[Place, bytes]:
        self.asked.append(places)
        if self.down:
            raise EnvironmentProblem("Kafka didn't give the configuration in time")
        return {place: value for place in places if (value := self.values.get(place)) is not None}


def detail_of(state: State, topic: Topic) -> ClientDetail:
    key = state.clients(10).items[0].key
    found = detail(state, topic, key)
    assert found is not None
    return found


def key_of(instance: UUID, address: str = "10.0.0.1") -> str:
    return client_key("c", None, address, instance, "", 0, 0)


def start(offset: int, minutes: int, *settings: Any, **fields: Any) -> TopicRecord:
    instance = UUID(int=offset)
    changes = {
        "instance_id": instance,
        "key": key_of(instance, fields.get("address", "10.0.0.1")),
        "at_ms": NOW_MS - minutes * 60_000,
        **fields,
    }
    return pushed(offset, *settings, **changes)


def starts_of(detail: ClientDetail) -> list[tuple[str | None, list[tuple[str, str | None, str | None]] | None]]:
    """Each start's instance, and what changed with it."""
    return [
        (each.instance_id, each.changes and [(change.key, change.before, change.after) for change in each.changes])
        for each in detail.starts or ()
    ]


def test_its_starts_are_compared_with_the_one_before() -> None:
    secret = [setting("ssl.key.password", None, state=ValueState.KEY_PREFIX, digest=bytes([n]) * 32, length=9) for n in (1, 2)]
    records = [
        start(1, 20, setting("acks", "all"), setting("linger.ms", "5"), secret[0]),
        start(2, 30, setting("acks", "0"), secret[0]),  # the next leader's clock is behind: its offset decides
        start(3, 20, setting("acks", "0"), secret[1]),
        start(4, 10, setting("acks", "1"), address="10.0.0.99"),
    ]
    topic = Topic(*records)
    state = live(*records, opened(1, instance_id=UUID(int=3)), found(1))
    detail = detail_of(state, topic)
    assert detail.configuration is not None and by_key(detail.configuration)["acks"].value == "0"
    assert starts_of(detail) == [
        (str(UUID(int=3)), [("ssl.key.password", "[key_prefix, 9 bytes, 01010101]", "[key_prefix, 9 bytes, 02020202]")]),
        (str(UUID(int=2)), [("acks", "all", "0"), ("linger.ms", "5", None)]),
        (str(UUID(int=1)), None),
    ]
    assert [each.this for each in detail.starts or ()] == [True, False, False]
    assert (detail.starts_of, [each.code for each in detail.findings or ()], len(topic.asked)) == ("client", ["AN101"], 1)
    compacted = detail_of(state, Topic(records[0], records[2]))
    assert [changes for _, changes in starts_of(compacted)] == [None, None, None]


def test_with_one_start_those_of_its_application_at_other_addresses_stand_beside_it() -> None:
    records = [
        start(1, 60, setting("acks", "all"), client_id="app-1", address="10.0.0.7"),
        start(2, 30, setting("acks", "0"), client_id="app-2"),
        start(3, 40, setting("group.id", "g"), setting("max.poll.records", "1"), client_id="app-3"),  # a consumer: another client
    ]
    state = live(*records, opened(1, client_id="app-2", instance_id=UUID(int=2)))
    detail = detail_of(state, Topic(*records))
    assert (detail.starts_of, [each.client_id for each in detail.starts or ()]) == ("application", ["app-2", "app-1"])
    assert starts_of(detail)[0][1] == [("acks", "all", "0")]


SEEN = {"origin": Origin.OBSERVED}


def test_what_a_client_pushes_is_shown_before_what_was_seen_of_it_later() -> None:
    records = [start(1, 60, setting("acks", "all")), start(2, 10, setting("acks", "1"), **SEEN)]
    detail = detail_of(live(*records, opened(1)), Topic(*records))
    assert detail.configuration is not None
    assert (detail.configuration.origin, by_key(detail.configuration)["acks"].value) == ("pushed", "all")
    assert [each.instance_id for each in detail.starts or ()] == [str(UUID(int=1))]


def test_what_several_gateways_have_seen_of_one_client_is_shown_together() -> None:
    records = [
        start(1, 60, setting("group.id", "g"), setting("session.timeout.ms", "12000"), setting("fetch.min.bytes", "1"), **SEEN),
        start(2, 30, setting("acks", "0"), **SEEN),  # a producer of its name: another client
        start(3, 10, setting("group.id", "g"), setting("fetch.min.bytes", "7"), **SEEN),
    ]
    detail = detail_of(live(*records, opened(1)), Topic(*records))
    assert detail.configuration is not None
    assert detail.configuration.origin == "observed"
    assert {key: each.value for key, each in by_key(detail.configuration).items()} == {
        "fetch.min.bytes": "7", "group.id": "g", "session.timeout.ms": "12000",
    }  # fmt: skip
    assert detail.starts == [], "a record of what was seen is no start"


def test_it_says_why_there_is_no_configuration() -> None:
    records = [opened(1, instance_id=INSTANCE)]
    silent = detail_of(live(*records), Topic())
    assert silent.configuration is None
    assert "not pushed" in (silent.why or "")
    assert silent.findings is None  # not judged, which isn't clean
    records += [pushed(5, key=key_of(INSTANCE)), result(5, instance_id=str(INSTANCE))]
    gone = detail_of(live(*records), Topic())
    assert "no longer" in (gone.why or "")
    assert gone.findings == []
    topic = Topic(*records)
    topic.down = True
    assert "in time" in (detail_of(live(*records), topic).why or "")
    topic.down, topic.values = False, {(0, 5): b"\x00\x09"}
    assert "can't be decoded" in (detail_of(live(*records), topic).why or "")


def test_a_client_that_has_just_gone_is_still_shown_and_an_unknown_one_is_not() -> None:
    state = live(opened(1), pushed(5), result(5))
    http = browser(state)
    key = state.clients(1).items[0].key
    state.apply([opened(2, kind=Kind.CLOSED, connection=1)])
    body = http.get(f"/api/v1/clients/{key}").json()
    assert (body["connected"], body["client"]["connections"], body["connections"]) == (False, 0, [])
    assert http.get("/api/v1/clients/unknown").status_code == 404
    assert http.get("/api/v1/clients/..%2f..").status_code in (404, 422)


def test_each_rule_has_a_bit_and_a_reason_and_one_of_another_release_is_left_out() -> None:
    (found,) = unpack(pack(["ZZ999", "AN101", "AN101"]))
    assert (found.code, found.name, found.why) == ("AN101", "acks_zero", "acks was not pushed, or is not 0, 1 or all.")
    for code in ("", *(rule.code for rule in EVERY_RULE)):
        assert [each.code for each in unpack(pack([code]))] == [code] * bool(code)


def test_without_a_result_nothing_is_known_and_a_later_push_has_its_own() -> None:
    state = live(opened(1), pushed(1))
    (client,) = state.clients(10).items

    def unjudged() -> list[str] | None:
        found = detail(state, Topic(), client.key)
        return None if found is None or found.not_judged_by is None else [each.code for each in found.not_judged_by]

    assert unjudged() is None
    state.apply([result(1, passed=["AN101"], not_evaluable=[])])
    assert unjudged() == []
    state.apply([pushed(2)])
    assert unjudged() is None
    state.apply([result(2, passed=["AN101"], not_evaluable=["AN102"])])
    assert unjudged() == ["AN102"]
    state.apply([result(3, passed=["AN101"], not_evaluable=["AN115"])])
    state.apply([pushed(3)])
    assert unjudged() == ["AN115"], "in whatever order they are read"


MALLORY, VICTIM = "User:mallory", "User:victim"


CHOICE = (FindingChoice(), 0, 100)


def running(principal: str, number: int, instance: UUID = INSTANCE) -> list[TopicRecord]:
    """A client, whose push has the connection's number as its offset; unless it says otherwise under the instance id that all send."""
    who = {"principal": principal, "instance_id": instance}
    key = client_key("c", principal, "10.0.0.1", instance, "gw", 1, 1)
    return [opened(number, kind=Kind.IDENTIFIED, **who), pushed(number, setting("acks", str(number)), key=key, **who)]


@pytest.mark.parametrize("other", [(MALLORY, INSTANCE), (VICTIM, UUID(int=7))], ids=["another principal", "another instance"])
def test_f41_two_clients_of_one_name_at_one_address_have_a_page_a_configuration_and_a_verdict_each(other: tuple[str, UUID]) -> None:
    principal, instance = other
    clean = result(2, principal=principal, instance_id=str(instance))
    state = live(*running(VICTIM, 1), *running(principal, 2, instance), clean)
    seen = {(each.principal, each.instance_id): (state.one_client(each.key), each.findings) for each in state.clients(10).items}
    assert {who: (one and one[1] and one[1].offset, findings is not None) for who, (one, findings) in seen.items()} == {
        (VICTIM, str(INSTANCE)): (1, False),
        (principal, str(instance)): (2, True),
    }


def test_f44_invented_findings_displace_no_finding_of_another() -> None:
    state = State(finding_limit=50)
    state.apply(found(number, severity="low", application={"client_id": "orders", "principal": VICTIM}) for number in range(5))
    state.apply(
        found(100 + number, severity="critical", kind="leak", application={"client_id": f"{number}", "principal": MALLORY})
        for number in range(500)
    )
    state.live()
    principals = [finding.application.principal for finding in state.findings(*CHOICE).items]
    assert principals.count(VICTIM) == 5 and 40 <= principals.count(MALLORY) <= 55
    assert state.counts().dropped["findings"] > 400


def test_f44_invented_clients_displace_no_push_and_no_connection_of_another() -> None:
    state = State(connection_limit=40, push_limit=40)
    for number in range(8):
        state.apply([opened(number, kind=Kind.IDENTIFIED, principal=VICTIM, client_id=f"orders-{number}")])
        state.apply([pushed(number, key=f"gw/1/{number}", principal=VICTIM, client_id=f"orders-{number}", at_ms=NOW_MS - 99_000)])
    for number in range(100, 400):
        state.apply([opened(number, kind=Kind.IDENTIFIED, principal=MALLORY, client_id=f"{number}")])
        state.apply([pushed(number, key=f"gw/1/{number}", principal=MALLORY, client_id=f"{number}")])
    for number in range(8, 12):
        state.apply([opened(1_000 + number, kind=Kind.IDENTIFIED, principal=VICTIM, client_id=f"orders-{number}")])
    state.live()
    principals = [client.principal for client in state.clients(100).items]
    assert principals.count(VICTIM) == 12 and len(principals) <= 40
    counted = dict(state.database.rows("SELECT principal, count(*) FROM pushes GROUP BY 1"))
    assert counted[VICTIM] == 8 and sum(counted.values()) <= 42
    assert min(state.counts().dropped[table] for table in ("pushes", "connections")) > 200


def test_f44_an_anonymous_hosts_pushes_displace_only_its_own() -> None:
    state = State(push_limit=40)
    state.apply([pushed(1, key="gw/1/1", address="10.0.0.1", client_id="orders", at_ms=NOW_MS - 99_000)])
    state.apply([pushed(2, key="gw/1/2", address="2001:db8:0:1::1", client_id="six", at_ms=NOW_MS - 99_000)])
    for number in range(100, 400):
        state.apply([pushed(number, key=f"gw/1/{number}", address=f"2001:db8:0:2::{number:x}", client_id=f"{number}")])
    there = {row[0] for row in state.database.rows("SELECT client_id FROM pushes")}
    assert {"orders", "six"} <= there and len(there) <= 42
