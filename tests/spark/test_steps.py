"""The job's steps inside Spark: what comes of records, no digest key in what is sent, no task that has more to do than another (F28)."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.serializers import CloudPickleSerializer
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody knows it
from record_bytes import Records, config_record, connection_record, setting

from clientscope.digest import DigestKey
from clientscope.model.enums import Kind
from clientscope.model.result import SOURCE_PLACE
from clientscope.model.topics import CONFIGS, CONNECTIONS, INPUTS, RESULTS
from clientscope.profiles import APACHE, BUILT_IN, Thresholds
from clientscope.profiles.client_patterns import ClientPattern
from clientscope.profiles.thresholds import ProfileChoice
from streaming import transforms
from streaming.checkpoints.job_records import SkippedRecord
from streaming.failures import understood
from streaming.sources import without
from streaming.transforms import live

SECRET = "hunter2-canary"


def values(made: DataFrame) -> list[dict[str, Any]]:
    """The values of what is written, each with its topic and key for an extra; tombstones have none."""
    return [json.loads(row["value"] or "{}") | {"to": row["topic"], "under": row["key"].decode()} for row in made.collect()]


def test_both_topics_become_what_follows_in_one_pass_and_secrets_stay_out(
    records: Records, digest_key: DigestKey, plan_of: Callable[[DataFrame], str]
) -> None:
    leak = config_record(
        setting("acks", "0"), setting("token", SECRET), setting("group.id", "g\u00e9"), setting("client.id", "orders-3"),
        principal="User:a", client_id="orders-3",
    )  # fmt: skip
    events = (
        connection_record(1, kind=Kind.IDENTIFIED, client_id=f"token={SECRET}", requested_versions=((1, 3),)),
        b"junk",
        connection_record(2, kind=Kind.TRAFFIC, connection=-1),
    )
    read = records(CONFIGS, b"junk", leak, None, config_record()).union(records(CONNECTIONS, *events))
    made = live(read, digest_key)
    assert plan_of(made).count("ArrowEvalPython") == 1, "the kernel runs once"
    assert SECRET not in repr(made.collect())
    pushed, tombstone, other, happened = sorted(values(made), key=lambda each: (each["to"] == INPUTS, each.get("offset", 2)))
    assert [(each["to"], each["under"]) for each in (pushed, tombstone, other, happened)] == [
        (RESULTS, pushed["client"]),
        (RESULTS, "key"),
        (RESULTS, other["client"]),
        (INPUTS, "clientscope.connections/0"),
    ]
    (source,) = [row["headers"] for row in made.collect() if row["headers"]]
    assert tombstone.keys() == {"to", "under"}
    assert [(each["key"], bytes(each["value"])) for each in source] == [(SOURCE_PLACE, b"0/2/%d" % (START_MS + 2_000))]
    fired = pushed.pop("rules")
    assert {"SK001", "AN101"} <= {rule["code"] for rule in fired}
    assert ("AN109" in pushed.pop("not_evaluable"), "AN108" in pushed.pop("passed")) == (True, False)
    assert pushed.pop("configuration") | {"token": None} == {"acks": "0", "token": None, "group.id": "g\u00e9"}, "but for its instance's"
    assert pushed == {
        "version": 1, "topic": CONFIGS, "partition": 0, "offset": 1, "appended_ms": START_MS + 1_000, "received_ms": 1, "cluster": "c",
        "broker": 1, "gateway": "g", "epoch": 2, "connection": 3, "listener": "CLIENT", "security_protocol": "PLAINTEXT",
        "address": "127.0.0.1", "principal": "User:a", "client_id": "orders-3", "software_name": "apache-kafka-java",
        "software_version": "4.4.0", "origin": "pushed", "application": '["User:a","orders","g\u00e9"]', "setting_count": 4,
        "redacted_count": 1, "client": pushed["under"], "written": ["token"], "to": RESULTS, "under": pushed["under"],
    }  # fmt: skip
    record = happened["record"]
    assert (record["kind"], record["requested_versions"]) == ("identified", [[1, 3]])


def test_each_push_is_judged_by_its_clients_profile(records: Records) -> None:
    thresholds = Thresholds((APACHE, BUILT_IN["eventhubs"]), ProfileChoice(((ClientPattern(principal=("User:azure-*",)), 1),)))
    settings = setting("acks", "all"), setting("request.timeout.ms", "15000")
    pushed = [config_record(*settings, principal=f"User:{name}") for name in ("azure-1", "other")]
    fired = [[rule["code"] for rule in each.get("rules", [])] for each in values(live(records(CONFIGS, *pushed), None, thresholds))]
    assert ["AN108" in codes for codes in fired] == [True, False]


START_MS = int(datetime(2026, 1, 2, 23, 59, 59, tzinfo=UTC).timestamp() * 1000)


def test_a_place_is_left_out_and_nothing_else_before_the_kernel_sees_it(records: Records, plan_of: Callable[[DataFrame], str]) -> None:
    # Offset 4 again, of a topic that was deleted and made again since.
    places = ((0, 1, START_MS + 1000), (0, 3, START_MS + 3000), (1, 2, START_MS + 2000), (0, 4, START_MS - 86_400_000))
    left_out = [SkippedRecord(topic=CONFIGS, partition=each, offset=offset, timestamp_ms=at_ms) for each, offset, at_ms in places]
    rest = without(records(CONFIGS, *(config_record(client_id=f"c{number}") for number in range(5))), left_out)
    assert sorted(row["offset"] for row in rest.collect()) == [0, 2, 4]
    plan = plan_of(live(rest, None))
    operators = [line.strip(" +-:*()0123456789").split(" ")[0] for line in plan.splitlines()]
    assert "Filter" in operators[operators.index("ArrowEvalPython") :], plan
    assert "unix_millis" in plan[plan.index("ArrowEvalPython") :], plan


Step = Callable[[DataFrame, DigestKey | None], DataFrame]
STEPS: list[tuple[str, Step]] = [
    (CONFIGS, live),
    (CONNECTIONS, live),
    (CONFIGS, transforms.pushes),
    (CONNECTIONS, transforms.connections),
]


@pytest.mark.parametrize(("topic", "step"), STEPS)
def test_no_pickled_function_has_the_key(records: Records, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, topic: str, step: Step) -> None:
    secret, file = b"0123456789abcdef" * 4, tmp_path / "digest.key"
    file.touch(0o600)
    file.write_bytes(secret)
    sent: list[bytes] = []
    dumps = CloudPickleSerializer.dumps

    def seen(self: CloudPickleSerializer, function: object) -> bytes:
        sent.append(dumps(self, function))
        return sent[-1]

    monkeypatch.setattr(CloudPickleSerializer, "dumps", seen)
    record = config_record(setting("token", "hunter2")) if topic == CONFIGS else connection_record(0)
    assert len(step(records(topic, record), DigestKey.read(file)).collect()) == 1
    assert any(str(file.name).encode() in each for each in sent), "the function was among them"
    assert not [each for each in sent if secret in each]


def test_a_machine_without_the_key_is_named_as_what_is_wrong(records: Records, tmp_path: Path) -> None:
    file = tmp_path / "digest.key"
    file.touch(0o600)
    file.write_bytes(b"k" * 32)
    rows = live(records(CONFIGS, config_record(setting("token", "hunter2"))), DigestKey.read(file))
    file.unlink()
    with pytest.raises(Exception, match=r"digest_key_file \S+: No such file") as failed:
        rows.collect()
    failure = understood(str(failed.value))
    assert (failure.kind, failure.lasting, failure.fatal_record) == ("an executor has no digest key, or another one", True, False)


def hot(topic: str, count: int = 400) -> list[bytes]:
    """Every twentieth has a version of its own."""
    versions = ["4.4.0" if number % 20 else f"0.{number}" for number in range(count)]
    if topic == CONFIGS:
        return [config_record(setting("acks", "0"), software_version=each, connection=number) for number, each in enumerate(versions)]
    return [
        connection_record(number, [("java", each, 1, 1, 0)], software_version=each, connection=number)
        for number, each in enumerate(versions)
    ]


@pytest.mark.parametrize(("topic", "step"), STEPS)
def test_f28_no_task_gets_what_one_version_sends(records: Records, plan_of: Callable[[DataFrame], str], topic: str, step: Step) -> None:
    read = records(topic, *hot(topic)).repartition(8)  # as Kafka's source cuts a backlog, by offsets
    made = step(read, None)
    per_task = [row["count"] for row in made.withColumn("task", F.spark_partition_id()).groupBy("task").count().collect()]
    assert len(per_task) == 8 and max(per_task) <= 5 * sorted(per_task)[4], "by how much has come, not by whose it is"
    plan = plan_of(made)
    assert plan.count("Exchange") == 1 and "RoundRobin" in plan, "the test's own: the step has none"
