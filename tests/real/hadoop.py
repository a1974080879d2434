"""A real HDFS, and a real YARN with one node, each in a process on loopback: Hadoop's own mini clusters."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark
from patience import LIMIT_S
from programs import running
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

from clientscope.local.jars import jars
from clientscope.local.java import java
from clientscope.local.process import free_port

_MANAGER = "org.apache.hadoop.mapreduce.MiniHadoopClusterManager"
_OF_SPARK = Path(pyspark.__file__).with_name("jars")


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


_SCHEDULERS = "org.apache.hadoop.yarn.server.resourcemanager.scheduler"
