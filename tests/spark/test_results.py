"""Pushes to results, inside Spark."""

from __future__ import annotations

import json
from collections.abc import Callable

from pyspark.sql import DataFrame
from record_bytes import Records, config_record, setting

from clientscope.digest import DigestKey
from clientscope.profiles import APACHE, BUILT_IN, Thresholds
from clientscope.profiles.client_patterns import ClientPattern
from clientscope.profiles.thresholds import ProfileChoice
from clientscope.records.topics import CONFIGS
from streaming.transforms import results

SECRET = "hunter2-canary"


def test_a_push_becomes_one_result_and_secrets_stay_out(
    records: Records, digest_key: DigestKey, plan_of: Callable[[DataFrame], str]
) -> None:
    leak = config_record(
        setting("acks", "0"), setting("token", SECRET), setting("group.id", "g\u00e9"), principal="User:a", client_id="orders-3"
    )
    made = results(records(CONFIGS, b"junk", leak, None, config_record()), digest_key)
    assert plan_of(made).count("ArrowEvalPython") == 1, "the kernel runs once"
    rows = made.collect()
    assert len(rows) == 2
    assert rows[0]["key"] == '["User:a","orders","g\u00e9"]'
    assert SECRET not in rows[0]["value"]
    value = json.loads(rows[0]["value"])
    assert rows[0]["value"] == json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    assert {"SK001", "AN101"} <= {rule["code"] for rule in value["rules"]}
    assert ("AN109" in value["not_evaluable"], "AN108" in value["passed"]) == (True, False)
    assert value | {"rules": [], "passed": [], "not_evaluable": []} == {
        "version": 1, "topic": CONFIGS, "partition": 0, "offset": 1, "received_ms": 1, "cluster": "c", "broker": 1, "gateway": "g",
        "epoch": 2, "connection": 3, "listener": "CLIENT", "security_protocol": "PLAINTEXT", "address": "127.0.0.1",
        "principal": "User:a", "client_id": "orders-3", "software_name": "apache-kafka-java", "software_version": "4.4.0",
        "instance_id": None, "origin": "pushed", "application": rows[0]["key"], "settings": 3, "redacted": 1, "rules": [],
        "passed": [], "not_evaluable": [],
    }  # fmt: skip
    assert rows[1]["key"] == '[null,"orders",null]'
    assert json.loads(rows[1]["value"])["offset"] == 3


def test_each_push_is_judged_by_its_clients_profile(records: Records) -> None:
    thresholds = Thresholds((APACHE, BUILT_IN["eventhubs"]), ProfileChoice(((ClientPattern(principal=("User:azure-*",)), 1),)))
    settings = setting("acks", "all"), setting("request.timeout.ms", "15000")
    pushed = [config_record(*settings, principal=f"User:{name}") for name in ("azure-1", "other")]
    rows = results(records(CONFIGS, *pushed), None, thresholds).collect()
    fired = [[rule["code"] for rule in json.loads(row["value"])["rules"]] for row in rows]
    assert ["AN108" in codes for codes in fired] == [True, False]
