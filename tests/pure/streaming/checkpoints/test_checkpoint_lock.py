"""Lock of a checkpoint directory: flock on a disk, a lease in a store."""

from __future__ import annotations

import errno
import fcntl
import subprocess
import sys
from pathlib import Path

import pytest
from bucket import bucket
from observe import eventually

from clientscope.stores import lease
from clientscope.stores.store_path import StorePath, any_path
from streaming.checkpoints.lock import Locked, holder, locked
from streaming.job_metrics import JobMetrics


def test_the_directory_is_one_process_own(tmp_path: Path) -> None:
    code = f"""
from pathlib import Path
from streaming.checkpoints.lock import locked
with locked(Path({str(tmp_path)!r}), "somebody"):
    print("has it", flush=True)
    input()
"""
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "has it\n"
        assert holder(tmp_path).startswith(f"somebody, process {other.pid} on ")
        with pytest.raises(Locked, match=f"is in use by somebody, process {other.pid}"), locked(tmp_path, "me"):
            pass
        other.kill()  # the kernel gives it back
    assert holder(tmp_path) == ""
    with locked(tmp_path, "me") as check, pytest.raises(Locked, match="in use by me"), locked(tmp_path, "me again"):
        pass
    assert check() is None, "the kernel has it"


def test_a_file_system_without_locks_is_warned_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(descriptor: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with locked(tmp_path, "me"):
        assert holder(tmp_path) == ""
    assert "nothing keeps a second job away" in caplog.text


def test_in_a_store_it_is_a_lease_whose_age_is_a_metric(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "LEASE_S", 8.0)
    monkeypatch.setattr(lease, "RENEWAL_S", 1.0)
    metrics = JobMetrics()

    def age_s() -> float:
        metrics.lease(check())
        return metrics.registry.get_sample_value("clientscope_stream_lease_age_seconds") or 0.0

    with bucket() as (address, variables):
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        folder = any_path(f"{address}/checkpoints")
        assert isinstance(folder, StorePath)
        with locked(folder, "me") as check:
            assert holder(folder).startswith("me, process ")
            assert eventually(lambda: age_s() > 0.5, 30), "between two renewals"
            assert eventually(lambda: age_s() < 0.5, 30), "renewed"
            with pytest.raises(Locked, match="in use by me"), locked(folder, "me again"):
                pass
            lock = folder / "clientscope.lock.2"
            lock.store.create(lock.key, b"another\n")
            with pytest.raises(Locked, match="not this process's alone any more"):
                eventually(lambda: check() is None, 30)
