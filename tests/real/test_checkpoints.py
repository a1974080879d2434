"""F23, F24, F25: one job at a time, and its queries begin where they were, or anew, and say so."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import kafka
import pytest
from conftest import RunningBroker
from deltalake import DeltaTable
from forked import clientscope
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.errors import PolicyViolationError
from observe import java_below, page, read_all, told_findings, write
from outcome import Input, rows
from patience import eventually, until
from stream_job import StreamJob

from clientscope import topics
from clientscope.errors import EnvironmentProblem
from clientscope.local.process import free_port
from clientscope.model.codec import encode_whole
from clientscope.model.topics import CONFIGS, CONNECTIONS, RESULTS
from streaming.checkpoints.job_topic import read_job

pytestmark = pytest.mark.faults

SEED = 23


class Rig(StreamJob):
    """A broker, and jobs over it that run or not."""

    def results(self) -> list[str]:
        return [json.loads(message.value)["client_id"] for message in read_all(self.servers, RESULTS)]

    def lost(self) -> dict[tuple[str, ...], float]:
        return self.counted("clientscope_stream_lost_records")

    def in_history(self) -> list[str]:
        """The clients whose pushes it has; a topic that is made again has the same offsets again."""
        found: list[str] = DeltaTable(f"{self.history}/pushes").to_pyarrow_table(columns=["client_id"])["client_id"].to_pylist()
        return found

    def run(self, *words: str) -> tuple[int, str]:
        done = clientscope(*words, "--bootstrap-servers", self.servers)
        return done.returncode, done.stdout + done.stderr

    def has_read(self, query: str, *ends: int) -> bool:
        """Whether the job has said so, of clients' configurations."""
        position = read_job(self.servers).position(query)
        return {place.partition: offset for place, offset in position.items() if place.topic == CONFIGS} == dict(enumerate(ends))

    def reads(self, client_id: str) -> None:
        """A push, as the topic's only record, and stops once all has been read."""
        with self.running("first"):
            self.push(client_id)
            for query in ("live", "history_pushes"):
                until(lambda query=query: self.has_read(query, 1))  # type: ignore[misc]

    def expire(self, before: int) -> None:
        """Takes away the records before an offset of partition 0 of the pushes' topic, as retention would, did it have any."""
        with kafka.KafkaAdminClient(bootstrap_servers=self.servers) as admin:
            self._set_policy(admin, "compact,delete")
            # A broker follows the controller's log, so its own log may still be compacted alone for a moment after it said that it isn't.
            until(lambda: self._deleted(admin, before))
            self._set_policy(admin, "compact")

    @staticmethod
    def _deleted(admin: kafka.KafkaAdminClient, before: int) -> bool:
        try:
            admin.delete_records({kafka.TopicPartition(CONFIGS, 0): before})
        except PolicyViolationError:
            return False
        return True

    @staticmethod
    def _set_policy(admin: kafka.KafkaAdminClient, policy: str) -> None:
        topic = ConfigResource(ConfigResourceType.TOPIC, CONFIGS, {"cleanup.policy": policy})
        admin.alter_configs([topic])
        until(lambda: admin.describe_configs([topic])["topic"][CONFIGS]["cleanup.policy"]["value"], policy)

    def make_topic_again(self, partitions: int = 1) -> None:
        with kafka.KafkaAdminClient(bootstrap_servers=self.servers) as admin:
            admin.delete_topics([CONFIGS])
            until(lambda: CONFIGS not in admin.list_topics())
        topics.create(self.servers, partitions=partitions)


@pytest.fixture
def rig(own: RunningBroker, tmp_path: Path) -> Iterator[Rig]:
    rig = Rig(own.internal, tmp_path, "--quality", "off", checkpoints=tmp_path / "check points")  # Hadoop decodes no %20
    yield rig
    rig.processes.stop()


def ended(rig: Rig, name: str) -> int:
    """The status with which a job has ended by itself."""
    with pytest.raises(EnvironmentProblem, match=rf"{name} ended with status (\d+)") as caught:
        assert not eventually(lambda: rig.processes.check(name))
    return int(str(caught.value).partition("status ")[2].split()[0].rstrip(":;,."))


def test_a_newer_job_replaces_the_older_one_which_stops_all_its_queries(rig: Rig) -> None:
    written = Input(rig.servers, SEED)
    written.write(100)
    rig.start("first")
    rig.ready("first")
    rig.comes_out()
    rig.page = f"http://127.0.0.1:{free_port()}/"
    rig.start("second")
    rig.ready("second")
    assert ended(rig, "first") == 0, "a service manager doesn't start it again"
    assert f"replaced by clientscope stream, process {rig.processes.pid('second')} on " in rig.log("first")
    assert "Traceback" not in rig.log("first"), rig.log("first")
    assert "takes over from clientscope stream, process" in rig.log("second")
    written.write(50)
    rig.comes_out()

    # One that stands still while it is replaced finds out as soon as it goes on.
    second = rig.processes.pid("second")
    os.kill(second, signal.SIGSTOP)
    try:
        rig.page = f"http://127.0.0.1:{free_port()}/"
        rig.start("third")
        rig.ready("third")
    finally:
        os.kill(second, signal.SIGCONT)
    assert ended(rig, "second") == 0
    assert f"replaced by clientscope stream, process {rig.processes.pid('third')} on " in rig.log("second")
    written.write(50)
    rig.comes_out()
    status, said = rig.run("checkpoints", "list")
    assert (status, f"run by clientscope stream, process {rig.processes.pid('third')} on " in said) == (0, True), said


