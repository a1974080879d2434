"""The job on a real Spark cluster: the same results as in local mode, also after an executor's death."""

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
from conftest import RunningBroker
from observe import private_file, write
from outcome import Input, comes_out
from patience import until
from record_bytes import config_record
from standalone import for_submit, secret, standalone
from stream_job import KEY

from clientscope.records.topics import CONFIGS

SEED = 23


@pytest.mark.long
def test_f21_f22_a_cluster_says_the_same_also_when_executors_and_decoders_die(own: RunningBroker, tmp_path: Path) -> None:
    """`outcome` is what test_stream_faults.py holds local mode to; the code comes from the zip alone (`standalone`)."""
    chance = random.Random(SEED)  # noqa: S311 - moments that can be had again
    digest_key = private_file(tmp_path / "digest.key", KEY.secret)
    for_submit(tmp_path / "submit")
    written = Input(own.internal, SEED)
    written.write(200)
    with standalone(tmp_path / "cluster", secret(tmp_path)) as cluster:
        assert cluster.refuses("stranger"), "who hasn't the secret"
        given = ("--conf", "spark.sql.shuffle.partitions=2", "--name", "ours")
        cluster.run(tmp_path / "submit", own.internal, tmp_path, digest_key, "--quality", "off", given=given)
        cluster.await_ready()
        comes_out(own.internal, tmp_path / "history", KEY)
        (offsets,) = (tmp_path / "checkpoints" / "live").glob("*/offsets/0")
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
        spoken = (tmp_path / "conf" / "spark-defaults.conf").read_text().split("spark.authenticate.secret ")[1].split()[0]
        for process in (Path(path) for path in Path("/proc").glob("[0-9]*/cmdline")):
            with suppress(OSError):
                assert spoken.encode() not in process.read_bytes(), "nobody reads it among the processes"
        before = len(cluster.log())
        (where,) = write(own.internal, CONFIGS, (b"deadly", config_record(client_id="deadly:exit")))
        written.write(50)
        comes_out(own.internal, tmp_path / "history", KEY, {(where.topic, where.partition, where.offset)})
        assert re.search(r"Task \d+ in stage \S+ failed 4 times", cluster.log()[before:]), "the task is tried again before its query is"
        assert cluster.stop_job() == 0, cluster.log()
