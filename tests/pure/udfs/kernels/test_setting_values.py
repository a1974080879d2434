"""One setting of each record: its effective value in Kafka's unit, withheld where it is a secret, unknown where it isn't said."""

from __future__ import annotations

import pyarrow as pa
from record_bytes import config_record, setting

from clientscope.records.enums import Origin, ValueState
from udfs.kernels.setting_values import ClientSetting, SettingValue, setting_values


def values(key: str, *records: bytes) -> list[ClientSetting | None]:
    return setting_values(pa.array(records, pa.large_binary()), key, {key})


def test_values_are_kafkas() -> None:
    java = config_record(setting("linger.ms", "5"), setting("acks", "-1", default=True))
    sarama = config_record(
        setting("Producer.Flush.Frequency", "500000000"), client_software_name="sarama", client_software_version="1.43.3", client_id="b-7"
    )
    other = config_record(setting("linger.ms", "7"), client_software_name="in-house")
    found = values("linger.ms", java, sarama, other)
    assert [each and each.value for each in found] == [
        SettingValue("java", "5", None, True), SettingValue("sarama", "500", None, True), SettingValue("", "7", None, True),
    ]  # fmt: skip
    assert [each and each.application for each in found] == ["orders", "b", "orders"]
    (acks,) = values("acks", java)
    assert acks and acks.value == SettingValue("java", "all", None, False)


def test_what_is_not_said_is_unknown_and_what_cannot_be_is_none() -> None:
    producer, consumer = config_record(setting("acks", "all")), config_record(setting("group.id", "a"), setting("max.poll.records", "5"))
    unsaid, no_producer, broken = values("linger.ms", producer, consumer, b"\x00")
    assert unsaid is not None and unsaid.value is None
    assert no_producer is None
    assert broken is None


def test_a_kind_of_client_is_asked_for() -> None:
    record = config_record(setting("acks", "all"), setting("retries", "7"))
    found = {
        kind: setting_values(pa.array([record], pa.large_binary()), "retries", {"retries"}, {kind})[0] for kind in ("admin", "producer")
    }
    assert found["admin"] is None
    assert found["producer"] and found["producer"].value and found["producer"].value.value == "7"


def test_secrets_are_withheld() -> None:
    raw = config_record(setting("sasl.jaas.config", 'x required password="hunter2";'), setting("ssl.key.password", "hunter2"))
    gone = config_record(setting("sasl.jaas.config", None, state=ValueState.KEY_INFIX, length=9))
    for record in (raw, gone):
        (found,) = values("sasl.jaas.config", record)
        assert found and found.value and found.value.value is None and found.value.reason
    (found,) = values("client.id", config_record(setting("client.id", "password=hunter2"), client_id="password=hunter2"))
    assert "hunter2" not in str(found)


def test_settings_that_no_rule_asks_about_are_as_they_were_pushed() -> None:
    record = config_record(
        setting("partition.assignment.strategy", "a"), setting("queue.buffering.max.messages", "7"), client_software_name="librdkafka",
        origin=Origin.REQUEST_LOG,
    )  # fmt: skip
    (found,) = values("queue.buffering.max.messages", record)
    assert found and found.value and (found.value.library, found.value.value, found.rank) == ("librdkafka", "7", 1)
