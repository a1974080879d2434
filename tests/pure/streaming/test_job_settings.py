"""Settings that the job refuses before it starts anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from clientscope.config import StreamSettings
from clientscope.errors import SettingsError
from streaming.job import run


def test_a_rules_file_is_checked_at_the_start(tmp_path: Path) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text("[profiles.mine.limits.AN107]\nlonger_ms = 1\n")
    settings = StreamSettings(bootstrap_servers="127.0.0.1:1", checkpoint_dir=tmp_path, rules_file=rules)
    with pytest.raises(SettingsError, match=r"rules.toml.*AN107 has no limit longer_ms, but: minimum_ms"):
        run(settings)


def test_owners_are_checked_at_the_start(tmp_path: Path) -> None:
    file = tmp_path / "owners.toml"
    file.write_text('[[owner]]\nteam = "payments"\ncontact = "#payments"\n')
    settings = StreamSettings(bootstrap_servers="127.0.0.1:1", checkpoint_dir=tmp_path, owners=file)
    with pytest.raises(SettingsError, match=r"owners.toml.*has no pattern"):
        run(settings)
