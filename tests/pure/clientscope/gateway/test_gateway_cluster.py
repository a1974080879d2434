"""gateway/cluster: settings that can't work are refused with what to change."""

from __future__ import annotations

from typing import Any

import pytest

from clientscope.config import GatewaySettings
from clientscope.errors import SettingsError
from clientscope.gateway.cluster import broker_ports, find_cluster_place
from clientscope.session.addresses import BrokerPorts


def settings(**given: Any) -> GatewaySettings:
    return GatewaySettings(**{"broker_ports": "9093-9192", "listen": "127.0.0.1:9092", **given})


def test_each_broker_id_has_a_port() -> None:
    ports = broker_ports(settings(first_broker_id=1001, listen="0.0.0.0:9092", advertised_host="gateway.example"))
    assert ports == BrokerPorts("gateway.example", 9093, 100, 1001)
    assert ports.of(1001) == ("gateway.example", 9093) and ports.of(1100) == ("gateway.example", 9192)
    assert ports.of(1000) is None is ports.of(1101)
    assert broker_ports(settings()).host == "127.0.0.1"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"listen": "127.0.0.1:9100"}, "listen has port 9100"),
        ({"metrics_listen": "127.0.0.1:9093"}, "metrics_listen has port 9093"),
        ({"admin_listen": "127.0.0.1:9192"}, "admin_listen has port 9192"),
        ({"listen": "127.0.0.1:0"}, "port 0"),
        ({"listen": "0.0.0.0:9092"}, "clients can't connect to 0.0.0.0"),
        ({"listen": "[::]:9092"}, "clients can't connect to ::"),
    ],
)
def test_ports_that_clash_and_hosts_that_lead_nowhere_are_refused(given: Any, said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        broker_ports(settings(**given))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"broker_jmx": "http://127.0.0.1:9404/metrics"}, "broker_jmx is of one broker"),
        ({"broker_id": 1}, "broker_id is of one broker"),
        ({"kafka_security_protocol": "SASL_SSL"}, "TLS that passes untouched"),
        ({"kafka_security_protocol": "PLAINTEXT", "upstream_ssl_ca_location": "ca.pem"}, "speaks PLAINTEXT"),
    ],
)
def test_what_does_not_go_with_a_cluster_is_refused_before_it_is_asked(given: Any, said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        find_cluster_place(settings(**given))


@pytest.mark.parametrize("ports", ["9093", "9093-", "9192-9093", "0-5", "1-70000", "a-b"])
def test_a_range_of_ports_has_one_form(ports: str) -> None:
    with pytest.raises(ValueError, match="9093-9192"):
        settings(broker_ports=ports)
