"""F47: a query whose records are gone continues without them, and says exactly which; nothing of that is lost by a crash."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pyarrow
import pytest
from bucket import bucket
from deltalake import CommitProperties, Transaction, write_deltalake
from made_checkpoints import TOPIC_ID, holding, made, manifest_of, put

from clientscope.stores import trees
from clientscope.stores.object_store import ObjectStore
from clientscope.stores.store_path import StorePath, any_path
from streaming.checkpoints import broker, manifest, skip
from streaming.checkpoints.at_start import Checkpoints
from streaming.checkpoints.broker import TopicsNow
from streaming.checkpoints.compare import RecordsLost
from streaming.checkpoints.manifest import Refused, SeenTopic
from streaming.checkpoints.plans import PLANS, folder
from streaming.checkpoints.start_file import starting_offsets
from streaming.checkpoints.verify import verify
from streaming.internals import spark_files

CONFIGS = "clientscope.configs"
SECOND_START = {CONFIGS: {"0": 53}}


class Kafka:
    """A broker's answers, and the records that a query continued without."""

    def __init__(self) -> None:
        self.skipped: list[tuple[str, str]] = []
        self.holds((0, 60))

    def holds(self, *extents: tuple[int, int]) -> None:
        seen = {plan.topic: SeenTopic(topic_id=TOPIC_ID, partitions=len(extents)) for plan in PLANS.values()}
        self.said = TopicsNow(
            seen, {**holding("gauges", (0, 60)), **holding("history_client_facts", (0, 60)), **holding("results", *extents)}
        )


@pytest.fixture
def kafka(monkeypatch: pytest.MonkeyPatch) -> Iterator[Kafka]:
    kafka = Kafka()
    monkeypatch.setattr(broker, "ask", lambda _, names: kafka.said)
    yield kafka


@pytest.fixture
def checkpoints(tmp_path: Path, kafka: Kafka) -> Checkpoints:
    """Of all queries, each after 50 records."""
    for query in PLANS:
        manifest.write(made(folder(tmp_path, query), query), manifest_of(query, batch=4))
    return Checkpoints(
        tmp_path, tmp_path / "history", "broker:1", "4.2.0", 1, "skip",
        lambda query, gone: kafka.skipped.append((query, "; ".join(str(each) for each in gone))),
    )  # fmt: skip


def begins(checkpoints: Checkpoints, query: str) -> object:
    said = starting_offsets(checkpoints.checkpoint_dir, query)
    return said if said == "earliest" else json.loads(said)


def test_at_the_jobs_start_they_continue_and_the_gap_is_counted_and_said(checkpoints: Checkpoints, kafka: Kafka) -> None:
    kafka.holds((53, 60))
    with checkpoints.held() as held:
        assert held.lost() == {("results", CONFIGS, 0): 3, ("history_pushes", CONFIGS, 0): 3}
    gap = f"{CONFIGS}, partition 0: offsets from 50 to 52, 3 records"
    assert kafka.skipped == [("results", gap), ("history_pushes", gap)]
    assert begins(checkpoints, "results") == begins(checkpoints, "history_pushes") == SECOND_START
    assert begins(checkpoints, "gauges") == "earliest", "which means nothing: it has its checkpoint"
    assert spark_files.begun(folder(checkpoints.checkpoint_dir, "gauges"))
    with checkpoints.held() as held:
        assert held.lost() == {("results", CONFIGS, 0): 3, ("history_pushes", CONFIGS, 0): 3}
    assert len(kafka.skipped) == 2, "once"
    assert verify(checkpoints.checkpoint_dir) == []


def test_a_job_that_is_to_stop_does(checkpoints: Checkpoints, kafka: Kafka) -> None:
    kafka.holds((53, 60))
    stops = Checkpoints(checkpoints.checkpoint_dir, checkpoints.history_dir, "broker:1", "4.2.0", 1, "stop")
    with pytest.raises(RecordsLost, match="offsets from 50 to 52, 3 records") as refused, stops.held():
        pass
    assert "--on-lost-records skip" in (refused.value.hint or "")
    with pytest.raises(RecordsLost):
        stops.prepare("results")
    assert spark_files.read(folder(checkpoints.checkpoint_dir, "results")).committed == 4


