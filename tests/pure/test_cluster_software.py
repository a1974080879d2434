"""cluster/software: declared before JMX before inferred, and null where nothing is known."""

from __future__ import annotations

import pytest
from jmx_exporter import PAGE, exporter

from clientscope.catalog.releases import releases
from clientscope.cluster.api_versions import Answer, Broker, State
from clientscope.cluster.software import UNKNOWN, Software, Source, app_info_version, as_json, find_all, from_jmx, from_ranges
from clientscope.errors import EnvironmentProblem

NEWEST = releases()[-1]
SAID = {**NEWEST.fixed, **NEWEST.forwarded}


def answer(broker_id: int = 1, state: State = State.ANSWERED) -> Answer:
    return Answer(Broker(broker_id, "b", 9092), state, ranges=SAID if state is State.ANSWERED else {})


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


@pytest.mark.parametrize(("version", "name"), [("4.4.0", "apache-kafka"), ("4.5.0-SNAPSHOT", "apache-kafka"), ("7.6.0-ccs", None)])
def test_jmx_knows_the_name_of_apaches_releases_alone(version: str, name: str | None) -> None:
    with exporter(PAGE % version) as url:
        assert from_jmx(url) == Software(name, version, Source.JMX)


def test_an_exporter_that_tells_nothing_is_said() -> None:
    with exporter("jvm_info 1\n") as url, pytest.raises(EnvironmentProblem, match="tells no version"):
        from_jmx(url)
    with exporter("kafka_server_app_info{version= 1\n") as url, pytest.raises(EnvironmentProblem, match="no JMX exporter answers"):
        from_jmx(url)
    with exporter("", 404) as url, pytest.raises(EnvironmentProblem, match="Not Found"):
        from_jmx(url)
    with pytest.raises(EnvironmentProblem, match="Connection refused"):
        from_jmx(url)


def test_which_source_holds() -> None:
    declared = {1: Software("redpanda", "v24.2", Source.DECLARED)}
    with exporter(PAGE % "4.4.0") as url:
        found = find_all([answer(n) for n in (1, 2, 3)], declared, {1: url, 2: url})
    inferred = Software("apache-kafka", "4.4", Source.INFERRED)
    assert [each.software for each in found] == [declared[1], Software("apache-kafka", "4.4.0", Source.JMX), inferred]
    assert not any(each.problem for each in found)


def test_what_jmx_does_not_tell_is_inferred_and_said() -> None:
    (found,) = find_all([answer()], {}, {1: "http://127.0.0.1:1/metrics"})
    assert found.software.source is Source.INFERRED
    assert "no JMX exporter answers at http://127.0.0.1:1/metrics" in found.problem


@pytest.mark.parametrize("state", [State.CLOSED, State.UNREACHABLE])
def test_of_a_silent_broker_nothing_is_known(state: State) -> None:
    assert from_ranges(answer(state=state)) == UNKNOWN
    (found,) = find_all([answer(state=state)], {}, {})
    shown = as_json(found)
    assert (shown["software_name"], shown["software_version"], shown["source"], shown["state"]) == (None, None, None, str(state))
