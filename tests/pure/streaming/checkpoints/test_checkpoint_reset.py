"""Safety of checkpoints: manifests, the lock, the start file, backups, and moving aside."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import golden_checkpoint
import pyarrow
import pytest
from deltalake import CommitProperties, Transaction, write_deltalake
from made_checkpoints import TOPIC_ID, holding, made, manifest_of

from clientscope import cli
from clientscope.records.topics import TELEMETRY
from streaming.checkpoints import at_start, broker, manifest, start_file
from streaming.checkpoints.at_start import Checkpoints
from streaming.checkpoints.broker import TopicsNow
from streaming.checkpoints.manifest import Manifest, Refused, SeenTopic
from streaming.checkpoints.plans import PLANS, folder, versions
from streaming.checkpoints.reset import aside, reset
from streaming.checkpoints.start_file import StartOffsets, starting_offsets
from streaming.checkpoints.verify import verify

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
CONFIGS = "clientscope.configs"


@pytest.fixture
def checkpoints(tmp_path: Path) -> Path:
    """Of all queries, each with its manifest."""
    for query in PLANS:
        manifest.write(made(folder(tmp_path, query), query), manifest_of(query, batch=4))
    return tmp_path


@pytest.fixture
def topics_now(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, TopicsNow]]:
    """What a broker says: each topic's one partition holds offsets 0 to 59, unless the test says otherwise."""
    seen = {plan.topic: SeenTopic(topic_id=TOPIC_ID, partitions=1) for plan in PLANS.values()}
    said = {"": TopicsNow(seen, {**holding("results", (0, 60)), **holding("gauges", (0, 60)), **holding("history_client_facts", (0, 60))})}
    monkeypatch.setattr(broker, "ask", lambda kafka, names: said[""])
    yield said


def run(checkpoint_dir: Path) -> Checkpoints:
    return Checkpoints(checkpoint_dir, checkpoint_dir / "history", "broker:1", "4.2.0", 1)


def test_every_golden_checkpoint_is_whole(tmp_path: Path) -> None:
    assert golden_checkpoint.GOLDEN
    for packed in golden_checkpoint.GOLDEN:
        golden_checkpoint.unpack(packed, tmp_path / packed.name)
        assert verify(tmp_path / packed.name) == []
        assert packed.stat().st_size < 200_000


def test_a_manifest_is_read_as_it_was_written(tmp_path: Path) -> None:
    written = manifest_of("results", batch=3, lost={CONFIGS: {"0": [(2, 5)]}})
    manifest.write(tmp_path, written)
    assert manifest.read(tmp_path) == written
    assert [path.name for path in tmp_path.iterdir()] == [manifest.FILE]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "is damaged"),
        ('{"format": 1', "is damaged"),
        ("[]", "is damaged"),
        (b"\xff\xfe", "is damaged"),
        ('{"format": 2, "new": true}', "is a newer clientscope's .format 2"),
        (manifest_of("results").model_dump_json().replace('"state_version":1', '"state_version":"1"'), "is damaged: state_version"),
        (manifest_of("results").model_dump_json().replace('"query"', '"quarry"'), "is damaged: query"),
    ],
)
def test_a_damaged_manifest_is_refused_and_verified(checkpoints: Path, topics_now: object, text: str | bytes, what: str) -> None:
    path = folder(checkpoints, "results") / manifest.FILE
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(Refused, match=what), run(checkpoints).held():
        pass
    assert [problem.query for problem in verify(checkpoints)] == ["results"]


def test_continuing_writes_the_manifest_of_the_version_that_continues(checkpoints: Path, topics_now: object) -> None:
    with Checkpoints(checkpoints, checkpoints / "history", "broker:1", "4.2.1", 8).held():
        pass
    written = manifest.read(folder(checkpoints, "gauges"))
    assert written is not None
    assert (written.spark_version, written.shuffle_partitions, written.batch) == ("4.2.1", 1, 4)


