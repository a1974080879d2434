"""What a job has found once it has read what was there at its start, in whatever order: connections first, what is new in between.

Where a topic has got partitions, a key's older records come after newer ones besides (F49).
"""

from __future__ import annotations

import random
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from fleets import HOUR, NOW, SECOND, rows
from hypothesis import given, settings
from hypothesis import strategies as st
from record_bytes import config_record, connection_record, setting

from clientscope.findings.conditions import Conditions
from clientscope.findings.record import Finding
from clientscope.profiles import Thresholds
from clientscope.records.layouts import Kind
from streaming.findings.engine import FindingsEngine
from streaming.findings.finding_records import Policy
from udfs.kernels.finding_inputs import connected, pushed, tombstones

CLIENTS = range(5)
CONFIGURATIONS = ({"acks": "0"}, {"acks": "all"}, {"acks": "all", "sasl.password": "hunter2-canary"})
Step = tuple[str, int, int]
_STEPS = ("starts", "starts", "pushes", "leaves", "leaves", "is erased", "gateway restarts", "two hours pass")
steps: st.SearchStrategy[list[Step]] = st.lists(
    st.tuples(st.sampled_from(_STEPS), st.sampled_from(CLIENTS), st.integers(0, len(CONFIGURATIONS) - 1)), max_size=40
)


class Written(NamedTuple):
    """A record: the key that its partition follows from, and what the engine gets of it."""

    key: str
    row: dict[str, Any]


class Records:
    """What a gateway and a person write in a history, one record a second."""

    def __init__(self, history: list[Step]) -> None:
        self.written: list[Written] = []
        self.now, self._epoch, self._sequence, self._connections = NOW, 1, 0, 0
        self._open: dict[int, int] = {}
        for what, client, which in history:
            self.now += SECOND
            self._step(what, client, CONFIGURATIONS[which])

    def _step(self, what: str, client: int, configuration: dict[str, str]) -> None:
        name = f"app-{'ab'[client % 2]}-{client}"
        identity: dict[str, Any] = {"principal": "User:a", "client_id": name, "client_address": f"10.0.0.{client}"}
        instance = {"client_instance_id": UUID(int=client + 1)}
        if what == "starts" and client not in self._open:
            self._connections += 1
            self._open[client] = self._connections
            self._event(Kind.OPENED, client, client_address=identity["client_address"])
            self._event(Kind.IDENTIFIED, client, **identity, **instance)
        if what in ("starts", "pushes") and client in self._open:
            made = {**identity, **instance, "connection_id": self._open[client], "gateway_epoch": self._epoch}
            record = config_record(*(setting(key, value) for key, value in configuration.items()), **made)
            (row,) = rows(pushed, [(self.now, record)])
            self.written.append(Written(row["client"], row))
        elif what == "leaves" and client in self._open:
            self._event(Kind.CLOSED, client, **identity, **instance)
            del self._open[client]
        elif what == "is erased":
            for key in {each.key for each in self.written if each.row["kind"] is None and each.row["client_id"] == name}:
                self.written += [Written(key, row) for row in rows(tombstones, [(self.now, key.encode())])]
        elif what == "two hours pass":
            self.now += 2 * HOUR
        elif what == "gateway restarts":
            self._epoch += 1
            self._open.clear()
            self._event(Kind.HEARTBEAT, -1)

    def _event(self, kind: Kind, client: int, **fields: Any) -> None:
        self._sequence += 1
        connection = self._open.get(client, -1)
        record = connection_record(self._sequence, kind=kind, connection_id=connection, gateway_epoch=self._epoch, **fields)
        self.written += [Written("gateway", row) for row in rows(connected, [(self.now, record)])]


class Job:
    """An engine that starts, and gets one record after another.

    Args:
        new: what is written after its start, in order; some of it comes while it still reads what was there.
    """

    def __init__(self, new: list[Written], order: random.Random) -> None:
        self.engine = FindingsEngine({}, Policy(), Thresholds(), Conditions())
        self._new, self._order = list(reversed(new)), order

    def read(self, partitions: list[list[Written]]) -> None:
        """What was there at its start, whichever partition Kafka answers for first."""
        left = [list(reversed(partition)) for partition in partitions]
        while any(left):
            self.engine.apply([self._order.choice([partition for partition in left if partition]).pop().row])
            if self._new and self._order.random() < 0.3:
                self.engine.apply([self._new.pop().row])

    def read_what_is_new(self) -> None:
        """All of it."""
        while self._new:
            self.engine.apply([self._new.pop().row])


