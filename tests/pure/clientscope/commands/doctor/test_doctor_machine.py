"""Checks of Java, PySpark and disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from clientscope.commands.doctor import machine
from clientscope.commands.doctor.result import CheckResult, Outcome
from clientscope.commands.doctor.situation import Situation
from clientscope.config import KafkaSettings, StreamSettings
from clientscope.local.java import java


def situation(stream: StreamSettings | None = None) -> Situation:
    return Situation(KafkaSettings(), None, stream, None, None)


def java_of(folder: Path, version: str) -> None:
    path = folder / "bin" / "java"
    path.parent.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2024-01-16' >&2\n")
    path.chmod(0o755)


def checked(home: Path, monkeypatch: pytest.MonkeyPatch) -> CheckResult:
    monkeypatch.setenv("JAVA_HOME", str(home))
    java.cache_clear()
    try:
        (found,) = machine.check_java(situation())
    finally:
        java.cache_clear()
    return found


def test_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java_of(tmp_path / "new", "21.0.5")
    java_of(tmp_path / "old", "11.0.22")
    found = checked(tmp_path / "new", monkeypatch)
    assert (found.outcome, found.text) == (Outcome.OK, f"Java 21.0.5, {tmp_path}/new/bin/java")
    found = checked(tmp_path / "old", monkeypatch)
    assert found.outcome is Outcome.PROBLEM and "is Java 11" in found.text and "install Java 17" in found.remedy
    assert checked(tmp_path / "none", monkeypatch).outcome is Outcome.PROBLEM


def test_jars_are_looked_for_and_not_downloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLIENTSCOPE_JARS", str(tmp_path / "jars"))
    (found,) = machine.check_spark(situation())
    assert (found.outcome, found.command) == (Outcome.WARNING, "clientscope jars")
    assert not (tmp_path / "jars").exists()


def test_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = StreamSettings(checkpoint_dir=tmp_path / "a b" / "checkpoints", history_dir=tmp_path / "history")
    for low, full, outcome in ((0, 0, Outcome.OK), (2**62, 0, Outcome.WARNING), (2**62, 2**62, Outcome.PROBLEM)):
        monkeypatch.setattr(machine, "_LOW_BYTES", low)
        monkeypatch.setattr(machine, "_FULL_BYTES", full)
        (found,) = machine.check_disk(situation(stream))
        assert found.outcome is outcome
        assert "GiB are free" in found.text
        assert bool(found.command) == (outcome is not Outcome.OK)
