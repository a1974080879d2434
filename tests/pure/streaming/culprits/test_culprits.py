"""Records that kill the process that decodes them: the failed batch's range, the child process that tries, and the list of places."""

from __future__ import annotations

import json
from pathlib import Path

import deadly_kernels
import pyarrow as pa
import pytest
from record_bytes import config_record, connection_record, setting

from clientscope.digest import DigestKey
from clientscope.errors import ClientscopeError
from clientscope.records.topics import CONFIGS, CONNECTIONS
from streaming.checkpoints import skipped
from streaming.checkpoints.skipped import RecordPlace
from streaming.culprits.failed_batch import failed_range
from streaming.culprits.probe import Probe
from streaming.queries.registry import QUERIES


def batch(checkpoint: Path, number: int, offsets: dict[str, int], committed: bool) -> None:
    """As Spark 4.2 writes them."""
    for folder in ("offsets", "commits", "sources/0"):
        (checkpoint / folder).mkdir(parents=True, exist_ok=True)
    text = f'v1\n{{"batchWatermarkMs":0,"batchTimestampMs":1,"conf":{{}}}}\n{json.dumps({CONFIGS: offsets})}'
    (checkpoint / "offsets" / str(number)).write_text(text)
    (checkpoint / "metadata").write_text('{"id":"48859602-d4f8-43f5-a89a-7e831e07c9fb"}')
    if committed:
        (checkpoint / "commits" / str(number)).write_text('v1\n{"nextBatchWatermarkMs":0}')


def test_the_failed_batch_begins_where_the_one_before_ended(tmp_path: Path) -> None:
    assert failed_range(tmp_path / "none") == {}
    batch(tmp_path, 0, {"0": 5, "1": 0}, committed=False)
    (tmp_path / "sources" / "0" / "0").write_text(f"\0v1\n{json.dumps({CONFIGS: {'0': 2, '1': 0}})}")
    assert failed_range(tmp_path) == {(CONFIGS, 0): (2, 5)}
    batch(tmp_path, 0, {"0": 5, "1": 0}, committed=True)
    assert failed_range(tmp_path) == {}, "nothing is under way"
    for number in range(1, 12):
        batch(tmp_path, number, {"0": 5 + number, "1": 0}, committed=number < 11)
    batch(tmp_path, 11, {"0": 15, "1": 3, "2": 4}, committed=False)
    assert failed_range(tmp_path) == {(CONFIGS, 1): (0, 3), (CONFIGS, 2): (0, 4)}, "a new partition from its beginning"


def test_a_checkpoint_that_is_otherwise_than_expected_has_no_range(tmp_path: Path) -> None:
    batch(tmp_path, 0, {"0": 5}, committed=True)
    batch(tmp_path, 1, {"0": 9}, committed=False)
    for damaged in ("", "v1\n", "v1\n{}\n-", "v2\nsomething else", "v1\n{}\n[1]"):
        (tmp_path / "offsets" / "1").write_text(damaged)
        assert failed_range(tmp_path) == {}, damaged


def test_only_what_the_kernel_dies_of_is_named_and_nothing_is_said_of_it(capfd: pytest.CaptureFixture[str]) -> None:
    with Probe(deadly_kernels.kernel) as probe:
        assert probe.fatal([b"fine", b"x" * 16_000_000]) == []
        assert probe.fatal([b"fine", b"exit", b"fine too", b"raise", b"segfault", b"last"], most=2) == [1, 3]
        assert probe.fatal([b"fine"]) == [], "a new child has taken the dead one's place"
    captured = capfd.readouterr()
    assert "hunter2" not in captured.out + captured.err


def test_what_takes_too_long_or_too_much_memory_is_no_survivor() -> None:
    with Probe(deadly_kernels.kernel, deadline_s=0.5) as probe:
        assert probe.fatal([b"hang"]) == [0]
    with Probe(deadly_kernels.kernel, memory_bytes=400 * 1024 * 1024) as probe:
        assert probe.fatal([b"memory"]) == [0]


def test_a_child_that_does_not_start_is_no_verdict_on_a_record() -> None:
    with Probe(deadly_kernels.Unloadable()) as probe, pytest.raises(TimeoutError, match="doesn't start"):
        probe.fatal([b"fine"])


def test_where_no_record_dies_alone_none_is_blamed() -> None:
    with Probe(deadly_kernels.together) as probe:
        assert probe.fatal([b"a", b"b"]) == []


@pytest.mark.parametrize("query", [name for name, query in QUERIES.items() if query.kernel])
def test_the_queries_own_kernels_survive_good_records_and_bad(tmp_path: Path, query: str) -> None:
    values = [config_record(setting("acks", "all")), connection_record(0), b"", b"\0\0\xff", b"\0" * 40]
    made = QUERIES[query].kernel
    assert made is not None
    key = tmp_path / "digest.key"
    key.touch(0o600)
    key.write_bytes(b"k" * 32)
    kernel = made(DigestKey.read(key))
    kernel(pa.array(values, pa.binary()))  # in this process first, for a traceback should it fail
    with Probe(kernel) as probe:
        assert probe.fatal(values) == []


def test_places_are_kept_once_and_in_order(tmp_path: Path) -> None:
    assert skipped.read(tmp_path) == []
    skipped.add(tmp_path / "new", [RecordPlace(CONFIGS, 0, 7, 1_000, 5)])
    skipped.add(tmp_path / "new", [RecordPlace(CONNECTIONS, 1, 3, 2_000, 6), RecordPlace(CONFIGS, 0, 7, 1_000, 9)])
    assert skipped.read(tmp_path / "new") == [RecordPlace(CONFIGS, 0, 7, 1_000, 9), RecordPlace(CONNECTIONS, 1, 3, 2_000, 6)]
    assert [path.name for path in (tmp_path / "new").iterdir()] == [skipped.FILE]


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"v2": []}', '{"v1": [{"topic": "t"}]}', '{"v1": 5}'])
def test_a_damaged_list_is_an_error_that_says_what_to_do(tmp_path: Path, text: str) -> None:
    (tmp_path / skipped.FILE).write_text(text)
    with pytest.raises(ClientscopeError) as caught:
        skipped.read(tmp_path)
    assert "skipped.json is damaged" in str(caught.value)
    assert "remove it" in (caught.value.hint or "")
