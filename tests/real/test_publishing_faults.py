"""F16: the cluster with our topics is gone or refuses our records: clients' traffic continues, and the records follow later.

What bounds an outage is the number of records that wait, not time, so the queue is made small enough (300 records) to overflow within
seconds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import kafka
import pytest
from conftest import RunningBroker, RunningGateway, running_gateway
from cut import Cuttable
from kafka.admin import (
    ACL,
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    ResourcePattern,
    ResourceType,
)
from observe import await_count, configurations, connection_records, count, make_topic, set_topic
from patience import LIMIT_S, until

from clientscope import topics
from clientscope.client.raw import RawClient
from clientscope.local.broker import BrokerPlan, EmbeddedBroker
from clientscope.local.process import free_port
from clientscope.model.enums import OF_GATEWAYS, Kind, Origin
from clientscope.model.topics import CONNECTIONS

pytestmark = pytest.mark.faults

TOPIC = "test.outage"
QUEUE = 300
FLAGS = ("--publish-queue-records", str(QUEUE))
_AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
}


@pytest.fixture(scope="module")
def secluded(folder: Path) -> Iterator[tuple[RunningBroker, Cuttable]]:
    """A broker whose INTERNAL listener is advertised, and reached, through what can be cut; `RunningBroker.internal` is the way around.

    Two more listeners would do as well; a second address of one listener needs no setting but ``advertised.listeners``.
    """
    internal, between = free_port(), free_port()
    plan = BrokerPlan(free_port(), internal, f"127.0.0.1:{free_port()}", folder / "secluded")
    around = free_port()
    extra = {
        **_AUTHORIZER,
        "listeners": f"CLIENT://127.0.0.1:{plan.port},INTERNAL://127.0.0.1:{internal},AROUND://127.0.0.1:{around},"
        f"CONTROLLER://127.0.0.1:{free_port()}",
        "advertised.listeners": f"CLIENT://{plan.advertised},INTERNAL://127.0.0.1:{between},AROUND://127.0.0.1:{around}",
        "listener.security.protocol.map": "CLIENT:PLAINTEXT,INTERNAL:PLAINTEXT,AROUND:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "AROUND",
    }
    extra["controller.quorum.bootstrap.servers"] = extra["listeners"].rpartition("//")[2]
    with (
        EmbeddedBroker(replace(plan, extra=extra)),
        Cuttable(("127.0.0.1", internal), between) as cuttable,
    ):
        topics.create(f"127.0.0.1:{around}")
        make_topic(f"127.0.0.1:{around}", TOPIC)
        yield RunningBroker(f"127.0.0.1:{around}", f"127.0.0.1:{plan.port}", plan.advertised, 0, plan.data_dir), cuttable


def come_and_go(gateway: RunningGateway, times: int) -> None:
    for _ in range(times):
        gateway.named("passing").close()


def produced(gateway: RunningGateway, number: int) -> None:
    with kafka.KafkaProducer(bootstrap_servers=gateway.address, client_id="through") as producer:
        for value in range(number):
            producer.send(TOPIC, b"%d" % value)
        producer.flush(LIMIT_S)


def open_by_topic(records: list[Any]) -> dict[int, str]:
    """Who is connected, as somebody has it who has read the topic; in the order of sequences, as readers see to."""
    found: dict[int, str] = {}
    closed = {record.connection for record in records if record.kind == Kind.CLOSED}
    for record in sorted(records, key=lambda record: record.sequence):
        if record.connection not in closed and record.kind not in OF_GATEWAYS:
            found[record.connection] = record.software_name
    return found


def last_counts(records: list[Any]) -> dict[str, int]:
    newest = max((record for record in records if record.kind == Kind.HEARTBEAT), key=lambda record: record.sequence)
    return {entry.software_name: entry.connections for entry in newest.counts if entry.connections}


def test_f16_the_cluster_of_our_topics_is_gone_for_a_while(secluded: Any, tmp_path: Path) -> None:
    broker, cuttable = secluded
    with ExitStack() as stack:
        gateway = stack.enter_context(running_gateway(cuttable.address, broker.client, tmp_path, *FLAGS, listen=broker.advertised))

        def connect(name: str) -> RawClient:
            return stack.enter_context(gateway.named(name))

        stays, leaves = connect("stays"), connect("leaves")
        until(lambda: {"stays", "leaves"} <= set(open_by_topic(connection_records(broker.internal)).values()))
        cuttable.cut()
        pushes = connect("pushes")
        push = pushes.push_config([("acks", "all", 1, False)])
        assert push.error_code == 0, "answered after 100 ms, and kept"
        await_count(gateway, "pushes_answered_early", "timeout", 1)
        produced(gateway, 500)
        come_and_go(gateway, 2 * QUEUE)
        leaves.close()
        late = connect("late")
        produced(gateway, 500)
        until(lambda: count(gateway, "lost", "queue_full") > QUEUE)
        assert stays.api_versions("stays", "2").error_code == 0
        assert pushes.api_versions("pushes", "1").error_code == late.api_versions("late", "1").error_code == 0
        lost = late.push_config([("acks", "all", 1, False)])
        assert (lost.error_code, lost.throttle_time_ms) == (89, 1000), "no room: the answer asks the client to try again"
        before = len(connection_records(broker.internal))
        cuttable.restore()
        until(lambda: set(open_by_topic(connection_records(broker.internal)).values()), {"stays", "pushes", "late"})
        until(lambda: last_counts(connection_records(broker.internal)), {"stays": 1, "pushes": 1, "late": 1})
        assert len(connection_records(broker.internal)) - before < 3 * QUEUE
        seen = configurations(broker.internal)
        assert {(record.client_id, record.origin) for record in seen} == {("pushes", Origin.PUSHED), ("through", Origin.OBSERVED)}
        records = {record.connection: record for record in connection_records(broker.internal) if record.kind == Kind.PRESENT}
        again = {record.software_name for record in records.values()}
        assert again - {"pushes"} == {"stays", "late"}, "the versions that a client has requested are such a record, too"
        lost_before = count(gateway, "lost", "queue_full")
        come_and_go(gateway, 5)
        await_count(gateway, "lost", "queue_full", lost_before)


@contextmanager
def unauthorised(servers: str) -> Iterator[None]:
    """Nobody may write to the topic of connections."""
    topic = ResourcePattern(ResourceType.TOPIC, CONNECTIONS)
    forbidden = ("User:ANONYMOUS", "*", ACLOperation.WRITE, ACLPermissionType.DENY, topic)
    with kafka.KafkaAdminClient(bootstrap_servers=servers) as admin:
        admin.create_acls([ACL(*forbidden)])
        try:
            yield
        finally:
            assert admin.delete_acls([ACLFilter(*forbidden)])


@contextmanager
def takes_nothing(servers: str) -> Iterator[None]:
    """The topic of connections takes no record, however small; such an error is for good, so a record is given up at once."""
    set_topic(servers, CONNECTIONS, {"max.message.bytes": "1"})
    try:
        yield
    finally:
        set_topic(servers, CONNECTIONS, {"max.message.bytes": "1048588"})


@pytest.mark.parametrize(("refusing", "reason"), [(unauthorised, "queue_full"), (takes_nothing, "too_large")])
def test_f16_writing_is_refused_for_a_while(secluded: Any, tmp_path: Path, refusing: Callable[[str], Any], reason: str) -> None:
    broker, cuttable = secluded
    with ExitStack() as stack:
        gateway = stack.enter_context(running_gateway(cuttable.address, broker.client, tmp_path, *FLAGS))
        with refusing(broker.internal):
            stack.enter_context(gateway.named("early"))
            come_and_go(gateway, 2 * QUEUE)
            stack.enter_context(gateway.named("late"))
            until(lambda: count(gateway, "lost", reason) > QUEUE, why="dropped, and counted by reason")
        ours = lambda: connection_records(broker.internal, gateway.address)  # noqa: E731
        until(lambda: set(open_by_topic(ours()).values()), {"early", "late"})
        until(lambda: last_counts(ours()), {"early": 1, "late": 1})
    lines = (tmp_path / "gateway.log").read_text().splitlines()
    refusals = [line for line in lines if re.search("not acknowledged", line)]
    assert (reason == "queue_full") <= len(refusals) < 10, "one line where it begins, not one for each record"
