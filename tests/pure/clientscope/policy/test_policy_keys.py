"""Digest keys: several in a file, and errors in the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from clientscope.digest import DigestKey
from clientscope.errors import SettingsError

OLD, NEW = "a1" * 32, "b2" * 32


def key_file(tmp_path: Path, text: str | bytes, mode: int = 0o600) -> Path:
    path = tmp_path / "digest.key"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    path.chmod(mode)
    return path


def test_the_first_key_signs_and_the_others_are_known(tmp_path: Path) -> None:
    before = DigestKey.read(key_file(tmp_path, f"{OLD}\n"))
    after = DigestKey.read(key_file(tmp_path, f"{NEW}\n\n  {OLD}  \n", 0o640))  # a group may share it
    assert OLD not in repr(after) and NEW not in repr(after)
    assert after.key_id == DigestKey(NEW.encode()).key_id != before.key_id
    assert after.digest("hunter2") != before.digest("hunter2")
    (known,) = after.earlier
    assert (known.key_id, known.digest("hunter2")) == (before.key_id, before.digest("hunter2"))


@pytest.mark.parametrize(
    ("text", "mode", "message"),
    [
        ("abc", 0o600, "key 1 has 3 bytes, needs 32"),
        (f"{NEW}\nabc\n", 0o600, "key 2 has 3 bytes, needs 32"),
        (" \n", 0o600, "it is empty"),
        (bytes(range(128, 168)), 0o600, "key 1 isn't printable ASCII"),
        (f"{NEW}\n{NEW}\n", 0o600, "key 2 is there twice"),
        (NEW, 0o604, "every user of this machine may use it"),
        (NEW, 0o602, "every user of this machine may use it"),
    ],
)
def test_f39_a_key_file_that_is_wrong_or_open_to_all_is_an_error(tmp_path: Path, text: str | bytes, mode: int, message: str) -> None:
    with pytest.raises(SettingsError, match=message) as caught:
        DigestKey.read(key_file(tmp_path, text, mode))
    assert caught.value.hint
    assert NEW not in str(caught.value)


def test_a_missing_key_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="No such file"):
        DigestKey.read(tmp_path / "none")
