"""F27: a backlog is worked off in order; meanwhile a finding says that findings lag, and a secret behind it has its own in the end."""

from __future__ import annotations

from pathlib import Path

import confluent_kafka
import pytest
from conftest import RunningBroker
from observe import metrics, read_all, told_findings
from patience import LIMIT_S, until
from record_bytes import config_record, setting
from stream_job import StreamJob

from clientscope.records.topics import CONFIGS, FINDINGS

pytestmark = pytest.mark.faults

BACKLOG = 100_000


def test_findings_that_lag_say_so_until_the_backlog_is_worked_off(own: RunningBroker, tmp_path: Path) -> None:
    producer = confluent_kafka.Producer({"bootstrap.servers": own.internal, "linger.ms": 20, "compression.type": "lz4"})
    push = config_record(setting("acks", "all"), client_id="backlog")
    for number in range(BACKLOG):
        producer.produce(CONFIGS, push, b"%d" % number)
        if number % 10_000 == 0:
            producer.flush()
    secret = config_record(setting("sasl.password", "hunter2-canary"), client_id="leaky")
    producer.produce(CONFIGS, secret, b"leaky")
    assert producer.flush(LIMIT_S) == 0

    def lags() -> list[str]:
        return [state for state, said in told_findings(own.internal, "OP008") if said.startswith("Findings lag: some ")]

    job = StreamJob(own.internal, tmp_path, "--quality", "off")
    with job.running():
        until(lags, ["open"])
        until(lambda: any(b'"SK001"' in (message.value or b"") for message in read_all(own.internal, FINDINGS)))
        until(lambda: [state for state, _ in told_findings(own.internal, "OP008")], ["resolved"])
        until(lambda: metrics(f"{job.page}metrics")["clientscope_stream_lag_records", "0", "live", CONFIGS], 0)  # told with the next batch
        samples = metrics(f"{job.page}metrics")
        assert samples["clientscope_stream_engine_lag_records", "clientscope.results"] == 0