def known(engine: FindingsEngine, now_ms: int) -> tuple[Any, ...]:
    """What it comes to: who is there, what each pushed last, and what is found, of how many clients.

    Without AN401, which is about starts: which of a client's pushes was its first one is known only until compaction runs.
    """
    findings = {key: found(record) for key, record in engine.changes(now_ms).items() if record and record.code != "AN401"}
    pushes = {push.client: push.appended_ms for push in engine.clients.all()}
    return engine.sizes()["connections"], pushes, {client for client in pushes if engine.clients.is_live(client)}, findings


def found(record: Finding) -> tuple[Any, ...]:
    return record.code, record.state, record.severity, record.client_count, record.first_seen_ms, record.last_seen_ms, record.message


@settings(max_examples=300)
@given(steps, st.data())
def test_f49_what_is_found_does_not_depend_on_the_order_of_reading(history: list[Step], data: st.DataObject) -> None:
    records = Records(history)
    grown = data.draw(st.integers(0, len(records.written)), label="records before the topics grow")
    started = data.draw(st.integers(grown, len(records.written)), label="records before the job starts")
    order = random.Random(data.draw(st.integers(0, 2**32), label="seed"))  # noqa: S311  # an order, no secret
    moved = {each.key: order.randrange(3) for each in records.written}
    there: dict[bool, list[list[Written]]] = {True: [[], [], []], False: [[], [], []]}
    for number, each in enumerate(records.written[:started]):
        there[each.key == "gateway"][0 if number < grown else moved[each.key]].append(each)
    job = Job(records.written[started:], order)
    job.read(there[True])
    job.engine.connections_are_read()
    job.read(there[False])
    job.read_what_is_new()
    in_order = Job(records.written, order)
    in_order.read_what_is_new()
    now_ms = records.now + 60 * SECOND
    *clients, findings = known(job.engine, now_ms)
    *clients_in_order, findings_in_order = known(in_order.engine, now_ms)
    assert clients == clients_in_order
    # A push whose tombstone was read first was never there; in order it was seen, and then erased.
    assert findings == findings_in_order or "is erased" in {what for what, *_ in history}


@pytest.mark.parametrize("reverse", [False, True])
def test_an_application_s_last_change_is_found_in_any_order(reverse: bool) -> None:
    records = Records([("starts", 0, 0), ("leaves", 0, 0), ("starts", 2, 1), ("leaves", 2, 0), ("starts", 4, 0)])
    pushes = [each for each in records.written if each.row["kind"] is None]
    job = Job([], random.Random(0))  # noqa: S311  # an order, no secret
    job.read([[each for each in records.written if each.row["kind"] is not None]])
    job.read([pushes[::-1] if reverse else pushes])
    (change,) = [record for record in job.engine.changes(records.now).values() if record and record.code == "AN401"]
    assert change.evidence == ["acks: 0 before, all now"]


@pytest.mark.parametrize("keys", [("db.password", "sasl.password"), ("sasl.password", "db.password")])
def test_of_two_pushes_of_one_moment_the_same_one_is_named_in_any_order(keys: tuple[str, str]) -> None:
    found = []
    for reverse in (False, True):
        records = Records([])
        for number, key in enumerate(keys):
            record = config_record(setting(key, "hunter2-canary"), client_id=f"app-{'ab'[number]}", client_instance_id=UUID(int=number + 1))
            records.written += [Written("", row) for row in rows(pushed, [(records.now, record)])]
        job = Job(records.written[::-1] if reverse else records.written, random.Random(0))  # noqa: S311  # an order, no secret
        job.read_what_is_new()
        (leak,) = [record for record in job.engine.changes(records.now).values() if record and record.code == "SK001"]
        found.append((leak.message, leak.settings, leak.application))
    assert found[0] == found[1]
