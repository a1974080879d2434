"""Verdicts count while what they follow from stays: the code and data that judge, the limits, and the key."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import pytest

from clientscope.digest import DigestKey
from clientscope.profiles import Thresholds, rules_file
from udfs import fingerprint
from udfs.rules.registry import LIMITS


def thresholds(folder: Path, text: str) -> Thresholds:
    file = folder / "rules.toml"
    file.write_text(text)
    return rules_file.read(file, LIMITS).thresholds


@pytest.fixture(autouse=True)
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """All that judges."""
    made = tmp_path / f"judging_{uuid4().hex}"  # of each name Python looks for one once
    (made / "rules").mkdir(parents=True)
    (made / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(fingerprint, "JUDGING", (made.name,))
    return made


def test_another_limit_or_key_makes_another_one(tmp_path: Path) -> None:
    text = '[profiles.ours]\noff = ["AN101", "AN112"]\nlimits.AN107 = {minimum_ms = 1}\n[[assign]]\nprofile = "ours"\ngroup = "a"\n'
    suppressed = '[[suppress]]\ncode = "AN101"\nreason = "legacy"\nuntil = 2099-01-01\nclient_id = "a"\n'

    def of(text: str, key: DigestKey | None = None) -> str:
        return fingerprint.fingerprint(thresholds(tmp_path, text), key)

    assert of(text.replace('"AN101", "AN112"', '"AN112", "AN101"') + suppressed) == of(text), "nobody judges by suppressions"
    changed = text.replace("= 1", "= 2"), text.replace('"a"', '"b"'), text.replace(', "AN112"', "")
    assert len({of(text), *map(of, changed), of(text, DigestKey(b"k" * 32)), of(text, DigestKey(b"l" * 32))}) == 6


@pytest.mark.parametrize("name", ["judge.py", "rules/delivery.toml", "settings.json"])
def test_another_text_of_what_judges_makes_another_one(package: Path, name: str) -> None:
    found = set()
    for text in ("", "a", "ab", "a"):
        (package / name).write_text(text)
        found.add(fingerprint.fingerprint(Thresholds(), None))
    assert len(found) == 3
