"""F49: topics have got partitions, so a job that starts reads older records of a key after newer ones; its findings are the same."""

from __future__ import annotations

import random
from typing import Any, NamedTuple
from uuid import UUID

from fleets import NOW, SECOND, rows
from hypothesis import given, settings
from hypothesis import strategies as st
from record_bytes import config_record, connection_record, setting

from clientscope.findings.conditions import Conditions
from clientscope.profiles import Thresholds
from clientscope.records.codec import Kind
from clientscope.records.topics import CONFIGS, CONNECTIONS
from streaming.findings.engine import FindingsEngine
from streaming.findings.finding_records import Policy
from udfs.kernels.finding_inputs import connected, pushed, tombstones

CLIENTS = range(5)
Step = tuple[str, int]
steps: st.SearchStrategy[list[Step]] = st.lists(
    st.tuples(
        st.sampled_from(["connects", "is identified", "pushes", "closes", "is erased", "gateway restarts"]), st.sampled_from(CLIENTS)
    ),
    max_size=40,
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
        for what, client in history:
            self.now += SECOND
            self._step(what, client)

    def _step(self, what: str, client: int) -> None:
        identity: dict[str, Any] = {"principal": "User:a", "client_id": f"app-{client}", "client_address": f"10.0.0.{client}"}
        instance = {"client_instance_id": UUID(int=client + 1)}
        if what == "connects" and client not in self._open:
            self._connections += 1
            self._open[client] = self._connections
            self._event(Kind.OPENED, client, client_address=identity["client_address"])
        elif what == "is identified" and client in self._open:
            self._event(Kind.IDENTIFIED, client, **identity, **instance)
        elif what == "closes" and client in self._open:
            self._event(Kind.CLOSED, client, **identity, **instance)
            del self._open[client]
        elif what == "pushes" and client in self._open:
            made = {**identity, **instance, "connection_id": self._open[client], "gateway_epoch": self._epoch}
            record = config_record(setting("acks", "0"), **made)
            (row,) = rows(pushed, [(self.now, record)])
            self.written.append(Written(row["client"], row))
        elif what == "is erased":
            for key in {each.key for each in self.written if each.row["kind"] is None and each.row["client_id"] == f"app-{client}"}:
                self.written += [Written(key, row) for row in rows(tombstones, [(self.now, key.encode())])]
        elif what == "gateway restarts":
            self._epoch += 1
            self._open.clear()
            self._event(Kind.HEARTBEAT, -1)

    def _event(self, kind: Kind, client: int, **fields: Any) -> None:
        self._sequence += 1
        connection = self._open.get(client, -1)
        record = connection_record(self._sequence, kind=kind, connection_id=connection, gateway_epoch=self._epoch, **fields)
        self.written += [Written("gateway", row) for row in rows(connected, [(self.now, record)])]


def read(partitions: list[list[Written]], order: random.Random, out_of_order: tuple[str, ...]) -> FindingsEngine:
    """What a job knows that reads these partitions, one record after another, whichever partition Kafka answers for first."""
    engine = FindingsEngine({}, Policy(), Thresholds(), Conditions(), out_of_order=out_of_order)
    left = [list(reversed(partition)) for partition in partitions]
    while any(left):
        engine.apply([order.choice([partition for partition in left if partition]).pop().row])
    return engine


def known(engine: FindingsEngine, now_ms: int) -> tuple[Any, ...]:
    """What it comes to: who is there, what each pushed last, and which findings are open with how many clients."""
    engine.clients.at(now_ms)
    pushes = {push.client: push.appended_ms for each in engine.clients.applications.values() for push in each.clients.values()}
    findings = {
        key: (record.state, record.client_count) for key, record in engine.changes(now_ms).items() if record and record.state == "open"
    }
    return engine.sizes()["connections"], pushes, {client for client in pushes if engine.clients.is_live(client)}, findings


@settings(max_examples=300)
@given(steps, st.data())
def test_f49_the_order_of_partitions_changes_nothing(history: list[Step], data: st.DataObject) -> None:
    records = Records(history)
    grown = data.draw(st.integers(0, len(records.written)), label="records before the topics grow")
    order = random.Random(data.draw(st.integers(0, 2**32), label="seed"))  # noqa: S311  # an order, no secret
    moved = {each.key: order.randrange(3) for each in records.written}
    partitions: list[list[Written]] = [[], [], []]
    for number, each in enumerate(records.written):
        partitions[0 if number < grown else moved[each.key]].append(each)
    in_order = read([records.written], order, ())
    engine = read(partitions, order, (CONFIGS, CONNECTIONS))
    assert known(engine, records.now + 60 * SECOND) == known(in_order, records.now + 60 * SECOND)
