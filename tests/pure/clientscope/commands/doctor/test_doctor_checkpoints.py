"""The check of checkpoints, on files that this project's own tests of checkpoints make."""

from __future__ import annotations

import shutil
from pathlib import Path

from clientscope.commands.doctor.checkpoints import check_checkpoints
from clientscope.commands.doctor.result import Outcome
from clientscope.commands.doctor.situation import Situation
from clientscope.config import KafkaSettings, StreamSettings
from streaming.checkpoints.lock import locked
from streaming.checkpoints.plans import PLANS, folder


def test_none_damaged_and_in_use(tmp_path: Path) -> None:
    here = Situation(KafkaSettings(), None, StreamSettings(checkpoint_dir=tmp_path / "c p"), None, None)
    assert [each.outcome for each in check_checkpoints(here)] == [Outcome.NOT_CHECKED]
    query = next(iter(PLANS))
    damaged = folder(tmp_path / "c p", query)
    (damaged / "offsets").mkdir(parents=True)
    (damaged / "offsets" / "0").write_text("nothing")
    found = list(check_checkpoints(here))
    assert {each.outcome for each in found} == {Outcome.PROBLEM}
    assert all(each.text.startswith(f"{query}: ") and "checkpoints reset" in each.remedy for each in found)
    with locked(tmp_path / "c p", "clientscope stream"):
        found = list(check_checkpoints(here))
        assert {each.outcome for each in found} == {Outcome.WARNING}
        assert all(each.command.endswith(f"--checkpoint-dir '{tmp_path}/c p'") for each in found)
    shutil.rmtree(damaged / "offsets")
    assert [each.outcome for each in check_checkpoints(here)] == [Outcome.OK]
    assert [each.outcome for each in check_checkpoints(Situation(KafkaSettings(), None, None, None, None))] == [Outcome.NOT_CHECKED]
