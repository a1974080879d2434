"""Results of pushes."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from golden import cases
from record_bytes import binaries, config_record, setting

from clientscope.catalog.configs import Type
from clientscope.catalog.value_states import ValueState
from clientscope.digest import DigestKey
from clientscope.model.enums import Origin
from udfs.kernels.live import live

KEY = DigestKey(b"k" * 32)
PLACES = (3, 0, pa.int32()), (100, 1, pa.int64()), (1_000, 10, pa.int64())
"""Partition, offset and Kafka's time: of the first record, and by how much each next one's is larger."""


def rows(*records: bytes | None, keys: tuple[bytes | None, ...] = ()) -> list[dict[str, Any]]:
    """What the kernel makes of records of ``clientscope.configs``, each 10 ms after the one before."""
    number = len(records)
    places = (pa.array([first + number * step for number in range(number)], kind) for first, step, kind in PLACES)
    made = live(pa.array([True] * number), *places, binaries(*records), binaries(*(keys or [None] * number)), KEY)
    return made.to_pylist()


def results(*records: bytes) -> list[dict[str, Any]]:
    made = rows(*records)
    assert {row["topic"] for row in made} == {"clientscope.results"}
    return [json.loads(row["value"]) for row in made]


def fired(code: str, *settings: Any) -> list[dict[str, Any]]:
    """The settings that the rule points to."""
    (result,) = results(config_record(*settings))
    (found,) = (item["settings"] for item in result["rules"] if item["code"] == code)
    return [{name: value for name, value in each.items() if value is not None} for each in found]


def test_sk001_fires_on_what_the_gateway_redacted_and_on_what_nobody_did() -> None:
    digest = b"d" * 32
    assert fired(
        "SK001",
        setting("sasl.jaas.config", None, state=ValueState.KEY_PREFIX, digest=digest, length=71),
        setting("acks", "1"),
        setting("token", "hunter2"),
    ) == [
        {"key": "sasl.jaas.config", "type": "string", "redacted": {"reason": "key_prefix", "length": 71, "digest": digest.hex()}},
        {"key": "token", "type": "string", "redacted": {"reason": "key_word", "length": 7, "digest": KEY.digest("hunter2").hex()}},
    ]


def leaking(text: str) -> Any:
    """A setting: its name and value, or in angle brackets why a gateway redacted it, and its length."""
    key, _, value = text.partition(" = ")
    state, _, length = value[1:-1].partition(" ")
    return setting(key, None, state=ValueState[state], length=int(length)) if value.startswith("<") else setting(key, value)


@pytest.mark.parametrize(("codes", "leaks"), cases(__file__, "leaks.txt"))
def test_each_rule_on_leaks_names_its_own(codes: str, leaks: str) -> None:
    settings = [leaking(each) for each in leaks.split("; ")]
    (result,) = results(config_record(setting("linger.ms", "5"), *settings))
    found = {each["code"]: each["settings"] for each in result["rules"] if each["code"].startswith("SK")}
    assert list(found) == codes.split()
    assert sum(map(len, found.values())) == len(settings) if codes else not found
    assert not any("value" in named for each in found.values() for named in each)


def test_a_rule_for_other_clients_is_not_listed() -> None:
    (result,) = results(config_record(setting("group.id", "g"), setting("session.timeout.ms", "6000")))
    assert "AN101" not in json.dumps(result)
    assert fired("AN202", setting("group.id", "g"), setting("session.timeout.ms", "6000")) == [
        {"key": "session.timeout.ms", "value": "6000"}
    ]


def test_a_setting_that_leaks_is_not_judged_by_another_rule() -> None:
    (result,) = results(config_record(setting("acks", "0", type=Type.PASSWORD)))
    assert "AN101" in result["not_evaluable"]


def test_rows_stay_in_order_and_apart() -> None:
    first, last = config_record(setting("acks", "0"), setting("token", "hunter2"), client_id="a-1"), config_record(origin=Origin.OBSERVED)
    junk, pushed, tombstone, seen = rows(b"junk", first, None, last, keys=(b"k", b"k", b"gone", b"k"))
    assert junk == {"topic": None, "key": None, "value": None}, "history's query reports it"
    assert tombstone == {"topic": "clientscope.results", "key": b"gone", "value": None}
    results = [json.loads(row["value"]) for row in (pushed, seen)]
    places = [(row["topic"], row["key"].decode()) for row in (pushed, seen)]
    assert places == [("clientscope.results", each["client"]) for each in results]
    assert [[each[name] for name in ("offset", "setting_count", "redacted_count", "origin")] for each in results] == [
        [101, 2, 1, "pushed"],
        [103, 0, 0, "observed"],
    ]
    assert [{"SK001", "AN101"} & {rule["code"] for rule in each.get("rules", [])} for each in results] == [{"SK001", "AN101"}, set()]
    assert b"hunter2" not in pushed["value"]


@pytest.mark.parametrize("origin", Origin)
def test_only_a_push_is_expected_to_keep_back_what_kip_1324_excludes(origin: Origin) -> None:
    settings = (setting("security.protocol", "SSL"), setting("sasl.jaas.config", "x", type=Type.PASSWORD), setting("my.own", "1"))
    (row,) = results(config_record(*settings, origin=origin))
    codes = {each["code"] for each in row["rules"]}
    assert "SK001" in codes, "a secret is one wherever it was read"
    assert codes & {"SK003", "SK005"} == ({"SK003", "SK005"} if origin is not Origin.REQUEST_LOG else set())


def test_a_result_fits_into_a_record_of_kafkas() -> None:
    names = [setting(f"z{number:04d}." + "ab.cd." * 38, "1") for number in range(4000)]
    (row,) = rows(config_record(*names, setting("acks", "0"), software_name="librdkafka"))
    assert len(row["value"]) < 1_000_000
    assert {"AN101", "SK005"} <= {each["code"] for each in json.loads(row["value"])["rules"]}
