"""A start reads no push again: what was judged stands on ``clientscope.results``, as long as the rules are the same."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import pytest
from conftest import RunningBroker
from observe import findings, read_all, write
from patience import until
from record_bytes import config_record, setting
from stream_job import StreamJob

from clientscope.kafka.compacted import read_compacted
from clientscope.records.codec import decode
from clientscope.records.config_record import ClientConfigRecord
from clientscope.records.topics import CONFIGS, RESULTS
from udfs.kernels.results import key_of

pytestmark = pytest.mark.faults


class Job(StreamJob):
    def states(self) -> dict[tuple[str, str], str]:
        """Of each finding of a client, by code and client.id."""
        return {(each.code, each.application.client_id or ""): each.state for each in findings(self.servers) if each.kind != "operation"}

    def caught_up(self) -> bool:
        return not self.counted("clientscope_stream_findings_catching_up") and not self.counted("clientscope_stream_engine_lag_records")

    def read(self) -> int:
        """Records that this start's live query has read."""
        return sum(number for labels, number in self.counted("clientscope_stream_input_rows_total").items() if "live" in labels)

    def pushes(self, client: str, instance: int, **settings: str) -> bytes:
        """Returns its key."""
        fields = (setting(key.replace("_", "."), value) for key, value in settings.items())
        value = config_record(*fields, client_id=client, client_instance_id=UUID(int=instance))
        key = key_of(decode(ClientConfigRecord, value)).encode()
        write(self.servers, CONFIGS, (key, value))
        return key


def test_a_start_takes_verdicts_from_their_topic_and_judges_again_where_the_rules_are_others(own: RunningBroker, tmp_path: Path) -> None:
    job = Job(own.internal, tmp_path, "--quality", "off")
    with job.running():
        orders, slow = job.pushes("orders", 1, acks="0"), job.pushes("slow", 2, acks="all")
        until(lambda: job.states().get(("AN101", "orders")), "open")
    assert len(read_compacted(own.internal, RESULTS)) == 2
    with job.running():  # nothing is new
        until(job.caught_up)
        assert job.read() == 0
        assert job.states()["AN101", "orders"] == "open"
        job.pushes("orders", 1, acks="all", delivery_timeout_ms="180000")
        until(lambda: job.states()["AN101", "orders"], "resolved")
        write(own.internal, CONFIGS, (slow, None))  # a person erases it
        until(lambda: [record.value for record in read_all(own.internal, RESULTS)][-1], None)
        assert job.read() == 2
    batch = job.pushes("batch", 3, acks="0")  # while no job runs
    rules = tmp_path / "rules.toml"
    rules.write_text('default = "ours"\n[profiles.ours.limits.AN107]\nminimum_ms = 200000\n')
    with job.running("stream", "--rules", str(rules)):
        until(lambda: job.states().get(("AN101", "batch")), "open")
        until(lambda: job.states().get(("AN107", "orders")), "open")
        until(job.caught_up)
        assert job.read() == 5, "all that the topic has, with the tombstone"
        assert {key.encode() for key in read_compacted(own.internal, RESULTS)} == {orders, batch}
