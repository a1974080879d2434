"""catalog/request_settings: a field is a setting only of those libraries that fill it with that setting."""

from __future__ import annotations

from golden import is_golden

from clientscope.catalog.request_settings import shown_settings


def shown(api_key: int, fields: dict[str, str], library: str | None = "java", version: int = 9) -> dict[str, str]:
    return {setting.key: setting.value for setting in shown_settings(api_key, version, fields, library)}


PRODUCED = {"acks": "-1", "timeoutMs": "21000", "batchCompression": "0", "batchHasProducerId": "false"}
JOINED = {"groupId": "g", "protocolType": "consumer", "rebalanceTimeoutMs": "90000", "protocols": "range,sticky"}
FETCHED = {"groupId": "g", "maxWaitMs": "400", "minBytes": "2", "maxBytes": "50000", "maxRecords": "60", "shareAcquireMode": "1"}
REQUESTS: dict[str, list[tuple[int, dict[str, str], str | None]]] = {
    # librdkafka sends what grows by compression as it is.
    "produced": [(0, PRODUCED, library) for library in ("java", "librdkafka", "aiokafka", "sarama", None)],
    "compression that was used is sure, whatever the library; an unknown code is no value": [
        *((0, PRODUCED | {"batchCompression": code}, None) for code in ("1", "2", "3", "4")),
        (0, PRODUCED | {"batchCompression": "7"}, "java"), (1, {"isolationLevel": "2"}, "java"),
    ],
    "only libraries that send it show the poll interval": [
        (11, JOINED, "java"), (11, JOINED, "aiokafka"), (11, JOINED | {"protocolType": "connect"}, "java"),
    ],
    "a share consumer that only acknowledges shows no setting of fetching": [
        (78, FETCHED, "java"), (78, FETCHED | {"maxBytes": "0"}, "java"),
    ],
    "Java's own metrics show the size of its buffer": [
        (72, {"bufferTotalBytes": "33554432"}, library) for library in ("java", "librdkafka")
    ],
}  # fmt: skip


def test_settings_that_requests_show() -> None:
    text = ""
    for name, requests in REQUESTS.items():
        text += f"{name}\n"
        for api_key, fields, library in requests:
            text += f"  {library} {fields}\n    {shown(api_key, fields, library)}\n"
    assert is_golden(text, __file__, "request_settings.txt")
