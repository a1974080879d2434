"""A gateway in front of a broker of Kafka 3.9: older than its clients, and than what clientscope's own broker is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest
from clients.script import variants, work
from conftest import RunningBroker, RunningGateway, running_gateway, start_broker
from observe import eventually, gateway_connections, read_all
from test_api_versions import CASES, INSTANCE, replay, same_but_for_our_key
from test_client_matrix import CLIENTS, was_real_work

from clientscope.catalog.releases import infer
from clientscope.client.raw import RawClient
from clientscope.cluster.api_versions import ask
from clientscope.demo.watch import jmx_connections
from clientscope.records.client_key import instance_of
from clientscope.records.topics import CONFIGS
from clientscope.wire import api_versions
from clientscope.wire.codes import UNSUPPORTED_VERSION


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBroker]:
    started, running = start_broker(tmp_path_factory.mktemp("older-broker"), "broker-3.9")
    yield running
    started.stop()


@pytest.fixture(scope="module")
def gateway(broker: RunningBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningGateway]:
    with running_gateway(broker.internal, broker.client, tmp_path_factory.mktemp("older"), listen=broker.advertised) as running:
        yield running


def test_each_answer_is_the_brokers_own_but_for_our_key(broker: RunningBroker, gateway: RunningGateway) -> None:
    """It lacks v5, and answers in v0, with error 35."""
    for payload in CASES.values():
        same_but_for_our_key(broker, gateway, payload)
    assert api_versions.error_code(replay(gateway.address, CASES["v5"])) == UNSUPPORTED_VERSION


IN_CI = ("confluent-kafka", "java 4.4")
ALWAYS, LONG = (), pytest.mark.long_form(only=True)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", [pytest.param(name, marks=ALWAYS if name in IN_CI else LONG) for name in CLIENTS])
def test_f05_a_client_of_an_older_broker_sees_the_same_as_direct(broker: RunningBroker, gateway: RunningGateway, name: str) -> None:
    seen: list[object] = []
    with CLIENTS[name](broker.internal) as client:
        direct = work(client, "direct")
        client.address = gateway.address
        through = work(client, "through", lambda: seen.append(gateway_connections(gateway.metrics_url)))
        identity, ways = client.identity, list(variants(client, ""))
    assert through == direct
    was_real_work(direct, ways)
    assert identity in seen[-1]  # type: ignore[operator]
    assert eventually(lambda: gateway_connections(gateway.metrics_url) == {} == jmx_connections(broker.jmx_port))


def test_its_release_is_inferred_from_its_api_ranges(broker: RunningBroker) -> None:
    (answer,) = ask({"bootstrap_servers": broker.internal}).answers
    assert str(infer(answer.ranges, answer.finalized, answer.supported)) == "3.9"


def test_a_push_is_taken(broker: RunningBroker, gateway: RunningGateway) -> None:
    with closing(RawClient.connect(gateway.address, "newer")) as client:
        assert client.api_versions("newer", "9.9", INSTANCE).error_code == 0
        assert client.push_config([("acks", "all", 1, True)]).error_code == 0
    assert [instance_of(message.key.decode()) for message in read_all(broker.internal, CONFIGS)] == [str(INSTANCE)]
