"""Digest keys: what a file or a variable holds, and that no key travels."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from private_files import private
from refusals import refused

from clientscope import digest
from clientscope.digest import DigestKey

SECRET, EARLIER, OTHER = b"k" * 32, b"e" * 32, b"o" * 32


@pytest.fixture(autouse=True)
def another_machine() -> None:
    """A process that has unpickled no key yet."""
    digest._on_this_machine.cache_clear()


def keys(path: Path, *secrets: bytes) -> Path:
    return private(path, b"\n".join(secrets).decode())


def test_a_pickled_key_is_the_place_of_its_file(tmp_path: Path) -> None:
    key = DigestKey.read(keys(tmp_path / "digest.key", SECRET, EARLIER))
    travels = pickle.dumps(key)
    assert SECRET not in travels and EARLIER not in travels
    assert pickle.loads(travels) == key  # noqa: S301 - our own


def test_a_machine_without_the_file_takes_the_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = keys(tmp_path / "digest.key", SECRET, EARLIER)
    key = DigestKey.read(file)
    travels = pickle.dumps(key)
    file.unlink()
    monkeypatch.setenv(digest.VARIABLE, f"{SECRET.decode()}\n{EARLIER.decode()}\n")
    assert pickle.loads(travels) == key  # noqa: S301


def test_another_key_on_a_machine_is_an_error_that_quotes_neither(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    travels = pickle.dumps(DigestKey.read(keys(tmp_path / "digest.key", SECRET)))
    keys(tmp_path / "digest.key", OTHER)
    for where in ("digest_key_file", digest.VARIABLE):
        with refused(rf"{where}.* on this machine, and \w+ where the job started") as error:
            pickle.loads(travels)  # noqa: S301
        assert SECRET.decode() not in str(error.value) and OTHER.decode() not in str(error.value)
        monkeypatch.setenv(digest.VARIABLE, OTHER.decode())


def test_a_key_that_was_replaced_since_the_job_started_is_still_its_key(tmp_path: Path) -> None:
    key = DigestKey.read(keys(tmp_path / "digest.key", SECRET, EARLIER))
    travels = pickle.dumps(key)
    keys(tmp_path / "digest.key", OTHER, SECRET, EARLIER)
    assert pickle.loads(travels) == key  # noqa: S301


def test_a_machine_without_a_key_says_so(tmp_path: Path) -> None:
    travels = pickle.dumps(DigestKey.read(keys(tmp_path / "digest.key", SECRET)))
    (tmp_path / "digest.key").unlink()
    with refused(r"digest_key_file .*: No such file"):
        pickle.loads(travels)  # noqa: S301


def test_a_key_that_no_file_holds_stays_where_it_is() -> None:
    with pytest.raises(TypeError, match="can't be pickled"):
        pickle.dumps(DigestKey(SECRET))
