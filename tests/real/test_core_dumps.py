"""Real processes that crash while they hold what clients sent: none leaves a core dump, whatever core_pattern says."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from conftest import RunningBroker, RunningGateway
from dumpable import PLAINLY, allow_core_dumps, cores, leaves_none
from observe import children, command_line, is_gone, java_below, process_name, push_one, workers
from patience import eventually, until
from stream_job import StreamJob

from clientscope.gateway.policy.process import NICE
from clientscope.local.process import free_port


@contextmanager
def running(folder: Path, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    """A command of ours that is ready, without root's capabilities, and as far as its parent goes free to dump core."""
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen(
            [*PLAINLY, sys.executable, "-m", "clientscope", *words],
            cwd=folder,
            stdout=log,
            stderr=log,
            preexec_fn=allow_core_dumps,  # noqa: PLW1509
        ) as child,
    ):
        try:
            assert eventually(lambda: b"ready" in (folder / "log").read_bytes() or child.poll() is not None)
            assert child.poll() is None, (folder / "log").read_text()
            yield child
        finally:
            if child.returncode is None:
                child.terminate()


def crashes_without_a_dump(child: subprocess.Popen[bytes]) -> bool:
    child.send_signal(signal.SIGSEGV)
    _, status = os.waitpid(child.pid, 0)
    child.returncode = -os.WTERMSIG(status)
    return os.WTERMSIG(status) == signal.SIGSEGV and not os.WCOREDUMP(status)


def nice(pid: int) -> int:
    """Of the group in which Linux schedules a session."""
    return int(Path(f"/proc/{pid}/autogroup").read_text().rpartition(" ")[2])


def test_a_gateway(broker: RunningBroker, tmp_path: Path) -> None:
    address = RunningGateway(f"127.0.0.1:{free_port()}")
    with running(tmp_path, *address.arguments(broker.internal, broker.client)) as gateway:
        with address.named("client") as client:
            assert push_one(client) == 0
            below = children(gateway.pid)
            assert len(below) == 3, "template, worker, policy"
            for pid in (gateway.pid, *below):
                assert leaves_none(pid)
            assert [nice(pid) for pid in below if process_name(pid) == "gw-policy"] == [NICE], "with its files in /proc, which are root's"
            (worker,) = workers(gateway.pid)
            os.kill(worker, signal.SIGSEGV)
        until(lambda: len(workers(gateway.pid) - {worker}), 1)
        address.named("client").close()
        assert crashes_without_a_dump(gateway)
    assert not cores(tmp_path)


def test_the_page(broker: RunningBroker, tmp_path: Path) -> None:
    (tmp_path / "history").mkdir()
    places = ("--listen", f"127.0.0.1:{free_port()}", "--history-dir", str(tmp_path / "history"))
    with running(tmp_path, "serve", "--bootstrap-servers", broker.internal, *places) as serve:
        assert leaves_none(serve.pid)
        assert crashes_without_a_dump(serve)
    assert not cores(tmp_path)


@pytest.mark.long
def test_the_job(broker: RunningBroker, tmp_path: Path) -> None:
    """Its Python processes by themselves; its JVM by its own option, and the limit that it inherits."""
    with running(tmp_path, *StreamJob(broker.internal, tmp_path).arguments()) as job:
        assert leaves_none(job.pid)
        jvm = java_below(job.pid)
        assert "-XX:-CreateCoredumpOnCrash" in command_line(jvm)
        os.kill(jvm, signal.SIGSEGV)
        until(lambda: is_gone(jvm))
        assert crashes_without_a_dump(job)
    assert not cores(tmp_path)
