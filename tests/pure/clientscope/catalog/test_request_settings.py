"""catalog/request_settings: a field is a setting only of those libraries that fill it with that setting."""

from __future__ import annotations

import pytest

from clientscope.catalog.request_settings import shown_settings


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
