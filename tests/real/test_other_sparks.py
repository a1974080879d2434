"""The job on standalone clusters of the other releases of Spark that it supports: the same results as in local mode."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import start_broker
from replay import Input, comes_out
from standalone import OTHER_SPARKS, standalone

from clientscope.commands.bundle import folder as bundle
from clientscope.digest import DigestKey
from clientscope.local.jars import jars
from streaming.internals.releases import of_minor

SEED = 23


@pytest.mark.timeout(600)
@pytest.mark.parametrize("minor", ["3.5", *(pytest.param(minor, marks=pytest.mark.long_form(only=True)) for minor in ("4.0", "4.1"))])
def test_f21_a_cluster_of_another_spark_says_the_same(tmp_path: Path, minor: str) -> None:
    """`replay` is what test_stream_faults.py holds local mode to; the code comes from the zip alone (`standalone`)."""
    file = tmp_path / "digest.key"
    file.touch(0o600)
    file.write_bytes(b"0123456789abcdef" * 4)
    bundle.write(tmp_path / "bundle", jars(of_minor(minor).jars))
    started, broker = start_broker(tmp_path / "broker")
    try:
        written = Input(broker.internal, SEED)
        written.write(200)
        with standalone(tmp_path / "cluster", spark=OTHER_SPARKS / minor) as cluster:
            cluster.submit(
                tmp_path / "bundle", "--bootstrap-servers", broker.internal, "--checkpoint-dir", str(tmp_path / "checkpoints"),
                "--history-dir", str(tmp_path / "history"), "--history-interval-seconds", "1", "--metrics-listen", "127.0.0.1:0",
                "--digest-key-file", str(file),
                given=("--conf", "spark.sql.shuffle.partitions=2"),
            )  # fmt: skip
            cluster.await_ready()
            comes_out(broker.internal, tmp_path / "history", DigestKey.read(file))
            written.write(50)
            comes_out(broker.internal, tmp_path / "history", DigestKey.read(file))
            (manifest,) = (tmp_path / "checkpoints" / "gauges").glob("*/clientscope.json")
            assert json.loads(manifest.read_text())["spark_version"].startswith(f"{minor}.")
            assert "Traceback" not in cluster.log(), cluster.log()
            assert cluster.stop_job() == 0, cluster.log()
    finally:
        started.stop()
