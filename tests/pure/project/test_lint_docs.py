"""docs/lint.md: its examples are what the command prints, and its tables and files are as they are."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from lint_docs import DOCS, rendered

from clientscope.profiles import owners, rules_file
from udfs.rules.registry import LIMITS


def test_examples_are_what_the_command_prints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FORCE_COLOR", "NO_COLOR", "CLIENTSCOPE_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    text = DOCS.read_text()
    assert rendered(text, tmp_path) == text, "python tests/pure/lint_docs.py writes them anew"


def test_files_in_it_are_read(tmp_path: Path) -> None:
    blocks = re.findall(r"^```toml\n(.*?)^```$", DOCS.read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) == 3
    for number, block in enumerate(blocks):
        file = tmp_path / f"{number}.toml"
        file.write_text(block)
        if "owner" in tomllib.loads(block):
            assert len(owners.read(file).entries) == 2
        else:
            assert rules_file.read(file, LIMITS).suppressions
