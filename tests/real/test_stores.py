"""History in S3 and on HDFS: the same results as on a disk, also after kill -9, and the commands about it."""

from __future__ import annotations

import os
import random
import re
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from bucket import bucket
from conftest import RunningBroker
from forked import printed
from observe import private_file, read_all
from outcome import Input, comes_out, results
from patience import LIMIT_S, until
from programs import running
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
from standalone import SPARK, Standalone, for_submit
from stream_job import KEY, StreamJob

from clientscope.local.jars import jars
from clientscope.local.java import java
from clientscope.local.process import free_port
from clientscope.model.topics import RESULTS

SEED = 24
_MANAGER = "org.apache.hadoop.mapreduce.MiniHadoopClusterManager"
_SCHEDULERS = "org.apache.hadoop.yarn.server.resourcemanager.scheduler"
_OF_SPARK = SPARK / "pyspark" / "jars"


def _class_path() -> str:
    return os.pathsep.join(map(str, [*jars("hdfs"), _OF_SPARK / "*"]))


@contextmanager
def hdfs(folder: Path) -> Iterator[str]:
    """The address of an empty HDFS."""
    folder.mkdir(parents=True)
    port, written = free_port(), folder / "core-site.xml"
    command = [java(), "-Xmx512m", "-cp", _class_path(), _MANAGER, "-nomr", "-format", "-nnport", str(port), "-writeConfig", str(written)]
    command += ["-D", f"hadoop.tmp.dir={folder / 'tmp'}"]
    with running(folder / "hdfs.log", "env", "-C", folder, *command, ready=written.is_file):
        yield f"hdfs://127.0.0.1:{port}"


@contextmanager
def yarn(folder: Path, store: str) -> Iterator[Path]:
    """A folder for HADOOP_CONF_DIR: YARN's settings, with this HDFS.

    Hadoop's program for both wants MapReduce for its YARN, so this one is driven from here.
    """
    folder.mkdir(parents=True)
    said: deque[str] = deque(maxlen=500)
    port, token, process = launch_gateway(
        jarpath=str(next(_OF_SPARK.glob("py4j-*.jar"))), classpath=_class_path(), javaopts=["-Xmx512m", f"-Duser.dir={folder}"],
        redirect_stdout=said, redirect_stderr=said, die_on_exit=True, enable_auth=True, return_proc=True,
    )  # fmt: skip
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token))
    try:
        hadoop = gateway.jvm.org.apache.hadoop
        settings = hadoop.yarn.conf.YarnConfiguration()
        settings.set("fs.defaultFS", store)
        settings.set("hadoop.tmp.dir", str(folder / "tmp"))
        settings.set("yarn.resourcemanager.scheduler.class", f"{_SCHEDULERS}.fifo.FifoScheduler")  # another needs a file of queues
        settings.set("yarn.nodemanager.vmem-check-enabled", "false")  # Python maps more than it uses
        settings.set("yarn.nodemanager.disk-health-checker.enable", "false")  # which refuses a disk that is nine tenths full
        cluster = hadoop.yarn.server.MiniYARNCluster("clientscope", 1, 1, 1)
        cluster.init(settings)
        cluster.start()
        (folder / "conf").mkdir()
        for name in ("core-site.xml", "yarn-site.xml"):  # YARN's defaults come between the two
            file = gateway.jvm.java.io.FileOutputStream(str(folder / "conf" / name))
            cluster.getConfig().writeXml(file)
            file.close()
        yield folder / "conf"
        cluster.stop()
    finally:
        gateway.shutdown()
        process.kill()
        process.wait(LIMIT_S)
        process.stdin.close()


@contextmanager
def in_s3(folder: Path) -> Iterator[tuple[str, dict[str, str]]]:
    with bucket() as found:
        yield found


@contextmanager
def on_hdfs(folder: Path) -> Iterator[tuple[str, dict[str, str]]]:
    with hdfs(folder / "hdfs") as address:
        yield address, {}


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("store", [in_s3, on_hdfs])
def test_f22_in_a_store_kills_lose_nothing_and_the_commands_read_it(
    own: RunningBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, store: object
) -> None:
    assert callable(store)
    chance = random.Random(SEED)  # noqa: S311 - moments that can be had again
    with store(tmp_path) as (address, variables):
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        job = StreamJob(own.internal, tmp_path, history=f"{address}/of/history")
        written = Input(own.internal, SEED)
        written.write(200)
        with job.running():
            job.comes_out()
            for _ in range(2):
                written.write(chance.randrange(50, 200))
                time.sleep(chance.uniform(0, 3))
                job.kill()
                job.start()
                job.ready()
            written.write(50)
            job.comes_out()
            before = results(own.internal)
            published = len(read_all(own.internal, RESULTS))
            said = printed("history", "maintain", "--history-dir", str(job.history))  # while the job appends to it
            assert re.search(r"pushes +\d", said), said
            said = printed("checkpoints", "reset", "live", "--bootstrap-servers", job.servers)
            assert "begins anew at the beginning of what it reads" in said, said
            until(lambda: len(read_all(own.internal, RESULTS)) > published, why="again, after the reset")
            assert results(own.internal) == before, "and alike"
            said = "".join(path.read_text(errors="replace") for path in (tmp_path / "logs").iterdir())
            assert [value for name, value in variables.items() if "ACCESS_KEY" in name and value in said] == []
            assert "Traceback" not in said and "could not be validated" not in said, said


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_f21_on_yarn_with_history_on_its_hdfs(own: RunningBroker, tmp_path: Path) -> None:
    """Executors are YARN's containers, and have our code from the zip alone (`standalone`)."""
    for_submit(tmp_path / "submit")
    key = private_file(tmp_path / "digest.key", KEY.secret)
    written = Input(own.internal, SEED)
    written.write(200)
    with hdfs(tmp_path / "hdfs") as store, yarn(tmp_path / "yarn", store) as conf:
        cluster = Standalone(tmp_path / "cluster", environment={"HADOOP_CONF_DIR": str(conf)})
        cluster.master = "yarn"
        try:
            conf_flags = ("--conf", f"spark.yarn.jars=local:{_OF_SPARK}/*", "--conf", "spark.sql.shuffle.partitions=2")
            cluster.run(tmp_path / "submit", own.internal, store, key, given=("--num-executors", "2", *conf_flags))
            cluster.await_ready()
            comes_out(own.internal, f"{store}/history", KEY)
            written.write(50)
            comes_out(own.internal, f"{store}/history", KEY)
            assert "Traceback" not in cluster.log(), cluster.log()
            assert cluster.stop_job() == 0, cluster.log()
        finally:
            cluster.stop()