def test_the_checkpoint_of_a_query_that_the_job_does_not_run_is_not_looked_at(
    checkpoints: Path, topics_now: dict[str, TopicsNow], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(broker, "Asking", lambda kafka, names: lambda: topics_now[""])
    gone = topics_now[""].extents.pop("clientscope.telemetry")
    assert gone
    queries = [query for query in PLANS if query != "history_client_facts"]
    with Checkpoints(checkpoints, checkpoints / "history", "broker:1", "4.2.0", 1, queries=queries).held() as held:
        watch = held.watch(lambda query, why: pytest.fail(f"{query}: {why}"), lambda: None)
        watch.look()
        assert watch.away == ""
        assert held.lost() == {}


def test_one_that_is_refused_keeps_all_as_they_were(checkpoints: Path, topics_now: object) -> None:
    (folder(checkpoints, "history_connections") / "metadata").unlink()
    with pytest.raises(Refused), Checkpoints(checkpoints, checkpoints / "history", "broker:1", "4.2.1", 1).held():
        pass
    written = manifest.read(folder(checkpoints, "gauges"))
    assert written is not None
    assert written.spark_version == "4.2.0"


def test_a_newer_version_of_the_state_is_refused_until_it_is_moved_aside(checkpoints: Path, topics_now: object) -> None:
    newer = folder(checkpoints, "gauges").with_name("v9")
    made(newer, "gauges")
    with pytest.raises(Refused, match="gauges has a checkpoint of version 9") as refused, run(checkpoints).held():
        pass
    assert "run the newer clientscope again" in (refused.value.hint or "")
    assert len(verify(checkpoints)) == 1
    reset(checkpoints, "gauges", None, NOW)
    assert verify(checkpoints) == []
    with run(checkpoints).held():
        pass


def test_an_older_version_stays_and_is_not_read(
    checkpoints: Path, topics_now: object, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = PLANS["results"].version
    monkeypatch.setitem(PLANS, "results", replace(PLANS["results"], version=old + 1))
    with run(checkpoints).held():
        pass
    assert f"results: begins anew with version {old + 1} of its checkpoint; version {old} isn't read any more, and stays" in caplog.text
    assert sorted(versions(checkpoints, "results")) == [old, old + 1]


def test_a_reset_moves_aside_and_says_where_to_begin(checkpoints: Path) -> None:
    kept = sorted(path.name for path in folder(checkpoints, "results").rglob("*"))
    (moved,) = reset(checkpoints, "results", {CONFIGS: {0: 12}}, NOW)
    assert moved.name == f"{PLANS['results'].folder}.before-20260102T030405Z"
    assert sorted(path.name for path in moved.rglob("*")) == kept
    assert aside(checkpoints, "results") == [moved]
    assert json.loads(starting_offsets(checkpoints, "results")) == {CONFIGS: {"0": 12}}
    reset(checkpoints, "results", None, NOW)
    assert len(aside(checkpoints, "results")) == 2
    assert starting_offsets(checkpoints, "results") == "earliest"
    assert starting_offsets(checkpoints, "history_pushes") == "earliest"


def test_a_second_reset_before_a_start_still_knows_where_the_query_was(checkpoints: Path) -> None:
    reset(checkpoints, "results", {CONFIGS: {0: 55}}, NOW)
    reset(checkpoints, "results", {CONFIGS: {0: 57}}, NOW)
    start = start_file.read(folder(checkpoints, "results"))
    assert start is not None
    assert start.position == {CONFIGS: {0: 50}}


def test_what_a_reset_passes_over_is_counted_until_the_next_one(checkpoints: Path, topics_now: dict[str, TopicsNow]) -> None:
    reset(checkpoints, "results", {CONFIGS: {0: 57}}, NOW)
    with run(checkpoints).held() as held:
        assert held.lost() == {("results", CONFIGS, 0): 7}
    made(folder(checkpoints, "results"), "results", committed=5)
    assert starting_offsets(checkpoints, "results") == "earliest"  # Spark has its own now, and isn't asked again
    with run(checkpoints).held() as held:
        assert held.lost() == {("results", CONFIGS, 0): 7}


def test_from_the_beginning_passes_over_what_expired(checkpoints: Path, topics_now: dict[str, TopicsNow]) -> None:
    topics_now[""] = TopicsNow(topics_now[""].topics, {**topics_now[""].extents, **holding("results", (53, 60))})
    reset(checkpoints, "history_pushes", None, NOW)
    reset(checkpoints, "results", None, NOW)
    with run(checkpoints).held() as held:
        assert held.lost() == {("results", CONFIGS, 0): 3, ("history_pushes", CONFIGS, 0): 3}


def test_a_start_where_nothing_is_any_more_is_refused(checkpoints: Path, topics_now: dict[str, TopicsNow]) -> None:
    topics_now[""] = TopicsNow(topics_now[""].topics, {**topics_now[""].extents, **holding("results", (53, 60))})
    reset(checkpoints, "history_pushes", None, NOW)
    reset(checkpoints, "results", {CONFIGS: {0: 51}}, NOW)
    with pytest.raises(Refused, match=r"results is to begin at offset 51 of clientscope\.configs, partition 0, which holds 53 to 59"):
        run(checkpoints).held().__enter__()


def test_partitions_added_after_a_reset_begin_at_their_beginning(checkpoints: Path, topics_now: dict[str, TopicsNow]) -> None:
    reset(checkpoints, "results", {CONFIGS: {0: 55}}, NOW)
    more = {**topics_now[""].topics, CONFIGS: SeenTopic(topic_id=TOPIC_ID, partitions=2)}
    topics_now[""] = TopicsNow(more, {**topics_now[""].extents, **holding("results", (0, 60), (0, 3))})
    with run(checkpoints).held():
        assert json.loads(starting_offsets(checkpoints, "results")) == {CONFIGS: {"0": 55, "1": -2}}


def test_a_damaged_start_file_is_refused(checkpoints: Path, topics_now: object) -> None:
    reset(checkpoints, "results", None, NOW)
    (folder(checkpoints, "results") / start_file.FILE).write_text("{}")
    with pytest.raises(Refused, match=r"clientscope-start\.json is damaged"), run(checkpoints).held():
        pass
    assert [problem.query for problem in verify(checkpoints)] == ["results"]


def test_a_checkpoint_that_is_older_than_its_table_is_refused(checkpoints: Path, topics_now: object) -> None:
    """As one from a backup is: its next batches would be passed over."""
    query_id = json.loads((folder(checkpoints, "history_pushes") / "metadata").read_text())["id"]
    table = checkpoints / "history" / "pushes"
    rows = pyarrow.table({"offset": [1]})
    for batch in (4, 5):
        written = CommitProperties(app_transactions=[Transaction(query_id, batch)])
        write_deltalake(str(table), rows, mode="append", commit_properties=written)
        if batch == 4:
            with run(checkpoints).held():
                pass
    with pytest.raises(Refused, match="has batch 5, the checkpoint 4") as refused, run(checkpoints).held():
        pass
    assert """reset history_pushes --to-offsets '{"clientscope.configs": {"0": 50}}'""" in (refused.value.hint or "")
    reset(checkpoints, "history_pushes", {CONFIGS: {0: 50}}, NOW)
    with run(checkpoints).held():
        pass


def test_what_is_examined_again_is_one_query(checkpoints: Path, topics_now: object) -> None:
    (folder(checkpoints, "results") / "metadata").unlink()
    run(checkpoints).examine("gauges")
    with pytest.raises(Refused):
        run(checkpoints).examine("results")


def test_the_commands(checkpoints: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)  # of whoever runs the tests

    def command(*arguments: str) -> tuple[int, str, str]:
        status = cli.main(["checkpoints", arguments[0], "--checkpoint-dir", str(checkpoints), *arguments[1:]])
        return status, *capsys.readouterr()

    assert command("verify") == (0, "all checkpoints are whole\n", "")
    status, listed, _ = command("list")
    (row,) = [line.split() for line in listed.splitlines() if line.startswith("history_pushes")]
    assert row[:4] == [f"history_pushes/{PLANS['history_pushes'].folder}", "4", "clientscope.configs/0", "50"]
    copy = checkpoints.with_name("copy")
    assert command("backup", str(copy))[0] == 0
    assert verify(copy) == []
    assert {path.name for path in copy.iterdir()} == set(PLANS)
    assert "is there already" in command("backup", str(copy))[2]
    assert "is within" in command("backup", str(checkpoints / "copy"))[2]
    assert command("reset", "gauges", "--to-earliest")[0] == 0
    assert "moved aside: " in command("list")[2], "which is no data"
    assert command("backup", str(checkpoints.with_name("second")))[0] == 0
    assert aside(checkpoints.with_name("second"), "gauges") == []
    assert "there is no query 'other'" in command("reset", "other")[2]
    assert "exclude each other" in command("reset", "results", "--to-earliest", "--to-time", "2026-01-01")[2]
    assert "is no time" in command("reset", "results", "--to-time", "yesterday")[2]
    assert "give JSON" in command("reset", "results", "--to-offsets", "{")[2]
    assert "reads clientscope.configs, not other" in command("reset", "results", "--to-offsets", '{"other": {"0": 1}}')[2]
    (folder(checkpoints, "results") / "metadata").unlink()
    status, said, _ = command("verify")
    assert (status, len(said.splitlines())) == (1, 1)
    assert said.startswith("results: metadata is missing")
    status, said, error = command("backup", str(checkpoints.with_name("other")))
    assert (status, "as damaged as its original" in error) == (1, True)


def test_checkpoints_are_looked_at_without_spark(tmp_path: Path) -> None:
    code = (
        f"import sys; from clientscope import cli; cli.main(['checkpoints', 'verify', '--checkpoint-dir', {str(tmp_path)!r}]);"
        "sys.exit(any(m in sys.modules for m in ('pyspark', 'pyarrow', 'pandas')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_every_query_reads_a_topic_whose_record_has_a_schema_or_is_otlps() -> None:
    for query, plan in PLANS.items():
        assert plan.topic == TELEMETRY if not plan.record else at_start.newest_version(plan.record) >= 0, query
    assert isinstance(manifest_of("gauges"), Manifest)
    assert StartOffsets(offsets=None, position={}, written_at="").offsets is None
