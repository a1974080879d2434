"""Memory of a client: what it has in common with others is held once."""

from __future__ import annotations

import gc
import tracemalloc
from dataclasses import replace
from pathlib import Path

import fleets
from fleets import Fleet

import streaming.findings
from clientscope import digest
from streaming.findings.clients import PushedClients
from streaming.findings.inputs import There, judged_push
from streaming.findings.liveness import Liveness

FINDINGS = Path(streaming.findings.__file__).parent
MISTAKES = {"acks": "1", "enable.idempotence": "false", "retries": "0", "linger.ms": "0", "delivery.timeout.ms": "1"}
CLIENTS = 1_000


def held_bytes() -> int:
    gc.collect()
    # Named tuples are made in <string>, as collections.namedtuple evaluates it; what rows bring, in the test's own file.
    where = (str(FINDINGS / "*.py"), digest.__file__, "<string>", fleets.__file__)
    kept = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(True, each) for each in where])
    return sum(each.size for each in kept.statistics("filename"))


def test_a_push_has_the_whereabouts_of_its_connection(fleet: Fleet) -> None:
    fleet.connect("orders-1")
    fleet.push("orders-1", instance=1)
    (push,) = fleet.engine.clients.all()
    assert fleet.engine._liveness.known(There(*push.there)) is push.there


def test_pushes_that_share_settings_weigh_nothing_once_all_are_gone(fleet: Fleet) -> None:
    for number, settings in enumerate(({"acks": "all"}, MISTAKES)):
        fleet.push(f"app-{number}", instance=number, settings=settings)
    pushes = [judged_push(replace(each, configuration=None)) for each in fleet.results()]
    clients = PushedClients(Liveness())
    for push in pushes:
        clients.apply(push)
    assert pushes[0].settings is pushes[1].settings and pushes[0].size != pushes[1].size
    for push in pushes:
        clients.erase(push.client)
    assert clients.held_bytes == 0


def test_a_finding_that_all_clients_have_takes_little_for_each(fleet: Fleet) -> None:

    def come(numbers: range) -> None:
        fleet.are_connected(numbers)
        fleet.push_all({"client": f"app-{number}", "instance": number, "connection": number, "settings": MISTAKES} for number in numbers)
        fleet.later(1_000)

    tracemalloc.start()
    try:
        come(range(1, 101))
        before = held_bytes()
        come(range(101, 101 + CLIENTS))
        a_client = (held_bytes() - before) / CLIENTS
    finally:
        tracemalloc.stop()
    assert len(fleet.findings()) > 3
    assert a_client < 1_850, f"{a_client:.0f} bytes"
