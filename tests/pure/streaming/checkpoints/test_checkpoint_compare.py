"""Checkpoints that a job continues with, those that it refuses, and the advice in the refusal (F24, F25)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from made_checkpoints import holding, manifest_of

from streaming.checkpoints.compare import decide, reset
from streaming.checkpoints.manifest import Refused, SeenTopic
from streaming.checkpoints.plans import PLANS
from streaming.internals.spark_files import SparkFiles

CONFIGS = "clientscope.configs"
READ = SparkFiles(True, 4, 4, {CONFIGS: {0: 50}}, shuffle_partitions=1)


@pytest.fixture
def stateful(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if `results` kept state in Spark, which no query does now."""
    monkeypatch.setitem(PLANS, "results", replace(PLANS["results"], stateful=True))


def topic(**changes: Any) -> dict[str, SeenTopic]:
    return {CONFIGS: manifest_of("results").topics[CONFIGS].model_copy(update=changes)}


def test_a_new_checkpoint_is_begun() -> None:
    now = manifest_of("results")
    assert decide(now, None, SparkFiles(), holding("results", (7, 9))).manifest == now


def test_an_unchanged_job_continues_without_a_note() -> None:
    decision = decide(manifest_of("results"), manifest_of("results"), READ, holding("results", (0, 60)))
    assert (decision.notes, decision.manifest.batch) == ([], 4)


def test_one_without_a_manifest_is_adopted() -> None:
    decision = decide(manifest_of("results"), None, READ, holding("results", (50, 60)))
    assert decision.notes == ["results: its checkpoint was written before there were manifests, and is sound"]
    assert decision.manifest == manifest_of("results", batch=4)


@pytest.mark.parametrize(
    ("changes", "note"),
    [
        ({"clientscope_version": "0.2.0"}, "continues with clientscope 0.2.0, after 0.1.0"),
        ({"spark_version": "4.2.1"}, "continues with Spark 4.2.1, after 4.2.0"),
        ({"spark_version": "4.3.0"}, "continues with Spark 4.3.0, after 4.2.0"),
        ({"topics": topic(partitions=2)}, f"{CONFIGS} has 2 partitions now, 1 before"),
    ],
)
def test_an_allowed_change_is_said_and_written_down(changes: dict[str, Any], note: str) -> None:
    now = manifest_of("results", **changes)
    decision = decide(now, manifest_of("results"), READ, holding("results", (0, 60), (0, 5)))
    assert any(note in each for each in decision.notes), decision.notes
    assert decision.manifest == now.model_copy(update={"batch": 4})


@pytest.mark.usefixtures("stateful")
def test_shuffle_partitions_stay_what_the_checkpoint_began_with() -> None:
    now = manifest_of("results", shuffle_partitions=8)
    decision = decide(now, manifest_of("results"), READ, holding("results", (0, 60)))
    assert decision.manifest.shuffle_partitions == 1
    assert "continues with 1 shuffle partitions, which its checkpoint fixes; 8 would need a reset" in decision.notes[0]


@pytest.mark.parametrize(
    ("now", "before", "what", "hint"),
    [
        ({}, {"topics": {"other": SeenTopic(topic_id=None, partitions=1)}}, "is of other, and it is to read clientscope.configs", "reset"),
        (
            {},
            {"topics": topic(topic_id="another")},
            "was deleted and created again, or this is another cluster",
            "begin with the new topic",
        ),
        ({}, {"spark_version": "4.2.1"}, "written by Spark 4.2.1, which is newer than 4.2.0", "run Spark 4.2.1 or newer"),
        ({"spark_version": "5.0.0"}, {}, "no Spark 5 was tried on it", "run Spark 4"),
        ({}, {"record_versions": {"ClientConfigRecord": 1}}, "reads ClientConfigRecord version 1", "run clientscope 0.1.0 or newer"),
        ({}, {"query": "history_pushes"}, "is that of history_pushes", "put back what was moved"),
        ({}, {"state_version": 9}, "is that of results, version 9", "put back"),
        ({}, {"batch": 5}, "has gone back: batch 5 was done when the job last started, and now the last is 4", "restore a whole backup"),
    ],
)
def test_what_can_not_be_gone_on_with_is_refused(now: dict[str, Any], before: dict[str, Any], what: str, hint: str) -> None:
    with pytest.raises(Refused, match=what) as refused:
        written = manifest_of("results").model_copy(update=before)
        decide(manifest_of("results", **now), written, READ, holding("results", (0, 60)))
    assert hint in (refused.value.hint or "")


