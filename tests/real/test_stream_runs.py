"""A job over a broker of its own: its starts, a backlog, an outage of its broker, and a storm of clients."""

from __future__ import annotations

import json
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from uuid import UUID

import confluent_kafka
import pytest
from conftest import RunningBroker, start_broker
from every import every
from observe import connection_records, findings, metrics, push_one, read_all, statuses, told_findings, write
from patience import LIMIT_S, until
from record_bytes import config_record, setting
from stream_job import StreamJob

from clientscope.kafka.compacted import read_compacted
from clientscope.model.codec import decode
from clientscope.model.enums import Kind
from clientscope.model.finding import Finding
from clientscope.model.push import Push
from clientscope.model.topics import CONFIGS, FINDINGS, GAUGES, RESULTS
from clientscope.wire.codes import NONE
from udfs.kernels.results import key_of


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
        value = config_record(*fields, client_id=client, instance_id=UUID(int=instance))
        key = key_of(decode(Push, value)).encode()
        write(self.servers, CONFIGS, (key, value))
        return key


@pytest.mark.faults
def test_a_start_takes_verdicts_from_their_topic_and_judges_again_where_the_rules_are_others(own: RunningBroker, tmp_path: Path) -> None:
    """A start reads no push again: what was judged stands on ``clientscope.results``, as long as the rules are the same."""
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
        until(job.read, 2)  # told a moment after the result is written
    batch = job.pushes("batch", 3, acks="0")  # while no job runs
    rules = tmp_path / "rules.toml"
    rules.write_text('default = "ours"\n[profiles.ours.limits.AN107]\nminimum_ms = 200000\n')
    with job.running("stream", "--rules", str(rules)):
        until(lambda: job.states().get(("AN101", "batch")), "open")
        until(lambda: job.states().get(("AN107", "orders")), "open")
        until(job.caught_up)
        until(job.read, 5)  # all that the topic has, with the tombstone
        assert {key.encode() for key in read_compacted(own.internal, RESULTS)} == {orders, batch}


BACKLOG = 100_000


@pytest.mark.faults
def test_findings_that_lag_say_so_until_the_backlog_is_worked_off(own: RunningBroker, tmp_path: Path) -> None:
    """F27: a backlog is worked off in order, and a secret behind it has its own finding in the end."""
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


def own_values(servers: str) -> list[bool]:
    """Of the gateway as a whole, whether each record has a value, rather than being a tombstone."""
    return [each.value is not None for each in read_all(servers, GAUGES) if len(json.loads(each.key)) == 3]


def last_heartbeat(servers: str) -> int:
    return max(record.sequence for record in connection_records(servers, kind=Kind.HEARTBEAT))


@pytest.mark.long
def test_a_living_gateway_outlives_an_outage_of_internal(tmp_path: Path) -> None:
    """It isn't lost while INTERNAL is away for longer than three heartbeats; a killed one soon is: test_path.py."""
    started, broker = start_broker(tmp_path / "broker")
    job = StreamJob(broker.internal, tmp_path, "--quality", "off")

    def is_measured() -> bool:
        return metrics(f"{job.page}metrics")[("clientscope_stream_silence_paused",)] == 0

    def beats(number: int) -> None:
        before = last_heartbeat(broker.internal)
        until(lambda: last_heartbeat(broker.internal) >= before + number)

    try:
        with job.running(), broker.gateway(tmp_path / "gateway", advertised=True):
            until(is_measured, why="some time after the job's start")
            beats(3)
            assert own_values(broker.internal) == [True]

            started.stop()
            time.sleep(20)  # many heartbeats
            started.start()
            until(lambda: not is_measured())
            beats(1)
            until(is_measured)
            beats(5)
            assert all(every(own_values(broker.internal))), "it was never lost"
            assert told_findings(broker.internal, "OP001") == []
    finally:
        started.stop()


CLIENTS = 10_000
WORKERS = 4
"""A client takes two of a worker's files, and a process may often have no more than 20,000."""


@pytest.mark.long
def test_f19_a_storm_of_clients_that_push_again_is_one_row_each_and_one_finding(own: RunningBroker, tmp_path: Path) -> None:
    """10,000 clients reconnect and push the same once more, all within seconds."""
    instances = [uuid.uuid4() for _ in range(CLIENTS)]
    with StreamJob(own.internal, tmp_path, "--quality", "off").running():
        flags = (  # all from one host
            "--push-rate-per-address", "2000", "--push-burst-per-address", "20000", "--workers", str(WORKERS), "--push-rate", "2000",
            "--push-burst", "20000", "--max-connections", "25000",
        )  # fmt: skip
        with own.gateway(tmp_path / "gateway", *flags, advertised=True) as gateway:

            def found() -> list[Finding]:
                return [each for each in findings(own.internal, "AN101") if each.application.client_id == "storm"]

            def storm(stack: ExitStack) -> None:
                def push(number: int) -> int:
                    client = stack.enter_context(gateway.named(f"storm-{number}", "storm", instance=instances[number]))
                    return push_one(client, "0")

                with ThreadPoolExecutor(8) as pool:
                    assert set(pool.map(push, range(CLIENTS))) == {NONE}

            with ExitStack() as first:
                storm(first)
                until(lambda: [each.client_count for each in found()], [CLIENTS])
                (before,) = found()
                written = len([m for m in read_all(own.internal, FINDINGS) if m.key == before.fingerprint.encode()])
            with ExitStack() as second:
                storm(second)
                until(lambda: len(read_all(own.internal, RESULTS)) >= 2 * CLIENTS)
                until(lambda: statuses(own.internal)["query", "live"].get("lag_records"), 0)
                until(lambda: [each.client_count for each in found()], [CLIENTS])
            (after,) = found()
            assert (after.fingerprint, after.alert, after.reopened) == (before.fingerprint, before.alert, 0), "nothing is reported again"
            records = [m for m in read_all(own.internal, FINDINGS) if m.key == before.fingerprint.encode()]
            apart_ms = [
                later.timestamp - earlier.timestamp for earlier, later in zip(records[written - 1 :], records[written:], strict=False)
            ]
            assert all(each > 25_000 for each in every(apart_ms)), "counts are written each half a minute, whatever the number of clients"
        messages = read_all(own.internal, CONFIGS)
        assert len(messages) == 2 * CLIENTS and len({message.key for message in messages}) == CLIENTS, "one row each"
        assert len(read_all(own.internal, RESULTS)) == 2 * CLIENTS, "each push is judged once"