def test_f23_a_start_needs_nothing_of_what_spark_has_noted(rig: Rig, tmp_path: Path) -> None:
    rig.start()
    rig.ready()
    rig.push("a", "b")
    for query in ("live", "history_pushes"):
        until(lambda query=query: rig.has_read(query, 2))  # type: ignore[misc]
    rig.kill()
    shutil.rmtree(rig.checkpoints)
    rig.push("c")
    with rig.running("second"):
        until(rig.results, ["a", "b", "c"])
        until(lambda: sorted(rig.in_history()), ["a", "b", "c"])
        (run,) = Path(rig.checkpoints).iterdir()
    assert not run.exists() and [each.name for each in tmp_path.iterdir() if "check" in each.name] == ["check points"]


def test_f24_records_that_expired_unread_are_counted_and_passed_over(rig: Rig) -> None:
    rig.reads("read")
    rig.push("expired-1", "expired-2", "kept")
    rig.expire(before=3)
    with rig.running("second"):
        until(rig.results, ["read", "kept"])
        both = {("0", query, CONFIGS): 2.0 for query in ("live", "history_pushes")}
        until(rig.lost, both)
        until(lambda: {(CONFIGS, 0, 0), (CONFIGS, 0, 3)} == rows(rig.history, "pushes").keys())
        until(lambda: len(told_findings(rig.servers, "OP006")), 2)
        for state, message in told_findings(rig.servers, "OP006"):
            assert (state, " skipped 2 records of " in message) == ("open", True)

        jvm = java_below(rig.processes.pid("second"))  # Spark stands still while records come and go
        os.kill(jvm, signal.SIGSTOP)
        try:
            rig.push("unseen-1", "unseen-2", "unseen-3")
            rig.expire(before=7)
        finally:
            os.kill(jvm, signal.SIGCONT)
        rig.push("last")
        until(lambda: rig.results()[-1], "last")
        until(rig.lost, dict.fromkeys(both, 5.0))
        assert not [each for each in rig.results() if each.startswith(("unseen", "expired"))]
        until(lambda: (CONFIGS, 0, 7) in rows(rig.history, "pushes"))


def test_f24_a_topic_that_was_made_again_is_read_from_its_beginning(rig: Rig) -> None:
    rig.reads("old")
    rig.make_topic_again()
    rig.push("new-0", "new-1", "new-2")  # so many that offsets alone would show nothing
    with rig.running("second"):
        until(rig.results, ["old", "new-0", "new-1", "new-2"])
        assert f"{CONFIGS} was deleted and made again; of the old one partition 0 from offset 1" in rig.log("second")
        until(lambda: len(rig.in_history()), 4)
        rig.make_topic_again(partitions=2)  # under a job that runs
        newest = [f"newest-{number}" for number in range(8)]
        rig.push(*newest[:6], partition=0)  # so soon, and so many, that history reads some from the old offset on
        rig.push(*newest[6:], partition=1)
        until(lambda: set(newest) <= set(rig.results()))
        until(lambda: page(f"{rig.page}readyz")[0], 200)
        pushed = ["old", "new-0", "new-1", "new-2", *newest]
        until(lambda: sorted(rig.in_history()), sorted(pushed))


def test_a_reset_is_taken_by_a_job_that_runs_and_partitions_that_were_added_are_read(rig: Rig) -> None:
    with rig.running("first"):
        rig.push("a", "b")
        until(lambda: rig.has_read("live", 2))
        with kafka.KafkaAdminClient(bootstrap_servers=rig.servers) as admin:
            admin.create_partitions({CONFIGS: 2})
        time.sleep(0.01)
        when = datetime.now(UTC).isoformat()
        time.sleep(0.01)
        rig.push("c", partition=1)
        until(rig.results, ["a", "b", "c"])

        assert rig.run("checkpoints", "reset", "live", "--to-time", when)[1].startswith(
            f"live begins anew at offset 2 of {CONFIGS}/0, offset 0 of {CONFIGS}/1, offset 0 of {CONNECTIONS}/0: within seconds"
        )
        until(rig.results, ["a", "b", "c", "c"])
    status, said = rig.run("checkpoints", "list", "-o", "csv")
    assert (status, said.count(f",{CONFIGS},0,2,0,"), said.count(f",{CONFIGS},1,1,0,")) == (0, 2, 2), said


def test_f25_a_job_of_other_versions_continues(rig: Rig) -> None:
    """What an earlier release left lacks a field, or has one more; Spark's own files are the same in all releases (`test_sparks`)."""
    rig.reads("a")
    state = read_job(rig.servers)
    start = json.loads(encode_whole(state.starts["live"]))
    del start["lost"]
    progress = json.loads(encode_whole(state.progress["live"])) | {"clientscope_version": "9.9", "of_a_later_release": [1]}
    values = {state.starts["live"].key: start, state.progress["live"].key: progress, '["later"]': {}}
    write(rig.servers, "clientscope.job", *((key.encode(), json.dumps(value).encode()) for key, value in values.items()))
    with rig.running("second"):
        rig.push("b")
        until(rig.results, ["a", "b"])
        assert 'a record of clientscope.job with the key ["later"] can\'t be read' in rig.log("second")
