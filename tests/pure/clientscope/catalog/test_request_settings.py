"""catalog/request_settings: a field is a setting only of those libraries that fill it with that setting."""

from __future__ import annotations

import pytest

from clientscope.catalog.configs import ClientType
from clientscope.catalog.request_settings import idle_text, inferred_value, least, least_idle_ms, shown_settings


def shown(api_key: int, fields: dict[str, str], library: str | None = "java", version: int = 9) -> dict[str, str]:
    return {setting.key: setting.value for setting in shown_settings(api_key, version, fields, library)}


PRODUCED = {"acks": "-1", "timeoutMs": "21000", "batchCompression": "0", "batchHasProducerId": "false"}


@pytest.mark.parametrize(
    ("library", "expected"),
    [
        ("java", {"request.timeout.ms": "21000", "compression.type": "none", "enable.idempotence": "false"}),
        ("librdkafka", {"request.timeout.ms": "21000", "enable.idempotence": "false"}),  # it sends what grows by compression as it is
        ("aiokafka", {"request.timeout.ms": "21000", "enable.idempotence": "false"}),
        ("sarama", {"enable.idempotence": "false"}),
        (None, {}),
    ],
)
def test_produce(library: str | None, expected: dict[str, str]) -> None:
    assert shown(0, PRODUCED, library) == {"acks": "all", **expected}


@pytest.mark.parametrize(("code", "name"), [("1", "gzip"), ("2", "snappy"), ("3", "lz4"), ("4", "zstd")])
def test_compression_that_was_used_is_sure_whatever_the_library(code: str, name: str) -> None:
    assert shown(0, PRODUCED | {"batchCompression": code}, None)["compression.type"] == name


def test_an_unknown_code_is_no_value() -> None:
    assert "compression.type" not in shown(0, PRODUCED | {"batchCompression": "7"})
    assert "isolation.level" not in shown(1, {"isolationLevel": "2"})


def test_only_libraries_that_send_it_show_the_poll_interval() -> None:
    joined = {"groupId": "g", "protocolType": "consumer", "rebalanceTimeoutMs": "90000", "protocols": "range,sticky"}
    assert shown(11, joined)["max.poll.interval.ms"] == "90000"
    assert "max.poll.interval.ms" not in shown(11, joined, "aiokafka")
    assert shown(11, joined, "aiokafka")["partition.assignment.strategy"] == "range,sticky"
    assert not shown(11, joined | {"protocolType": "connect"})


@pytest.mark.parametrize(
    ("median", "shown_as"), [("3003", "3000"), ("4981", "5000"), ("4900", "4900"), ("12500", "12500"), ("997", "1000"), ("7", "7")]
)
def test_an_interval_is_the_roundest_number_near_its_median(median: str, shown_as: str) -> None:
    times = {"groupId": "g", "medianMs": median, "leastMs": "1", "mostMs": "9999", "regular": "6", "intervals": "8"}
    assert shown(12, times) == {"group.id": "g", "heartbeat.interval.ms": f"~{shown_as} (1 to 9999, 6 of 8 within 5 %)"}
    assert shown(12, times | {"regular": "5"}) == {"group.id": "g"}
    assert shown(8, times | {"memberId": "*"})["auto.commit.interval.ms"].startswith(f"~{shown_as} ")
    assert inferred_value(shown(12, times)["heartbeat.interval.ms"]) == shown_as


def test_metadata_that_is_asked_for_at_intervals_is_as_old_as_it_may_be() -> None:
    times = {"allowAutoTopicCreation": "true", "medianMs": "3003", "leastMs": "1400", "mostMs": "3010", "regular": "7", "intervals": "8"}
    assert shown(3, times) == {"metadata.max.age.ms": "~3000 (1400 to 3010, 7 of 8 within 5 %)", "allow.auto.create.topics": "true"}
    several = times | {"regular": "12", "intervals": "12", "multiples": "true"}
    assert shown(3, several)["metadata.max.age.ms"] == "~3000 (1400 to 3010, 12 of 12 multiples within 5 %)"
    types = [setting.client_type for setting in shown_settings(3, 9, times, "java") if setting.key == "metadata.max.age.ms"]
    assert types == [ClientType.PRODUCER, ClientType.CONSUMER, ClientType.SHARE_CONSUMER]
    assert shown(3, times, "librdkafka") == {"allow.auto.create.topics": "true"}
    assert shown(3, {"allowAutoTopicCreation": "true"}) == {"allow.auto.create.topics": "true"}


SEVERAL = PRODUCED | {"mostInFlight": "7", "mostBatchBytes": "48000", "ofRequests": "40"}


@pytest.mark.parametrize(
    ("library", "compression", "batch"),
    [
        ("java", "0", 48_000),
        ("java", "4", None),  # it compresses as it adds records, and may have expected more of the compression
        ("librdkafka", "4", 48_000),
        ("kafka-python", "1", 48_000),
        ("sarama", "0", None),
        (None, "0", None),
    ],
)
def test_what_several_requests_show_is_the_least_that_a_setting_can_be(library: str | None, compression: str, batch: int | None) -> None:
    found = shown(0, SEVERAL | {"batchCompression": compression}, library)
    assert found["max.in.flight.requests.per.connection"] == "~at least 7 (at once, of 40 requests)"
    assert least(found["max.in.flight.requests.per.connection"]) == 7
    assert inferred_value(found["max.in.flight.requests.per.connection"]) is None
    assert (least(found["batch.size"]) if "batch.size" in found else None) == batch


