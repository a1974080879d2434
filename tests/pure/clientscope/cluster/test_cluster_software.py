"""cluster/software: declared before JMX before inferred, and null where nothing is known; and how a broker is asked for its versions."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace

import pytest
from every import every
from jmx_exporter import PAGE, exporter
from scripted_broker import CLOSE, ScriptedBroker

from clientscope.catalog.releases import releases
from clientscope.cluster.api_versions import AnswerState, Broker, BrokerAnswer, ask
from clientscope.cluster.software import (
    UNKNOWN,
    BrokerDetails,
    FoundSoftware,
    SoftwareSource,
    app_info_version,
    find_all,
    from_jmx,
    from_ranges,
)
from clientscope.errors import EnvironmentProblem
from clientscope.local.process import free_port
from clientscope.wire.codes import API_VERSIONS
from clientscope.wire.describe_cluster import BrokerSoftware

NEWEST = releases()[-1]
SAID = {**NEWEST.fixed, **NEWEST.forwarded}


def answer(broker_id: int = 1, state: AnswerState = AnswerState.ANSWERED) -> BrokerAnswer:
    return BrokerAnswer(Broker(broker_id, "b", 9092), state, ranges=SAID if state is AnswerState.ANSWERED else {})


def runs(broker: BrokerDetails) -> FoundSoftware:
    return FoundSoftware(broker.software_name, broker.software_version, broker.source and SoftwareSource(broker.source))


@pytest.mark.parametrize(
    ("page", "version"),
    [
        (PAGE % "4.4.0", "4.4.0"),
        ('kafka_server_app_info{version="3.7.0",id="2"} 1', "3.7.0"),
        ('kafka_server_app{id="2",version="3.7.0"} 1.0', "3.7.0"),
        ('kafka_server_app_info_version{id="1",version="3.7.0"} 1\nkafka_server_app_info_version{id="1",version="3.8.0"} 1', None),
        ('kafka_server_app_info_starttimems{id="1"} 1.7e12', None),
        ("kafka_client_connections 1", None),
        ("", None),
    ],
)
def test_app_info(page: str, version: str | None) -> None:
    assert app_info_version(page) == version


@pytest.mark.parametrize(("version", "name"), [("4.4.0", "Kafka"), ("4.5.0-SNAPSHOT", "Kafka"), ("7.6.0-ccs", None)])
def test_jmx_knows_the_name_of_apaches_releases_alone(version: str, name: str | None) -> None:
    with exporter(PAGE % version) as url:
        assert from_jmx(url) == FoundSoftware(name, version, SoftwareSource.JMX)


def test_an_exporter_that_tells_nothing_is_said() -> None:
    with exporter("jvm_info 1\n") as url, pytest.raises(EnvironmentProblem, match="has no version"):
        from_jmx(url)
    with exporter("kafka_server_app_info{version= 1\n") as url, pytest.raises(EnvironmentProblem, match="no JMX exporter answers"):
        from_jmx(url)
    with exporter("", 404) as url, pytest.raises(EnvironmentProblem, match="Not Found"):
        from_jmx(url)
    with pytest.raises(EnvironmentProblem, match="Connection refused"):
        from_jmx(url)


def test_which_source_holds() -> None:
    declared = {1: FoundSoftware("redpanda", "v24.2", SoftwareSource.DECLARED)}
    with exporter(PAGE % "4.4.0") as url:
        found = find_all([answer(n) for n in (1, 2, 3)], declared, {1: url, 2: url})
    inferred = FoundSoftware("Kafka", "4.4", SoftwareSource.INFERRED)
    assert [*map(runs, found)] == [declared[1], FoundSoftware("Kafka", "4.4.0", SoftwareSource.JMX), inferred]
    assert not any(each.problem for each in every(found))


@pytest.mark.parametrize("state", [AnswerState.CLOSED, AnswerState.UNREACHABLE])
def test_of_a_silent_broker_nothing_is_known(state: AnswerState) -> None:
    assert from_ranges(answer(state=state)) == UNKNOWN
    (found,) = find_all([answer(state=state)], {}, {})
    assert (runs(found), found.state) == (UNKNOWN, str(state))


def test_what_its_gateway_says_holds_before_what_is_inferred_and_behind_what_is_given() -> None:
    said = replace(answer(1), software=BrokerSoftware("Mine", "1.0"))
    half = replace(answer(2), software=BrokerSoftware(None, "7.6.0-ccs"))
    found = find_all([said, half, answer(3)], {}, {})
    assert [*map(runs, found)] == [
        FoundSoftware("Mine", "1.0", SoftwareSource.GATEWAY),
        FoundSoftware(None, "7.6.0-ccs", SoftwareSource.GATEWAY),
        FoundSoftware("Kafka", "4.4", SoftwareSource.INFERRED),
    ]
    declared = {1: FoundSoftware("redpanda", None, SoftwareSource.DECLARED)}
    (one,) = find_all([said], declared, {})
    assert runs(one) == declared[1]
    (one,) = find_all([said], {}, {1: f"http://127.0.0.1:{free_port()}/metrics"})
    assert (one.source, "no JMX exporter answers" in (one.problem or "")) == (SoftwareSource.GATEWAY, True)


@pytest.mark.parametrize(
    ("newest", "state", "version", "last"),
    [
        (4, AnswerState.ANSWERED, 4, [4]),
        (3, AnswerState.ANSWERED, 0, [4, 0]),
        (0, AnswerState.ANSWERED, 0, [4, 0]),
        (-1, AnswerState.CLOSED, None, [4, 0]),
    ],
)
def test_a_broker_that_closes_is_asked_for_v0(newest: int, state: AnswerState, version: int | None, last: list[int]) -> None:
    otherwise = {API_VERSIONS: lambda request: CLOSE if newest < request.API_VERSION else None}
    with closing(ScriptedBroker()) as first, closing(ScriptedBroker(otherwise=otherwise)) as asked:
        first.brokers = {2: asked.port}
        (answer,) = ask({"bootstrap_servers": first.address}).answers
        versions = [request.API_VERSION for requests in asked.connections for request in requests if request.API_KEY == API_VERSIONS]
    assert (answer.state, answer.version, versions[-len(last) :]) == (state, version, last)
    assert bool(answer.ranges) is (state is AnswerState.ANSWERED)
