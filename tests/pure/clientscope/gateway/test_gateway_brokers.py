"""gateway/brokers and its page: clients get the version that the broker's JMX shows, and never an inferred range."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from jmx_exporter import PAGE, exporter

from clientscope.config import GatewaySettings
from clientscope.errors import EnvironmentProblem
from clientscope.gateway.brokers import KnownBrokers
from clientscope.pages import Request, listing
from clientscope.wire.describe_cluster import BrokerSoftware


def test_an_upgrade_behind_a_gateway_that_runs_on(caplog: pytest.LogCaptureFixture) -> None:
    with exporter(PAGE % "4.3.1") as url:
        known = KnownBrokers(GatewaySettings(broker_jmx=url), 1)
        assert known.on_the_wire == BrokerSoftware("Kafka", None), "before it has looked"
        known.look()
        assert known.on_the_wire == BrokerSoftware("Kafka", "4.3.1")
    for _ in range(3):
        known.look()
        assert known.on_the_wire == BrokerSoftware("Kafka", None), "the broker is down: it may come back as another"
    assert len(caplog.records) == 1, "said once"
    with exporter(PAGE % "4.4.0") as url:
        after = KnownBrokers(GatewaySettings(broker_jmx=url), 1)
        after.look()
        assert after.on_the_wire == BrokerSoftware("Kafka", "4.4.0")


@pytest.mark.parametrize(
    ("settings", "software"),
    [
        ({}, BrokerSoftware("Kafka", None)),
        ({"broker_software_version": "4.4.0"}, BrokerSoftware("Kafka", "4.4.0")),
        ({"broker_software_name": "mine", "broker_jmx": "http://127.0.0.1:1/"}, BrokerSoftware("mine", None)),
    ],
)
def test_what_is_declared_is_not_looked_for(settings: dict[str, Any], software: BrokerSoftware) -> None:
    known = KnownBrokers(GatewaySettings(**settings), 1)
    known.look()
    assert known.on_the_wire == software


def test_another_makers_version_has_no_name() -> None:
    with exporter(PAGE % "7.6.0-ccs") as url:
        known = KnownBrokers(GatewaySettings(broker_jmx=url), 1)
        known.look()
    assert known.on_the_wire == BrokerSoftware(None, "7.6.0-ccs")


def asked(content: Callable[[], Any], host: str = "127.0.0.1:9465") -> tuple[int, bytes]:
    page = listing(content)(Request("GET", {"host": host}))
    return page.status, page.content


def test_the_page_and_what_it_says_when_no_broker_answers() -> None:
    def none() -> Any:
        raise EnvironmentProblem("no broker answers at b:1")

    status, body = asked(lambda: [{"broker": 1}])
    assert (status, json.loads(body)) == (200, [{"broker": 1}])
    assert asked(none) == (503, b"no broker answers at b:1\n")
    assert asked(none, "attacker.example:80")[0] == 403