RECORD = "ClientConfigRecord"


@pytest.mark.parametrize(
    ("now", "before", "refused"),
    [
        ({RECORD: 0}, {RECORD: 0}, False),
        ({RECORD: 1}, {RECORD: 0}, False),
        ({RECORD: 0}, {RECORD: 1}, True),
        ({}, {RECORD: 0}, True),
        ({"Another": 0}, {RECORD: 0}, True),
        ({RECORD: 0}, {}, False),
        ({}, {}, False),
    ],
)
def test_refuses_checkpoint_of_records_that_the_job_no_longer_knows(now: dict[str, int], before: dict[str, int], refused: bool) -> None:
    written, extents = manifest_of("results", record_versions=before), holding("results", (0, 60))
    if refused:
        with pytest.raises(Refused, match=f"which reads {RECORD} version {before[RECORD]}; 0.1.0 would send such records"):
            decide(manifest_of("results", record_versions=now), written, READ, extents)
    else:
        assert decide(manifest_of("results", record_versions=now), written, READ, extents).manifest.record_versions == now


def test_a_topic_made_again_says_what_was_read_of_the_old_one() -> None:
    with pytest.raises(Refused, match="is lost: partition 0 from offset 50; the number of records is unknown"):
        decide(manifest_of("results", topics=topic(topic_id="another")), manifest_of("results"), READ, holding("results", (0, 60)))


def test_a_broker_without_topic_ids_is_taken_at_its_word() -> None:
    now = manifest_of("results", topics=topic(topic_id=None))
    assert decide(now, manifest_of("results"), READ, holding("results", (0, 60))).notes == []


@pytest.mark.parametrize(
    ("extents", "what"),
    [
        ([(53, 60)], "partition 0: offsets from 50 to 52, 3 records"),
        ([(0, 60), (4, 9)], "partition 1: offsets from 0 to 3, 4 records"),
        ([(53, 60), (4, 9)], "from 50 to 52, 3 records; clientscope.configs, partition 1: offsets from 0 to 3, 4 records"),
        ([], "partition 0: offsets from 50 on, their number is unknown"),
    ],
)
def test_lost_records_are_named_exactly(extents: list[tuple[int, int]], what: str) -> None:
    with pytest.raises(Refused, match="records are gone that results has not read") as refused:
        decide(manifest_of("results"), manifest_of("results"), READ, holding("results", *extents))
    assert what in str(refused.value)
    assert "clientscope checkpoints reset results --to-earliest" in (refused.value.hint or "")


def test_a_topic_that_ends_before_what_was_read_is_another_one() -> None:
    with pytest.raises(Refused, match="ends at 12, and 50 is where reading continues"):
        decide(manifest_of("results"), None, READ, holding("results", (0, 12)))


def test_an_offset_log_of_an_unknown_format_is_a_warning() -> None:
    files = SparkFiles(True, 5, 4, unknown=("offsets/4 is of Spark's format v2; this clientscope knows v1",))
    decision = decide(manifest_of("results"), manifest_of("results"), files, holding("results", (70, 80)))
    assert decision.notes == [
        "results: offsets/4 is of Spark's format v2; this clientscope knows v1; Spark continues by it, and records that are gone can't be"
        " noticed"
    ]


def test_damage_is_refused_with_the_way_back() -> None:
    with pytest.raises(Refused, match=r"the checkpoint of results is damaged: offsets/5 is damaged \(and 1 more") as refused:
        files = SparkFiles(True, 5, 4, {CONFIGS: {0: 50}}, problems=("offsets/5 is damaged", "more"))
        decide(manifest_of("results"), manifest_of("results"), files, holding("results", (0, 60)))
    assert """reset results --to-offsets '{"clientscope.configs": {"0": 50}}'""" in (refused.value.hint or "")


@pytest.mark.usefixtures("stateful")
def test_state_can_only_be_made_again_from_the_beginning() -> None:
    assert reset("results", READ) == "clientscope checkpoints reset results --to-earliest"