@pytest.mark.parametrize(
    ("library", "known"), [("java", True), ("librdkafka", True), ("kafka-python", True), ("sarama", False), (None, False)]
)
def test_the_range_of_what_batches_waited_is_no_value(library: str | None, known: bool) -> None:
    found = shown(0, SEVERAL | {"lingerLeastMs": "37", "lingerMostMs": "44"}, library)
    text = "~between 37 and 44 (of 40 requests)"
    assert found.get("linger.ms") == (text if known else None)
    assert (least(text), inferred_value(text)) == (37, None)
    assert "linger.ms" not in shown(0, SEVERAL, library)


def test_one_request_in_flight_is_what_every_client_has() -> None:
    assert "max.in.flight.requests.per.connection" not in shown(0, SEVERAL | {"mostInFlight": "1"})
    assert "batch.size" not in shown(0, SEVERAL | {"mostBatchBytes": "0"})


@pytest.mark.parametrize("text", ["", "7", "~7 (1 to 9, 8 of 8)", "~at least ", "~at least x", "~at least ²", f"~at least {9**20}"])
def test_other_texts_have_no_least_number(text: str) -> None:
    assert least(text) is None


@pytest.mark.parametrize(("timestamp", "reset"), [("-1", "latest"), ("-2", "earliest"), ("-3", None), ("1700000000000", None), ("0", None)])
def test_what_a_consumer_without_an_offset_asks_for_is_its_reset_policy(timestamp: str, reset: str | None) -> None:
    asked = {"replicaId": "-1", "timestamp": timestamp, "beforeFetch": "true"}
    assert {key: inferred_value(value) for key, value in shown(2, asked).items()} == ({"auto.offset.reset": reset} if reset else {})
    assert not shown(2, {"replicaId": "-1", "timestamp": timestamp}), "one that fetches already may ask for its lag"


def test_a_share_consumer_that_only_acknowledges_shows_no_fetch_setting() -> None:
    fetched = {"groupId": "g", "maxWaitMs": "400", "minBytes": "2", "maxBytes": "50000", "maxRecords": "60", "shareAcquireMode": "1"}
    assert shown(78, fetched) == {
        "group.id": "g", "fetch.max.wait.ms": "400", "fetch.min.bytes": "2", "fetch.max.bytes": "50000", "max.poll.records": "60",
        "share.acquire.mode": "record_limit",
    }  # fmt: skip
    assert shown(78, fetched | {"maxBytes": "0"}) == {"group.id": "g"}


def test_a_javas_own_metrics_show_the_size_of_its_buffer() -> None:
    assert shown(72, {"bufferTotalBytes": "33554432"}) == {"buffer.memory": "33554432"}
    assert not shown(72, {"bufferTotalBytes": "33554432"}, "librdkafka")


@pytest.mark.parametrize(
    ("library", "least_ms", "expected"),
    [
        ("java", 540_012, "540000"),
        ("java", 539_996, "540000"),  # the clock of a socket has steps
        ("java", 545_300, "540000"),
        ("java", 546_000, "546000"),
        ("java", 569_900, "569000"),
        ("kafka-python", 11_508, "11500"),
        ("aiokafka", 10_996, "11000"),
        ("java", 10_960, "10900"),
        ("librdkafka", 538_400, "540000"),
        ("java", 538_400, "538000"),
        ("java", 12_345, "12300"),
        ("java", 99_995, "100000"),
    ],
)
def test_an_idle_time_is_the_roundest_number_that_is_just_below(library: str, least_ms: int, expected: str) -> None:
    text = idle_text(least_ms, least_ms, 1, library)
    assert text == f"~{expected} ({least_ms}, of 1 connection)"
    assert inferred_value(text) == expected


def test_idle_times_that_differ_are_no_setting() -> None:
    assert idle_text(540_000, 545_400, 2, "java") == "~540000 (540000 to 545400, of 2 connections)"
    assert idle_text(540_000, 545_401, 2, "java") is None
    assert idle_text(0, 0, 0, "java") is None


@pytest.mark.parametrize(
    ("library", "api_keys", "expected"),
    [
        ("java", {1, 3, 11, 12}, 10_000),
        ("java", {1, 3, 68}, 500_000),
        ("java", {76, 78}, 500_000),
        ("librdkafka", {1, 11}, 300_000),
        ("kafka-python", {1, 11}, 10_000),
        ("aiokafka", {1, 11}, 10_000),
        ("sarama", {1, 11}, None),
        (None, {1, 11}, None),
        ("java", {0, 3}, None),
        ("java", {0, 1, 11}, None),
        ("java", {3}, None),
        ("java", {1, 11, 78}, None),
    ],
)
def test_from_which_idle_time_on_a_close_shows_the_setting(library: str | None, api_keys: set[int], expected: int | None) -> None:
    found = least_idle_ms(library, api_keys)
    assert (None if found is None else round(found)) == expected
