"""What ended a broker, and the jars that it runs with."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

import pytest

from clientscope.errors import EnvironmentProblem
from clientscope.local import broker, jars


@pytest.mark.parametrize(
    ("trace", "cause"),
    [
        ("Exception in thread x: a\n\tat b\nCaused by: x.ConfigException: taken\n\t... 8 more\n", "Caused by: x.ConfigException: taken"),
        ("log4j says\njava.io.IOException: no space\n\tat c\n", "java.io.IOException: no space"),
        ("it is\nnot so\n", "not so"),
        ("", "it said nothing"),
    ],
)
def test_the_error_that_ended_kafka_is_reported(trace: str, cause: str) -> None:
    assert broker.java_cause(trace) == cause


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two jars, and the lock that has their digests."""
    folder, lock = tmp_path / "jars", tmp_path / "jars.sha256"
    (folder / "spark").mkdir(parents=True)
    lines = []
    for name in ("one.jar", "two.jar"):
        (folder / "spark" / name).write_bytes(name.encode() * 100_000)
        lines.append(f"{hashlib.sha256(name.encode() * 100_000).hexdigest()}  spark/{name}\n")
    lock.write_text("".join(lines))
    monkeypatch.setenv("CLIENTSCOPE_JARS", str(folder))
    monkeypatch.setattr(jars, "LOCK", lock)
    return folder / "spark"


def test_a_jar_that_was_changed_is_not_used(cache: Path) -> None:
    """Also where its size and its time are as before."""
    jar = cache / "two.jar"
    assert jars.jars("spark") == [cache / "one.jar", jar]
    content, stat = bytearray(jar.read_bytes()), jar.stat()
    content[-1] ^= 1
    jar.write_bytes(content)
    os.utime(jar, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    with pytest.raises(EnvironmentProblem, match=r"two\.jar was changed after it was downloaded") as caught:
        jars.jars("spark")
    assert f"rm {jar}" in str(caught.value.hint)


def test_a_jar_that_is_not_the_locked_one_is_refused(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def retrieve(target: Path, progress: object, configurations: object) -> None:
        shutil.copytree(cache, target / "spark")
        (target / "spark" / "two.jar").write_bytes(b"another")

    (cache / "two.jar").unlink()
    monkeypatch.setattr(jars, "retrieve", retrieve)
    with pytest.raises(EnvironmentProblem, match=r"two\.jar has SHA-256"):
        jars.jars("spark")
    assert not (cache / "two.jar").exists()
