"""F19 with the job behind: 10,000 clients (fewer in CI) reconnect and push the same once more, all within seconds."""

from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest
from conftest import RunningBroker, running_processes
from every import every
from observe import findings, push_one, read_all, statuses
from patience import LIMIT_S, until

from clientscope.findings.record import Finding
from clientscope.records.topics import CONFIGS, FINDINGS, RESULTS
from clientscope.wire.codes import NONE

CLIENTS = 10_000
WORKERS = 4
"""A client takes two of a worker's files, and a process may often have no more than 20,000."""


@pytest.mark.long
def test_f19_a_storm_of_clients_that_push_again_is_one_row_each_and_one_finding(own: RunningBroker, tmp_path: Path) -> None:
    instances = [uuid.uuid4() for _ in range(CLIENTS)]
    with running_processes(tmp_path / "logs") as processes:
        processes.start(
            "stream", "stream", "--bootstrap-servers", own.internal, "--checkpoint-dir", str(tmp_path / "checkpoints"),
            "--history-dir", str(tmp_path / "history"), "--metrics-listen", "127.0.0.1:0", "--quality", "off",
        )  # fmt: skip
        flags = (  # all from one host
            "--push-rate-per-address", "2000", "--push-burst-per-address", "20000", "--workers", str(WORKERS), "--push-rate", "2000",
            "--push-burst", "20000", "--max-connections", "25000",
        )  # fmt: skip
        with own.gateway(tmp_path / "gateway", *flags, advertised=True) as gateway:
            processes.await_ready("stream", timeout_s=LIMIT_S)

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
