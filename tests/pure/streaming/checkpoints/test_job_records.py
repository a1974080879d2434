"""Records of clientscope.job: the newest of each key counts, and what can't be read is left out."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from job_topics import TopicInMemory, first, progress
from kafka import TopicPartition

from clientscope.kafka.reader import OffsetRange
from clientscope.model.codec import encode_whole
from clientscope.model.topics import CONFIGS
from streaming import clients_seen
from streaming.checkpoints.job_records import JobOwner, JobState, SkippedRecord, await_read, new_start
from streaming.findings.retention import DAY_MS

ID = {CONFIGS: "id"}
OWNER = JobOwner(run="1", process="clientscope stream, process 7 on host", started_ms=1, running=True)


def test_a_position_is_of_the_present_checkpoint() -> None:
    topic = TopicInMemory()
    assert topic.state.position("live") == {}
    start = new_start("live", ID, first(CONFIGS, 5), "it was reset", first(CONFIGS, 2))
    topic.write(start)
    assert topic.state.position("live") == first(CONFIGS, 5)
    topic.write(progress(start, first(CONFIGS, 9)))
    assert topic.state.position("live") == first(CONFIGS, 9)
    topic.write(new_start("live", ID, {}, "it was reset"))
    assert topic.state.position("live") == {}, "the progress is of another checkpoint"
    assert topic.state.lost() == {}, "a reset begins to count anew"


def test_f25_what_another_version_wrote_is_taken_as_far_as_it_is_known(caplog: pytest.LogCaptureFixture) -> None:
    state = JobState()
    place = SkippedRecord(topic=CONFIGS, partition=0, offset=7, timestamp_ms=1)
    later = json.dumps({**json.loads(encode_whole(OWNER)), "field_of_a_later_release": {"x": [1]}, "process": "a\x1b]0;b\u202e"}).encode()
    state.take({
        OWNER.key: later, place.key: encode_whole(place),
        '["kind-of-a-later-release"]': b"{}",
        "[" * 100_000: b"{}", '["start","live"]': b"{", "no key": b"{}", "[]": b"{}", "5": b"{}", '["owner","x"]': None,
    })  # fmt: skip
    assert (state.owner, state.all(SkippedRecord), state.starts) == (replace(OWNER, process="a\ufffd]0;b\ufffd"), [place], {})
    assert len([line for line in caplog.messages if "can't be read" in line]) == 6
    state.take({OWNER.key: None, place.key: None})
    assert state == JobState(), "a tombstone takes a record away"


def test_clients_seen_are_the_same_for_the_next_process() -> None:
    now_ms = 100 * DAY_MS
    topic = TopicInMemory()
    assert clients_seen.noted(topic.state, now_ms).seen.floor_ms == now_ms, "nothing ends early where nothing was noted"
    times = {f"client-{number}": now_ms - number for number in range(1000)}
    topic.write(*clients_seen.records(times, now_ms))
    noted = clients_seen.noted(topic.state, now_ms + DAY_MS)
    assert (noted.seen.times, noted.seen.floor_ms, noted.since_ms) == (times, 0, now_ms)
    topic.write(*clients_seen.records({}, now_ms + DAY_MS))
    assert clients_seen.noted(topic.state, now_ms + DAY_MS).seen.times == {}, "clients that are gone are not noted for ever"
    late = clients_seen.noted(topic.state, now_ms + 20 * DAY_MS)
    assert late.seen.floor_ms == late.since_ms == now_ms + 13 * DAY_MS, "connections of a week can be read, earlier ones can't"


def test_waiting_ends_with_what_is_read_with_the_job_and_with_patience() -> None:
    topic, said = TopicInMemory(), list[str]()
    extents = {"live": {TopicPartition(CONFIGS, 0): OffsetRange(3, 10), TopicPartition(CONFIGS, 1): OffsetRange(0, 0)}}
    assert await_read(topic.read, extents, said.append) == "live has 7 records still to read, and no job runs"
    start = new_start("live", ID, {}, "it had never run")
    topic.write(start, OWNER, progress(start, first(CONFIGS, 9)))
    assert await_read(topic.read, extents, said.append, patience_s=0.0) == "live has 1 record still to read, and has read nothing for 0 s"
    assert said == ["live has 1 record still to read"]
    topic.write(progress(start, first(CONFIGS, 10)))
    assert await_read(topic.read, extents, said.append) == ""


@pytest.mark.parametrize(
    "wrong",
    [
        {"checkpoint": "../../etc"},
        {"checkpoint": ""},
        {"offsets": {CONFIGS: {"0": -1}}},
        {"offsets": {CONFIGS: {"0": 2**63}}},
        {"offsets": {CONFIGS: {"-1": 1}}},
        {"at_ms": 10**30},
    ],
)
def test_a_start_that_no_job_writes_is_left_out(wrong: dict[str, object]) -> None:
    state, start = JobState(), new_start("live", ID, first(CONFIGS, 1), "it was reset")
    state.take({start.key: json.dumps(json.loads(encode_whole(start)) | wrong).encode()})
    assert state.starts == {}
