"""Settings that the job refuses before it starts anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from clientscope.config import StreamSettings
from clientscope.errors import SettingsError
from streaming.job import run

WRONG = {
    "rules_file": ("[profiles.mine.limits.AN107]\nlonger_ms = 1\n", "AN107 has no limit longer_ms, but: minimum_ms"),
    "owners": ('[[owner]]\nteam = "payments"\ncontact = "#payments"\n', "has no pattern"),
}


@pytest.mark.parametrize("setting", WRONG)
def test_files_are_checked_at_the_start(tmp_path: Path, setting: str) -> None:
    file, (content, message) = tmp_path / "given.toml", WRONG[setting]
    file.write_text(content)
    with pytest.raises(SettingsError, match=f"given.toml.*{message}"):
        run(StreamSettings(bootstrap_servers="127.0.0.1:1", checkpoint_dir=tmp_path, **{setting: file}))