def test_one_query_that_failed_continues_alone_and_counts_on(checkpoints: Checkpoints, kafka: Kafka) -> None:
    checkpoint = folder(checkpoints.checkpoint_dir, "results")
    checkpoints.prepare("results")
    assert spark_files.begun(checkpoint), "nothing is gone"
    kafka.holds((53, 60))
    checkpoints.prepare("results")
    assert begins(checkpoints, "results") == SECOND_START
    assert checkpoints.lost() == {("results", CONFIGS, 0): 3}
    shutil.copytree(checkpoint.with_name(f"{checkpoint.name}.skipped") / "offsets", checkpoint / "offsets")
    made(checkpoint, "results", committed=5)
    kafka.holds((70, 80))
    checkpoints.prepare("results")
    assert begins(checkpoints, "results") == {CONFIGS: {"0": 70}}
    assert checkpoints.lost() == {("results", CONFIGS, 0): 13}
    assert manifest.read(checkpoint).lost == {CONFIGS: {"0": [(50, 53), (60, 70)]}}  # type: ignore[union-attr]
    assert sorted(path.name for path in checkpoint.parent.iterdir()) == ["v1", "v1.skipped"], "one copy, not one of each time"
    assert [query for query, _ in kafka.skipped] == ["results", "results"]


def test_other_partitions_are_where_they_were(checkpoints: Checkpoints, kafka: Kafka) -> None:
    kafka.holds((0, 60), (4, 9), (0, 5))
    checkpoints.prepare("results")
    assert begins(checkpoints, "results") == {CONFIGS: {"0": 50, "1": 4, "2": 0}}
    assert checkpoints.lost() == {("results", CONFIGS, 1): 4}


def test_what_goes_while_spark_starts_is_counted_too(checkpoints: Checkpoints, kafka: Kafka) -> None:
    """Spark has written its metadata, and failed before it knew where to begin."""
    kafka.holds((53, 60))
    checkpoints.prepare("results")
    put(folder(checkpoints.checkpoint_dir, "results") / "metadata", json.dumps({"id": "48859602-d4f8-43f5-a89a-7e831e07c9fb"}))
    assert begins(checkpoints, "results") == SECOND_START, "not the beginning, of which it has read most"
    kafka.holds((55, 60))
    checkpoints.prepare("results")
    assert begins(checkpoints, "results") == {CONFIGS: {"0": 55}}
    assert checkpoints.lost() == {("results", CONFIGS, 0): 5}
    assert [gap.rpartition(": ")[2] for _, gap in kafka.skipped] == ["offsets from 50 to 52, 3 records", "offsets from 50 to 54, 5 records"]
    checkpoints.prepare("results")
    assert len(kafka.skipped) == 2, "nothing new"


def test_a_batch_that_its_table_holds_is_neither_lost_nor_read_again(checkpoints: Checkpoints, kafka: Kafka) -> None:
    """It was appended, and the job failed before it was committed."""
    checkpoint = made(folder(checkpoints.checkpoint_dir, "history_pushes"), "history_pushes", committed=4, planned=5)
    query_id = json.loads((checkpoint / "metadata").read_text())["id"]
    written = CommitProperties(app_transactions=[Transaction(query_id, 5)])
    write_deltalake(str(checkpoints.history_dir / "pushes"), pyarrow.table({"offset": [1]}), commit_properties=written)
    kafka.holds((63, 70))
    checkpoints.prepare("history_pushes")
    assert checkpoints.lost() == {("history_pushes", CONFIGS, 0): 3}
    kafka.holds((55, 70))
    shutil.rmtree(checkpoint)
    manifest.write(made(checkpoint, "history_pushes", committed=4, planned=5), manifest_of("history_pushes", batch=4))
    kafka.skipped.clear()
    checkpoints.prepare("history_pushes")
    assert begins(checkpoints, "history_pushes") == {CONFIGS: {"0": 60}}
    assert (checkpoints.lost(), kafka.skipped) == ({}, [])


