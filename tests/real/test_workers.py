"""Several workers on one port: one consistent list of all their connections, also when one of them is killed."""

from __future__ import annotations

import os
import signal
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from conftest import RunningGateway, running_gateway
from every import every
from http_attacks import connected
from observe import connection_records, count, gateway_connections, metrics, parent, workers
from patience import until

from clientscope.client.raw import RawClient
from clientscope.records.enums import Kind

NAME = ("spread", "1")


def connect(gateway: RunningGateway, stack: ExitStack) -> RawClient:
    client = stack.enter_context(RawClient.connect(gateway.address, "spread"))
    client.api_versions(*NAME)
    return client


def is_open(client: RawClient) -> bool:
    try:
        return bool(client.api_versions(*NAME).error_code == 0)
    except OSError:
        return False


def test_a_worker_that_is_killed_takes_its_own_connections_with_it_and_no_other(broker: Any, tmp_path: Path) -> None:
    with (
        running_gateway(broker.internal, broker.client, tmp_path, "--workers", "3", "--gateway-id", "killed") as gateway,
        ExitStack() as stack,
    ):
        clients = [connect(gateway, stack) for _ in range(60)]
        until(lambda: gateway_connections(gateway.metrics_url), {NAME: 60})
        until(lambda: len(workers(gateway.pid)), 3)
        running = workers(gateway.pid)
        os.kill(running.pop(), signal.SIGKILL)
        left = [client for client in clients if is_open(client)]
        assert 0 < len(left) < 60
        until(lambda: gateway_connections(gateway.metrics_url) == {NAME: len(left)})
        lost = 60 - len(left)
        until(lambda: count(gateway, "connections_closed", "worker_lost"), lost)
        again = [connect(gateway, stack) for _ in range(40)]
        assert all(map(is_open, every([*left, *again])))
        until(lambda: gateway_connections(gateway.metrics_url) == {NAME: len(left) + 40})
        assert metrics(gateway.metrics_url)["clientscope_gateway_event_loop_lag_seconds_count", "worker"] > 0
    records = connection_records(broker.internal, "killed")
    assert [record.sequence for record in records] == list(range(len(records)))
    opened = [record.connection_id for record in records if record.kind == Kind.OPENED]
    closed = {record.connection_id: record.reason for record in records if record.kind == Kind.CLOSED}
    assert len(set(opened)) == len(opened) == len(closed) == 100
    assert list(closed.values()).count("worker_lost") == lost


def test_a_gateway_that_can_make_no_more_workers_stops_and_says_so(broker: Any, tmp_path: Path) -> None:
    with running_gateway(broker.internal, broker.client, tmp_path, "--workers", "2") as gateway:
        until(lambda: len(workers(gateway.pid)), 2)
        first, second = workers(gateway.pid)
        os.kill(parent(first), signal.SIGKILL)  # the template
        os.kill(first, signal.SIGKILL)
        until(lambda: "the gateway stops, to be started again" in (tmp_path / "gateway.log").read_text())
        until(lambda: not Path(f"/proc/{second}").exists())


def test_limits_hold_for_all_workers_together(broker: Any, tmp_path: Path) -> None:
    flags = ("--workers", "3", "--max-connections", "30")
    with running_gateway(broker.internal, broker.client, tmp_path, *flags) as gateway, ExitStack() as stack:
        for _ in range(60):
            stack.enter_context(connected(gateway.address))
        until(lambda: sum(gateway_connections(gateway.metrics_url).values()), 30)
        until(lambda: count(gateway, "connections_refused", "max_connections"), 30)
