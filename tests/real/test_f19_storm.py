"""F19 with the job behind: 10,000 clients (fewer in CI) reconnect and push the same once more, all within seconds."""

from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest
from conftest import running_gateway, start_broker
from every import every
from observe import read_all, statuses
from patience import LIMIT_S, until

from clientscope.client.raw import RawClient
from clientscope.demo.fleet import Fleet
from clientscope.findings.record import Finding
from clientscope.local.process import free_port
from clientscope.records.topics import CONFIGS, FINDINGS, RESULTS
from clientscope.wire.codes import NONE

CLIENTS = 10_000
WORKERS = 4
"""A client takes two of a worker's files, and a process may often have no more than 20,000."""


@pytest.mark.long
def test_f19_a_storm_of_clients_that_push_again_is_one_row_each_and_one_finding(tmp_path: Path) -> None:
    instances = [uuid.uuid4() for _ in range(CLIENTS)]
    started, broker = start_broker(tmp_path / "broker")
    processes = Fleet(tmp_path / "logs", lambda line: None)
    metrics = f"127.0.0.1:{free_port()}"
    try:
        processes.start(
            "stream", "stream", "--bootstrap-servers", broker.internal, "--checkpoint-dir", str(tmp_path / "checkpoints"),
            "--history-dir", str(tmp_path / "history"), "--metrics-listen", metrics, "--quality", "off",
        )  # fmt: skip
        quotas = ("--push-rate-per-address", "2000", "--push-burst-per-address", "20000")  # all from one host
        flags = (
            *quotas,
            "--workers",
            str(WORKERS),
            "--push-rate",
            "2000",
            "--push-burst",
            "20000",
            "--max-connections",
            "25000",
            "--policy-deadline-ms",
            "10000",
        )
        with running_gateway(broker.internal, broker.client, tmp_path / "gateway", *flags, listen=broker.advertised) as gateway:
            processes.await_ready("stream", timeout_s=LIMIT_S)

            def found() -> list[Finding]:
                newest = {message.key: message.value for message in read_all(broker.internal, FINDINGS)}
                made = [Finding.model_validate_json(value) for value in newest.values() if value is not None]
                return [each for each in made if each.code == "AN101" and each.application.client_id == "storm"]

            def storm(stack: ExitStack) -> None:
                def push(number: int) -> int:
                    client = stack.enter_context(RawClient.connect(gateway.address, f"storm-{number}", 60.0))
                    client.api_versions("storm", "1", instances[number])
                    return int(client.push_config([("acks", "0", 1, False)]).error_code)

                with ThreadPoolExecutor(8) as pool:
                    assert set(pool.map(push, range(CLIENTS))) == {NONE}

            with ExitStack() as first:
                storm(first)
                until(lambda: [each.client_count for each in found()], [CLIENTS])
                (before,) = found()
                written = len([m for m in read_all(broker.internal, FINDINGS) if m.key == before.fingerprint.encode()])
            with ExitStack() as second:
                storm(second)
                until(lambda: len(read_all(broker.internal, RESULTS)) >= 2 * CLIENTS)
                until(lambda: statuses(broker.internal)["query", "results"].get("lag_records"), 0)
                until(lambda: [each.client_count for each in found()], [CLIENTS])
            (after,) = found()
            assert (after.fingerprint, after.alert, after.reopened) == (before.fingerprint, before.alert, 0), "nothing is reported again"
            records = [m for m in read_all(broker.internal, FINDINGS) if m.key == before.fingerprint.encode()]
            apart_ms = [
                later.timestamp - earlier.timestamp for earlier, later in zip(records[written - 1 :], records[written:], strict=False)
            ]
            assert all(each > 25_000 for each in every(apart_ms)), "counts are written each half a minute, whatever the number of clients"
        messages = read_all(broker.internal, CONFIGS)
        assert len(messages) == 2 * CLIENTS and len({message.key for message in messages}) == CLIENTS, "one row each"
        assert len(read_all(broker.internal, RESULTS)) == 2 * CLIENTS, "each push is judged once"
    finally:
        processes.stop()
        started.stop()
