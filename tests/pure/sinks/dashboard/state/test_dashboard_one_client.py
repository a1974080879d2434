"""One client's page: its configuration and where each value comes from, its starts, its findings; no secret in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from page_state import INSTANCE, NOW_MS, browser, found, live, opened, pushed, result
from record_bytes import config_record, setting

from clientscope.api.clients import ClientDetail, Configuration, EffectiveSetting
from clientscope.catalog.configs import Type
from clientscope.errors import EnvironmentProblem
from clientscope.records.client_key import client_key
from clientscope.records.layouts import Kind, Origin, ValueState
from sinks.dashboard.state.configuration import configuration
from sinks.dashboard.state.fetching import Place
from sinks.dashboard.state.one_client import OneClient
from sinks.dashboard.state.record import TopicRecord
from sinks.dashboard.state.state import State

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


def test_what_was_pushed_its_defaults_and_what_they_make_of_each_other() -> None:
    pushed = {**DEFAULTS, "acks": "1"}
    found = made(*(setting(key, value, is_default=key not in ("acks", "client.id")) for key, value in pushed.items()))
    assert (found.dialect, found.client_type, found.origin, found.whole) == ("java", "producer", "pushed", True)
    values = by_key(found)
    assert (values["acks"].value, values["acks"].source, values["acks"].pushed) == ("1", "pushed", None)
    assert (values["linger.ms"].value, values["linger.ms"].source, values["linger.ms"].reported) == ("5", "default", True)
    # acks=1 turns off what is only on by default (KIP-679).
    assert (values["enable.idempotence"].value, values["enable.idempotence"].pushed) == ("false", "true")


def test_a_library_that_leaves_defaults_out_has_them_all_the_same() -> None:
    values = by_key(made(setting("acks", "1"), client_software_name="kafka-python", client_software_version="2.2.0"))
    assert (values["retries"].source, values["retries"].reported, values["retries"].type) == ("default", False, "INT")
    assert values["retries"].value is not None


def test_a_librarys_own_spelling_is_kept_beside_kafkas() -> None:
    fields = {"client_software_name": "librdkafka", "client_software_version": "2.6.0"}
    values = by_key(made(setting("request.required.acks", "-1"), setting("compression.codec", "gzip"), **fields))
    assert (values["acks"].value, values["acks"].pushed) == ("all", "-1")
    assert values["compression.type"].value == "gzip"


def test_a_withheld_value_has_a_reason_and_no_value() -> None:
    digest = bytes(range(32))
    redacted = setting("ssl.key.password", None, value_state=ValueState.KEY_PREFIX, value_digest=digest, value_length=9)
    raw = setting("sasl.jaas.config", f'PlainLoginModule required password="{SECRET}";', config_type=Type.PASSWORD)
    found = made(redacted, raw, setting("note", f"postgres://me:{SECRET}@db/x"))
    values = by_key(found)
    password = values["ssl.key.password"]
    assert (password.value, password.source, password.reason, password.length, password.digest) == (
        None,
        "redacted",
        "key_prefix",
        9,
        digest.hex(),
    )
    assert {values[key].source for key in ("sasl.jaas.config", "note")} == {"redacted"}
    assert SECRET not in found.model_dump_json()


def test_what_is_withheld_has_no_value_even_where_another_name_of_it_has_one() -> None:
    withheld = setting("linger.ms", None, value_state=ValueState.LOOKS_RANDOM)
    values = by_key(made(setting("ProducerLinger", "7ms"), withheld, client_software_name="kgo", client_software_version="v1.21.5"))
    assert (values["linger.ms"].source, values["linger.ms"].value, values["linger.ms"].pushed) == ("redacted", None, None)


def test_hostile_settings_are_bounded_and_cleaned() -> None:
    found = made(setting("k\x1b[31m" + "x" * 5_000, "v\u202e" * 3_000), setting("linger.ms", "soon"), setting("linger.ms", "7"))
    values = by_key(found)
    assert values["linger.ms"].value == "7"  # the last counts
    (other,) = (each for each in found.settings if each.key != "linger.ms")
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


def detail_of(state: State, topic: Topic | None) -> ClientDetail:
    key = state.clients(10).items[0].key
    found = OneClient(state, topic).detail(key, NOW_MS)
    assert found is not None
    return found


def key_of(instance: UUID, address: str = "10.0.0.1") -> str:
    return client_key("c", None, address, instance, "", 0, 0)


def start(offset: int, minutes: int, *settings: Any, **fields: Any) -> TopicRecord:
    instance = UUID(int=offset)
    changes = {
        "client_instance_id": instance,
        "key": key_of(instance, fields.get("client_address", "10.0.0.1")),
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
    secret = [setting("ssl.key.password", None, value_state=1, value_digest=bytes([n]) * 32, value_length=9) for n in (1, 2)]
    records = [
        start(1, 20, setting("acks", "all"), setting("linger.ms", "5"), secret[0]),
        start(2, 30, setting("acks", "0"), secret[0]),  # the next leader's clock is behind: its offset decides
        start(3, 20, setting("acks", "0"), secret[1]),
        start(4, 10, setting("acks", "1"), client_address="10.0.0.99"),
    ]
    topic = Topic(*records)
    state = live(*records, opened(1, client_instance_id=UUID(int=3)), found(1))
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
        start(1, 60, setting("acks", "all"), client_id="app-1", client_address="10.0.0.7"),
        start(2, 30, setting("acks", "0"), client_id="app-2"),
        start(3, 40, setting("group.id", "g"), setting("max.poll.records", "1"), client_id="app-3"),  # a consumer: another client
    ]
    state = live(*records, opened(1, client_id="app-2", client_instance_id=UUID(int=2)))
    detail = detail_of(state, Topic(*records))
    assert (detail.starts_of, [each.client_id for each in detail.starts or ()]) == ("application", ["app-2", "app-1"])
    assert starts_of(detail)[0][1] == [("acks", "all", "0")]


SEEN = {"origin": int(Origin.OBSERVED)}


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
    records = [opened(1, client_instance_id=INSTANCE)]
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
    assert detail_of(live(*records), None).why == "Configurations are not read here."


def test_a_client_that_has_just_gone_is_still_shown_and_an_unknown_one_is_not() -> None:
    state = live(opened(1), pushed(5), result(5))
    http = browser(state)
    key = state.clients(1).items[0].key
    state.apply([opened(2, kind=Kind.CLOSED, connection_id=1)])
    body = http.get(f"/api/v1/clients/{key}").json()
    assert (body["connected"], body["client"]["connections"], body["connections"]) == (False, 0, [])
    assert http.get("/api/v1/clients/unknown").status_code == 404
    assert http.get("/api/v1/clients/..%2f..").status_code in (404, 422)


def test_the_origin_of_a_configuration_has_its_name() -> None:
    found = [made(setting("acks", "1"), origin=origin).origin for origin in (0, 1, 2, 3, 4, 5, -1)]
    assert found == ["pushed", "observed", "request_log", *["observed"] * 4]
