"""sinks/history/recorder: gauges once a minute, each recorded state of a finding, also after a restart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError
from made_findings import made

from clientscope.model.codec import encode_whole
from sinks.history.erase import Erased, ErasureSubject, erase_rows
from sinks.history.recorder import Recorder

NOW = 1_790_000_040.0  # 20 s before a minute ends


class Clock:
    def __init__(self) -> None:
        self.s = NOW

    def __call__(self) -> float:
        return self.s


def series(name: str, connections: int) -> bytes:
    place = {"cluster": "c", "broker": 1, "gateway": "g", "listener": "CLIENT", "software_name": name, "software_version": "1"}
    return json.dumps({**place, "connections": connections, "opened": 9}).encode()


def record(number: int, revision: int, **changed: Any) -> bytes:
    return encode_whole(made(number, revision=revision, **changed))


def rows(folder: Path, *columns: str) -> list[tuple[Any, ...]]:
    table = DeltaTable(folder).to_pyarrow_table(columns=list(columns))
    return sorted(zip(*(table[name].to_pylist() for name in columns), strict=True), key=str)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def recorder(tmp_path: Path, clock: Clock) -> Recorder:
    return Recorder("127.0.0.1:1", tmp_path, clock=clock)


def test_every_series_is_recorded_each_minute_whether_it_changed_or_not(recorder: Recorder, clock: Clock, tmp_path: Path) -> None:
    recorder.look({"a": series("java", 3), "gateway": b'{"instances": 4}'}, {}, whole=False)
    clock.s += 60
    recorder.look({"b": series("go", 2)}, {}, whole=False)
    assert not (tmp_path / "gauges").exists(), "nobody knows yet whether that is all"
    recorder.look({}, {})
    clock.s += 60
    recorder.look({}, {})
    clock.s += 30
    recorder.look({"a": series("java", 5)}, {})
    clock.s += 30
    recorder.look({"b": None, "c": b"no json"}, {})
    kept = rows(tmp_path / "gauges", "minute", "software_name", "connections")
    found = [(minute.strftime("%H:%M:%S"), name, count) for minute, name, count in kept]
    assert found == [("14:16:00", "go", 2), ("14:16:00", "java", 3), ("14:17:00", "java", 5)]


def test_each_state_of_a_finding_once_and_none_is_missed_or_doubled_by_a_restart(recorder: Recorder, clock: Clock, tmp_path: Path) -> None:
    recorder.look({}, {"1": record(1, 0), "2": record(2, 4, state="closed")})
    recorder.look({}, {"1": record(1, 1, state="resolved"), "2": None, "3": b"{}"})
    clock.s += 60
    recorder.look({}, {})
    assert rows(tmp_path / "findings", "revision", "state") == [(0, "open"), (1, "resolved"), (4, "closed")]
    again = Recorder("127.0.0.1:1", tmp_path, clock=clock)
    again.look({}, {"1": record(1, 3), "2": record(2, 4, state="closed")})
    again.look({}, {})
    assert rows(tmp_path / "findings", "revision", "state") == [(0, "open"), (1, "resolved"), (3, "open"), (4, "closed")]


def test_what_could_not_be_written_is_written_later(recorder: Recorder, clock: Clock, tmp_path: Path, caplog: Any) -> None:
    recorder.look({}, {}, whole=False)
    (tmp_path / "findings").write_text("in the way")
    recorder.look({}, {"1": record(1, 0)})
    recorder.look({}, {})
    assert len(caplog.records) == 1
    (tmp_path / "findings").unlink()
    clock.s += 60
    recorder.look({}, {})
    assert rows(tmp_path / "findings", "revision") == [(0,)]


def test_they_are_erased_like_the_others(recorder: Recorder, clock: Clock, tmp_path: Path) -> None:
    recorder.look({"a": series("java", 3)}, {"1": record(1, 0)})
    clock.s += 60
    recorder.look({}, {"1": record(1, 1)})
    principal = made(1).application.principal
    assert erase_rows(str(tmp_path / "findings"), ErasureSubject(principal=principal)) == Erased(2, 2, 0)
    assert erase_rows(str(tmp_path / "gauges"), ErasureSubject(principal=principal)) is None, "which names nobody"


def test_what_is_erased_just_before_it_is_written_is_not_written(recorder: Recorder, tmp_path: Path) -> None:
    gone, stays = record(1, 0), record(2, 0)
    recorder.look({}, {"1": gone, "2": stays}, later=lambda: {json.loads(gone)["fingerprint"]: None})
    assert [row[0] for row in rows(tmp_path / "findings", "fingerprint")] == [json.loads(stays)["fingerprint"]]


def test_what_is_erased_while_it_is_written_is_taken_back_until_that_works(recorder: Recorder, clock: Clock, tmp_path: Path) -> None:
    gone, stays = record(1, 0), record(2, 0)
    left = iter([{}, {json.loads(gone)["fingerprint"]: None}])
    other = json.loads(stays)["fingerprint"]
    with pytest.MonkeyPatch.context() as broken:
        broken.setattr("sinks.history.recorder.committed", lambda table, act: (_ for _ in ()).throw(CommitFailedError("busy")))
        with pytest.raises(CommitFailedError):
            recorder.look({}, {"1": gone, "2": stays}, later=lambda: next(left))
    assert len(rows(tmp_path / "findings", "fingerprint")) == 2
    clock.s += 60
    recorder.look({}, {})
    assert [row[0] for row in rows(tmp_path / "findings", "fingerprint")] == [other]
