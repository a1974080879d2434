"""gateway/worker: reports that the main process can't take are replaced by a later list of open connections."""

from __future__ import annotations

import asyncio
import socket
from multiprocessing.connection import Connection
from types import SimpleNamespace
from typing import Any

import pytest
from request_contexts import PLACE

from clientscope.config import GatewaySettings
from clientscope.gateway import channel as channels
from clientscope.gateway.channel import Channel
from clientscope.gateway.worker.messages import Closed, Opened, Report, Said, Standing, WorkerPlan
from clientscope.gateway.worker.process import Worker
from clientscope.policy.interface import ClientConfig
from clientscope.session.state import Identified, Identity, Pushed, RequestFields
from clientscope.wire.describe_cluster import NO_SOFTWARE

PLAN = WorkerPlan(1 << 32, GatewaySettings(), PLACE, NO_SOFTWARE)


def relay(address: str) -> Any:
    """Of a relay, what a worker keeps of it."""
    answers: list[Any] = []
    session = SimpleNamespace(identity=Identity("app"), requested=(), shown=(RequestFields(0, 9, (("acks", "1"),)),))
    connection = SimpleNamespace(session=session)
    return SimpleNamespace(address=address, connection=connection, connection_id=-1, answers=answers, handle=answers.append)


async def worker_and_reader() -> tuple[Worker, Connection]:
    ours, theirs = socket.socketpair()
    loop = asyncio.get_running_loop()
    worker: Worker | None = None
    _, channel = await loop.create_unix_connection(lambda: Channel(lambda _: None, drained=lambda: worker and worker.room()), sock=ours)
    worker = Worker(PLAN, channel)
    return worker, Connection(theirs.detach())


async def read_until_quiet(reader: Connection) -> list[Report]:
    reports = []
    while await asyncio.to_thread(reader.poll, 0.3):
        reports.append(await asyncio.to_thread(reader.recv))
    return reports


def test_reports_are_gathered_and_pushes_are_not() -> None:
    async def scenario() -> list[Report]:
        worker, reader = await worker_and_reader()
        one = relay("10.0.0.1")
        for _ in range(50):
            one.connection_id = worker.opened(one, one.address)
        worker.reporter.count("frames_refused", "bad_length")
        worker.reporter.count("frames_refused", "bad_length")
        worker.report(one, Pushed(1, (ClientConfig("acks", "all", 1, False),)))
        return await read_until_quiet(reader)

    (report,) = asyncio.run(scenario())
    assert [type(event) for event in report.events] == [Opened] * 50 + [Said]
    assert report.counts == {("frames_refused", "bad_length"): 2}


def test_who_says_at_once_who_it_is_is_one_event() -> None:
    async def scenario() -> list[Report]:
        worker, reader = await worker_and_reader()
        quick, slow = relay("10.0.0.1"), relay("10.0.0.2")
        for one in (quick, slow):
            one.connection_id = worker.opened(one, one.address)
        worker.report(quick, Identified(Identity("before")))
        worker.report(quick, Identified(Identity("quick")))
        worker.closed(quick, "client_closed", None)
        reports = await read_until_quiet(reader)
        worker.report(slow, Identified(Identity("slow")))
        return reports + await read_until_quiet(reader)

    first, second = asyncio.run(scenario())
    assert first.events == [
        Opened(1 << 32, "10.0.0.1", Identity("quick")),
        Opened((1 << 32) + 1, "10.0.0.2"),
        Closed(1 << 32, "client_closed"),
    ]
    assert second.events == [Said((1 << 32) + 1, Identified(Identity("slow")))]


def test_what_the_main_process_did_not_take_is_made_good(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channels, "MOST_UNSENT", 10_000)

    async def scenario() -> tuple[list[Report], set[int], list[Any]]:
        worker, reader = await worker_and_reader()
        relays = []
        for number in range(8_000):
            relays.append(one := relay(f"10.0.{number // 250}.{number % 250}"))
            one.connection_id = worker.opened(one, one.address)
            worker.reporter.count("upstream_failures", "TimeoutError")
            if number % 50 == 0:
                await asyncio.sleep(0.006)
            if number % 2:
                worker.closed(one, "client_closed", None)
        asking = relays[-2]
        worker.report(asking, Pushed(7, ()))
        await asyncio.sleep(0.01)
        answered = list(asking.answers)
        return await read_until_quiet(reader), {one.connection_id for one in relays[::2]}, answered

    reports, open_ids, answered = asyncio.run(scenario())
    seen: set[int] = set()
    standing = 0
    for event in (event for report in reports for event in report.events):
        match event:
            case Opened(connection_id):
                seen.add(connection_id)
            case Closed(connection_id):
                seen.discard(connection_id)
            case Standing(connections):
                standing += 1
                seen = {connection_id for connection_id, *_ in connections}
    assert standing
    assert seen == open_ids
    assert sum(report.counts.get(("upstream_failures", "TimeoutError"), 0) for report in reports) == 8_000
    assert [event.token for event in answered] == [7], "a push is sent away at once"
    assert sum(report.counts.get(("pushes_refused", "busy"), 0) for report in reports) == 1
