"""Checkpoints and history in S3 and on HDFS: the same results as on a disk, also after kill -9, and the commands about them."""

from __future__ import annotations

import os
import random
import re
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from bucket import bucket
from conftest import RunningBroker, running_broker, start_broker
from forked import clientscope
from hadoop import hdfs, yarn
from observe import children, is_gone, read_all
from patience import LIMIT_S, until
from replay import Input, comes_out, results
from standalone import SPARK, Standalone, for_submit

from clientscope.demo.fleet import Fleet
from clientscope.digest import DigestKey
from clientscope.records.topics import RESULTS

SEED = 24
KEY = DigestKey(b"0123456789abcdef" * 4)


@contextmanager
def in_s3(folder: Path) -> Iterator[tuple[str, dict[str, str]]]:
    with bucket() as found:
        yield found


@contextmanager
def on_hdfs(folder: Path) -> Iterator[tuple[str, dict[str, str]]]:
    with hdfs(folder / "hdfs") as address:
        yield address, {}


class Job:
    """``clientscope stream`` in local mode, with both folders in a store."""

    def __init__(self, broker: RunningBroker, folder: Path, store: str) -> None:
        self.servers, self.folder, self.store = broker.internal, folder, store
        self.history, self.checkpoints = f"{store}/of/history", f"{store}/of/checkpoints"
        self.processes = Fleet(folder / "logs", lambda line: None)
        self.key = folder / "digest.key"
        self.key.touch(0o600)
        self.key.write_bytes(KEY.secret)

    def start(self) -> None:
        self.processes.start("stream", *self.arguments("127.0.0.1:0"))

    def arguments(self, metrics: str) -> list[str]:
        return [
            "stream", "--bootstrap-servers", self.servers, "--checkpoint-dir", self.checkpoints, "--history-dir", self.history,
            "--history-interval-seconds", "1", "--driver-memory", "1g", "--digest-key-file", str(self.key), "--metrics-listen", metrics,
        ]  # fmt: skip

    def ready(self) -> None:
        self.processes.await_ready("stream", timeout_s=LIMIT_S)

    def kill(self) -> None:
        """With -9: Python, its JVM and all workers."""
        below = children(self.processes.pid("stream"))
        self.processes.signal("stream", signal.SIGKILL)
        for pid in below:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        until(lambda: all(is_gone(pid) for pid in below))

    @property
    def log(self) -> str:
        return (self.folder / "logs" / "stream.log").read_text(errors="replace")

    def command(self, *words: str) -> tuple[int, str]:
        """A command's exit status, and what it says."""
        done = clientscope(*words)
        return done.returncode, done.stdout + done.stderr


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("store", [in_s3, on_hdfs])
def test_f22_in_a_store_kills_lose_nothing_and_the_commands_read_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, store: object) -> None:
    assert callable(store)
    chance = random.Random(SEED)  # noqa: S311 - moments that can be had again
    with store(tmp_path) as (address, variables):
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        started, broker = start_broker(tmp_path / "broker")
        job = Job(broker, tmp_path, address)
        try:
            written = Input(broker.internal, SEED)
            written.write(200)
            job.start()
            job.ready()
            comes_out(broker.internal, job.history, KEY)
            for _ in range(2):
                written.write(chance.randrange(50, 200))
                time.sleep(chance.uniform(0, 3))
                job.kill()
                job.start()
                job.ready()
            written.write(50)
            comes_out(broker.internal, job.history, KEY)
            before = results(broker.internal)
            published = len(read_all(broker.internal, RESULTS))
            commands_read_it(job)
            until(lambda: len(read_all(broker.internal, RESULTS)) > published, why="again, after the reset")
            assert results(broker.internal) == before, "and alike"
            said = "".join(path.read_text(errors="replace") for path in (tmp_path / "logs").iterdir())
            assert [value for name, value in variables.items() if "ACCESS_KEY" in name and value in said] == []
            assert "Traceback" not in said and "could not be validated" not in said, said
        finally:
            job.processes.stop()
            started.stop()


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_f21_on_yarn_with_both_folders_on_its_hdfs(tmp_path: Path) -> None:
    """Executors are YARN's containers, and have our code from the zip alone (`standalone`)."""
    for_submit(tmp_path / "submit")
    key = tmp_path / "digest.key"
    key.touch(0o600)
    key.write_bytes(KEY.secret)
    with running_broker(tmp_path / "broker") as broker:
        written = Input(broker.internal, SEED)
        written.write(200)
        with hdfs(tmp_path / "hdfs") as store, yarn(tmp_path / "yarn", store) as conf:
            history = f"{store}/history"
            cluster = Standalone(tmp_path / "cluster", environment={"HADOOP_CONF_DIR": str(conf)})
            cluster.master = "yarn"
            try:
                cluster.submit(
                    tmp_path / "submit", "--bootstrap-servers", broker.internal, "--checkpoint-dir", f"{store}/checkpoints",
                    "--history-dir", history, "--history-interval-seconds", "1", "--metrics-listen", "127.0.0.1:0",
                    "--digest-key-file", str(key),
                    given=(
                        "--num-executors", "2", "--conf", f"spark.yarn.jars=local:{SPARK / 'pyspark' / 'jars'}/*",
                        "--conf", "spark.sql.shuffle.partitions=2",
                    ),
                )  # fmt: skip
                cluster.await_ready(400)
                comes_out(broker.internal, history, KEY)
                written.write(50)
                comes_out(broker.internal, history, KEY)
                assert "Traceback" not in cluster.log(), cluster.log()
                assert cluster.stop_job() == 0, cluster.log()
            finally:
                cluster.stop()


def commands_read_it(job: Job) -> None:
    """History is maintained while the job appends to it, and a query is reset."""
    status, said = job.command("history", "maintain", "--history-dir", job.history)
    assert status == 0 and re.search(r"pushes +\d", said), said
    status, said = job.command("checkpoints", "reset", "results", "--bootstrap-servers", job.servers)
    assert status == 0 and "begins anew at the beginning of its topic" in said, said