@pytest.mark.parametrize("extents", [(), ((0, 12),)])
def test_a_topic_that_is_another_is_not_skipped(checkpoints: Checkpoints, kafka: Kafka, extents: tuple[tuple[int, int], ...]) -> None:
    """A partition that is missing, or one that ends before what was read: nobody knows what is lost."""
    known = {plan.topic: SeenTopic(topic_id=TOPIC_ID, partitions=1) for plan in PLANS.values()}
    kafka.said = TopicsNow(known, holding("results", *extents))
    with pytest.raises(Refused):
        checkpoints.prepare("results")
    assert spark_files.read(folder(checkpoints.checkpoint_dir, "results")).committed == 4


@pytest.mark.parametrize("renames", [0, 1])
def test_a_crash_leaves_the_old_checkpoint_or_the_new_one(
    checkpoints: Checkpoints, kafka: Kafka, monkeypatch: pytest.MonkeyPatch, renames: int
) -> None:
    kafka.holds((53, 60))
    rename, left = Path.rename, [renames]

    def crash(path: Path, target: Path) -> Path:
        if path.parent.name == "results":
            left[0] -= 1
            if left[0] < 0:
                raise KeyboardInterrupt
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", crash)
    with pytest.raises(KeyboardInterrupt):
        checkpoints.prepare("results")
    monkeypatch.setattr(Path, "rename", rename)
    with checkpoints.held() as held:
        assert held.lost()["results", CONFIGS, 0] == 3
    assert begins(checkpoints, "results") == SECOND_START


class _Cut:
    """A store whose process is killed at one of its writes, or half way through a removal."""

    def __init__(self, store: ObjectStore, left: int) -> None:
        self._store, self.left = store, left

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)

    def _count(self) -> bool:
        self.left -= 1
        return self.left < 0

    def write(self, key: str, content: bytes) -> None:
        if self._count():
            raise KeyboardInterrupt
        self._store.write(key, content)

    def delete(self, key: str) -> None:
        if self._count():
            there = sorted(entry.name for entry in self._store.tree(key))
            for name in there[: len(there) // 2]:
                self._store.delete(f"{key}/{name}")
            raise KeyboardInterrupt
        self._store.delete(key)


def test_in_a_bucket_too(tmp_path: Path, kafka: Kafka, monkeypatch: pytest.MonkeyPatch) -> None:
    """There a folder is moved file by file: whatever was done of it, the next start has the old checkpoint or the new one."""
    made(folder(tmp_path, "results"), "results", committed=1)
    for sums in tmp_path.rglob(".*.crc"):
        sums.unlink()
    manifest.write(folder(tmp_path, "results"), manifest_of("results", batch=1))
    kafka.holds((23, 60))
    cut, ended = -1, False
    with bucket() as (address, variables):
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        store = ObjectStore(address)
        while not ended:
            cut += 1
            top = any_path(f"{address}/{cut}")
            trees.copy(tmp_path, top)
            checkpoints = Checkpoints(top, tmp_path / "history", "broker:1", "4.2.0", 1, "skip")
            with monkeypatch.context() as killed:
                killed.setattr(StorePath, "store", _Cut(store, cut))
                try:
                    checkpoints.prepare("results")
                    ended = True
                except KeyboardInterrupt:
                    pass
            checkpoints.prepare("results")
            assert checkpoints.lost("results") == {("results", CONFIGS, 0): 3}, cut
            assert begins(checkpoints, "results") == {CONFIGS: {"0": 23}}
            assert verify(top) == []
            there = {path.name for path in (top / "results").iterdir()}
            assert there - {"v1.next"} == {"v1", "v1.skipped"}, "what is left of the new one goes the next time"
            assert spark_files.read(top / "results" / "v1.skipped").committed == 1, "the one before is whole"
    assert cut > 12, "each of its steps"


def test_ranges_without_end_stay_few_and_keep_their_sum() -> None:
    lost: skip.Ranges = {}
    for number in range(3 * skip.MOST_RANGES):
        lost = skip.added(lost, [(CONFIGS, 0, 10 * number, 10 * number + 3)])
    ranges = lost[CONFIGS]["0"]
    assert len(ranges) == skip.MOST_RANGES
    assert sum(end - begin for begin, end in ranges) == 3 * 3 * skip.MOST_RANGES
    assert skip.added(lost, [(CONFIGS, 0, *ranges[-1])]) == lost, "the same again is no other gap"
