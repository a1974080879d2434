"""The job on a standalone cluster of each release of Spark: the same results as in local mode, with all secrets that there can be.

Spark's processes know each other by a secret and encrypt, Kafka asks for a password (SASL), and the digest key is in a file. On the
newest release executors and decoders die, too.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import time
from contextlib import suppress
from pathlib import Path

import pytest
from conftest import RunningBroker, sasl, with_topics
from observe import private_file, write
from outcome import Input, comes_out
from patience import until
from record_bytes import config_record
from standalone import OTHER_SPARKS, SPARK, for_submit, secret, standalone
from stream_job import KEY

from clientscope.kafka.access import KafkaAccess
from clientscope.local.broker import BrokerPlan, EmbeddedBroker
from clientscope.local.process import free_port
from clientscope.model.topics import CONFIGS
from streaming.checkpoints.job_topic import read_job
from streaming.releases import RELEASES, release

SEED = 23
NEWEST = RELEASES[-1].minor
PASSWORD = "canary-stream-7f3a"


def with_sasl(folder: Path) -> tuple[EmbeddedBroker, RunningBroker]:
    """A broker that asks for a password where it advertises itself."""
    port = free_port()
    plan = BrokerPlan(port, free_port(), f"127.0.0.1:{port}", folder, extra=sasl("PLAIN", PASSWORD, "stream"))
    broker = EmbeddedBroker(plan)
    return broker, with_topics(broker, plan)


@pytest.mark.matrix
@pytest.mark.parametrize("minor", [each.minor for each in RELEASES])
def test_f21_each_spark_says_the_same_and_tells_no_secret(tmp_path: Path, minor: str) -> None:
    """`outcome` is what test_stream_faults.py holds local mode to; the code comes from the zip alone (`standalone`)."""
    key, password = private_file(tmp_path / "digest.key", KEY.secret), private_file(tmp_path / "kafka.password", PASSWORD)
    for_submit(tmp_path / "submit", release(minor).jars)
    started, broker = with_sasl(tmp_path / "broker")
    jaas = KafkaAccess(broker.advertised, "SASL_PLAINTEXT", "PLAIN", "stream", PASSWORD).java_environment()
    conf = secret(tmp_path)
    # As deploy/prepare.sh writes it, for the password that this broker takes.
    private_file(conf / "spark-env.sh", "".join(f"{name}='{value}'\n" for name, value in jaas.items()))
    try:
        written = Input(broker.internal, SEED)
        written.write(200)
        with standalone(tmp_path / "cluster", conf, SPARK if minor == NEWEST else OTHER_SPARKS / minor) as cluster:
            assert cluster.refuses("stranger"), "who hasn't the secret"

            def submit() -> None:
                cluster.run(
                    tmp_path / "submit", broker.advertised, tmp_path, key, "--kafka-security-protocol", "SASL_PLAINTEXT",
                    "--kafka-sasl-mechanism", "PLAIN", "--kafka-sasl-username", "stream", "--kafka-sasl-password-file", str(password),
                    "--quality", "off", given=("--conf", "spark.sql.shuffle.partitions=2"),
                )  # fmt: skip
                cluster.await_ready()

            submit()
            comes_out(broker.internal, tmp_path / "history", KEY)
            written.write(50)
            comes_out(broker.internal, tmp_path / "history", KEY)
            written.write(50)
            cluster.kill_job()
            submit()
            comes_out(broker.internal, tmp_path / "history", KEY)
            until(lambda: read_job(broker.internal).progress["live"].spark_version.startswith(f"{minor}."))
            assert "Traceback" not in cluster.log(), cluster.log()
            assert spoken(tmp_path, PASSWORD.encode(), KEY.secret) == []
            assert cluster.stop_job() == 0, cluster.log()
    finally:
        started.stop()


@pytest.mark.long
def test_f25_a_job_continues_with_a_newer_minor_release_of_spark(own: RunningBroker, tmp_path: Path) -> None:
    key = private_file(tmp_path / "digest.key", KEY.secret)
    written = Input(own.internal, SEED)
    for minor in ("4.0", "4.1", NEWEST):
        for_submit(tmp_path / minor / "submit", release(minor).jars)
        written.write(100)
        with standalone(tmp_path / minor / "cluster", spark=SPARK if minor == NEWEST else OTHER_SPARKS / minor) as cluster:
            cluster.run(tmp_path / minor / "submit", own.internal, tmp_path, key, "--quality", "off")
            cluster.await_ready()
            comes_out(own.internal, tmp_path / "history", KEY)
            assert cluster.stop_job() == 0, cluster.log()


@pytest.mark.long
def test_f21_f22_a_cluster_says_the_same_also_when_executors_and_decoders_die(own: RunningBroker, tmp_path: Path) -> None:
    """`outcome` is what test_stream_faults.py holds local mode to; the code comes from the zip alone (`standalone`)."""
    chance = random.Random(SEED)  # noqa: S311 - moments that can be had again
    digest_key = private_file(tmp_path / "digest.key", KEY.secret)
    for_submit(tmp_path / "submit")
    written = Input(own.internal, SEED)
    written.write(200)
    with standalone(tmp_path / "cluster", secret(tmp_path)) as cluster:
        given = ("--conf", "spark.sql.shuffle.partitions=2", "--name", "ours")
        cluster.run(tmp_path / "submit", own.internal, tmp_path, digest_key, "--quality", "off", given=given)
        cluster.await_ready()
        comes_out(own.internal, tmp_path / "history", KEY)
        (offsets,) = (cluster.folder / "checkpoints").glob("run-*/live/*/offsets/0")
        conf = json.loads(offsets.read_text().splitlines()[1])["conf"]
        assert conf["spark.sql.shuffle.partitions"] == "2", "what spark-submit has wins"
        assert '"name" : "ours"' in cluster.state()
        for _ in range(5):
            until(lambda: len(cluster.executors()), 2)
            written.write(chance.randrange(50, 200))
            time.sleep(chance.uniform(0, 1))
            with suppress(ProcessLookupError):
                os.kill(chance.choice(cluster.executors()), signal.SIGKILL)
            written.write(50)
            comes_out(own.internal, tmp_path / "history", KEY)  # one kill at a time: Spark gives up a task that four have met
        assert "Traceback" not in cluster.log(), cluster.log()
        assert spoken(tmp_path) == []
        before = len(cluster.log())
        (where,) = write(own.internal, CONFIGS, (b"deadly", config_record(client_id="deadly:exit")))
        written.write(50)
        comes_out(own.internal, tmp_path / "history", KEY, {(where.topic, where.partition, where.offset)})
        assert re.search(r"Task \d+ in stage \S+ failed 4 times", cluster.log()[before:]), "the task is tried again before its query is"
        assert cluster.stop_job() == 0, cluster.log()


def spoken(folder: Path, *secrets: bytes) -> list[Path]:
    """Where one of these or Spark's own secret stands among the processes, as everybody on the machine reads them, or in their logs."""
    defaults = (folder / "conf" / "spark-defaults.conf").read_text()
    searched = (*secrets, defaults.split("spark.authenticate.secret ")[1].split()[0].encode())
    found = [path for path in (folder / "cluster").rglob("*") if path.is_file() and (path.suffix == ".log" or path.name == "stderr")]
    told = []
    for path in (*found, *Path("/proc").glob("[0-9]*/cmdline")):
        with suppress(OSError):
            told += [path for each in searched if each in path.read_bytes()]
    return told
