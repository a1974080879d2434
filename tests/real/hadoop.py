"""A real HDFS, and YARN if asked for, in one process on loopback: Hadoop's own mini cluster."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark
from observe import eventually

from clientscope.local.jars import jars
from clientscope.local.java import java
from clientscope.local.process import free_port, spawn, stop

_MANAGER = "org.apache.hadoop.mapreduce.MiniHadoopClusterManager"


@contextmanager
def hadoop(folder: Path, *, yarn: bool = False) -> Iterator[str]:
    """The address of its HDFS. Its settings are in ``conf/`` below the folder, for HADOOP_CONF_DIR."""
    conf = folder / "conf"
    conf.mkdir(parents=True)
    port = free_port()
    own = os.pathsep.join(map(str, [*jars("hdfs"), Path(pyspark.__file__).with_name("jars") / "*"]))
    command = [java(), "-Xmx512m", "-cp", own, _MANAGER, "-format", "-nnport", str(port), "-writeConfig", str(conf / "core-site.xml")]
    command += ["-D", f"hadoop.tmp.dir={folder / 'tmp'}"] + ([] if yarn else ["-nomr"])
    with (folder / "hadoop.log").open("wb") as log:
        cluster = spawn(["env", "-C", str(folder), *command], log)
    try:
        assert eventually(lambda: (conf / "core-site.xml").is_file() or cluster.poll() is not None, 120)
        assert cluster.poll() is None, (folder / "hadoop.log").read_text(errors="replace")
        yield f"hdfs://127.0.0.1:{port}"
    finally:
        stop(cluster)
