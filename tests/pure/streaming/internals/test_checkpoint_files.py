"""Reading of Spark's own files: a query's progress, and damage (F23)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from made_checkpoints import made, put, remove, with_state

from streaming.internals import spark_files
from streaming.internals.spark_files import SparkFiles

READ = {"clientscope.connections": {0: 150}}


def whole(folder: Path) -> Path:
    return with_state(made(folder, "gauges", committed=14), versions=15, snapshot=10)


def test_what_a_whole_checkpoint_says(tmp_path: Path) -> None:
    found = spark_files.read(whole(tmp_path))
    assert found == SparkFiles(
        begun=True, planned=14, committed=14, position=READ, planned_to=READ, shuffle_partitions=1,
        query_id="48859602-d4f8-43f5-a89a-7e831e07c9fb",
    )  # fmt: skip


def test_what_is_not_there_will_begin(tmp_path: Path) -> None:
    assert spark_files.read(tmp_path / "none") == SparkFiles()


def test_a_batch_that_was_cut_off_is_read_again(tmp_path: Path) -> None:
    found = spark_files.read(made(tmp_path, "results", committed=3, planned=4))
    assert (found.planned, found.committed, found.position, found.problems) == (4, 3, {"clientscope.configs": {0: 40}}, ())


def test_before_the_first_commit_it_is_where_it_began(tmp_path: Path) -> None:
    found = spark_files.read(made(tmp_path, "results", committed=-1, planned=0))
    assert (found.planned, found.committed, found.position, found.problems) == (0, None, {"clientscope.configs": {0: 0}}, ())


def test_what_was_purged_is_not_missed(tmp_path: Path) -> None:
    checkpoint = made(tmp_path, "results", committed=250, first=140)
    remove(checkpoint / "offsets" / "143")  # a purge that was cut off
    assert spark_files.read(checkpoint).problems == ()
    remove(checkpoint / "offsets" / "200")
    assert spark_files.read(checkpoint).problems == ("offsets/200 is missing between others",)


def test_every_partition_of_the_state_is_looked_for(tmp_path: Path) -> None:
    checkpoint = with_state(made(tmp_path, "gauges", partitions=3), versions=5, partitions=2)
    assert spark_files.read(checkpoint).problems == ("state/0/2 is missing",)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def cut_unnoticed(path: Path) -> None:
    """As where there are no checksums."""
    put(path, path.read_bytes()[:-20])


def emptied(path: Path) -> None:
    put(path, b"")


def flipped(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("name", "damage", "what"),
    [
        ("offsets/14", cut, "offsets/14 was changed after it was written"),
        ("offsets/14", cut_unnoticed, "offsets/14 is damaged"),
        ("offsets/14", emptied, "offsets/14 is damaged: it doesn't begin with a version"),
        ("offsets/14", flipped, "offsets/14 was changed"),
        ("offsets/14", remove, "commits/14 has no offsets/14"),
        ("offsets/12", remove, "offsets/12 is missing between others"),
        ("commits/12", remove, "commits/12 is missing between others"),
        ("commits/14", emptied, "commits/14 is damaged"),
        ("metadata", remove, "metadata is missing"),
        ("metadata", emptied, "metadata can't be read"),
        ("state/0/0/15.changelog", remove, "state/0/0/15.changelog is missing"),
        ("state/0/0/12.changelog", remove, "state/0/0/12.changelog is missing"),
        ("state/0/0/12.changelog", emptied, "state/0/0/12.changelog is empty"),
        ("state/0/0/13.changelog", flipped, "state/0/0/13.changelog was changed"),
        ("state/0/0/10.zip", cut_unnoticed, "state/0/0/10.zip is damaged"),
        ("state/0/0/SSTs/000008-a.sst", remove, "state/0/0/SSTs/000008-a.sst is missing, which 10.zip needs"),
        ("state/0/0/SSTs/000008-a.sst", cut_unnoticed, "state/0/0/SSTs/000008-a.sst has 1385 bytes, not 1405"),
        ("state/0/_metadata/metadata", remove, "state/0/_metadata/metadata is missing"),
    ],
)
def test_damage_is_named(tmp_path: Path, name: str, damage: Callable[[Path], None], what: str) -> None:
    checkpoint = whole(tmp_path)
    damage(checkpoint / name)
    problems = spark_files.read(checkpoint).problems
    assert any(problem.startswith(what) for problem in problems), problems


def test_f40_what_a_full_disk_cut_off_before_it_had_its_name_is_no_damage(tmp_path: Path) -> None:
    checkpoint = whole(tmp_path)
    for log in ("offsets", "commits"):
        put(checkpoint / log / ".15.55573e38-a57b-436c-b2c6-10588796dfa3.tmp", b"v1\n{}")
        (checkpoint / log / "..15.55573e38-a57b-436c-b2c6-10588796dfa3.tmp.crc").write_bytes(b"crc\0\0\0\2\0")
    assert spark_files.read(checkpoint).problems == ()


@pytest.mark.parametrize("name", ["state/0/0/9.changelog", "state/0/0/10.changelog"])
def test_what_a_snapshot_holds_is_not_missed(tmp_path: Path, name: str) -> None:
    checkpoint = whole(tmp_path)
    remove(checkpoint / name)
    assert spark_files.read(checkpoint).problems == ()


def test_a_snapshot_that_is_gone_is_made_up_for_by_changelogs_if_all_are_there(tmp_path: Path) -> None:
    checkpoint = whole(tmp_path)
    remove(checkpoint / "state/0/0/10.zip")
    assert spark_files.read(checkpoint).problems == ()
    remove(checkpoint / "state/0/0/1.changelog")
    assert spark_files.read(checkpoint).problems == ("state/0/0/1.changelog is missing, which version 15 is made of",)


def test_the_state_of_a_batch_that_was_cut_off_is_of_no_use(tmp_path: Path) -> None:
    checkpoint = with_state(made(tmp_path, "gauges", committed=14, planned=15), versions=16, snapshot=16)
    assert spark_files.read(checkpoint).problems == ()
    remove(checkpoint / "state/0/0/3.changelog")
    assert spark_files.read(checkpoint).problems == ("state/0/0/3.changelog is missing, which version 15 is made of",)


def test_logs_that_do_not_go_together(tmp_path: Path) -> None:
    checkpoint = made(tmp_path, "results", committed=4)
    for number in (3, 4):
        remove(checkpoint / "commits" / str(number))
    assert spark_files.read(checkpoint).problems[0].startswith("commits are missing: offsets go to 4")
    for number in range(5):
        remove(checkpoint / "offsets" / str(number))
    assert "offsets are missing: commits go to 2" in spark_files.read(checkpoint).problems


def test_a_format_that_is_not_known_is_no_damage_and_not_guessed_at(tmp_path: Path) -> None:
    checkpoint = made(tmp_path, "results")
    put(checkpoint / "offsets" / "4", 'v2\n{"anything": 1}')
    found = spark_files.read(checkpoint)
    assert (found.problems, found.unknown) == ((), ("offsets/4 is of Spark's format v2; this clientscope knows v1",))
    assert (found.planned, found.committed, found.position) == (4, 4, {})


@pytest.mark.parametrize("text", ["", "v", "offsets", "{}"])
def test_what_names_no_format_is_damage(tmp_path: Path, text: str) -> None:
    checkpoint = made(tmp_path, "results")
    put(checkpoint / "offsets" / "4", text)
    found = spark_files.read(checkpoint)
    assert (found.problems, found.unknown) == (("offsets/4 is damaged: it doesn't begin with a version",), ())
