"""session/ports: each broker id has a port, and settings that lead clients nowhere are refused with what to change."""

from __future__ import annotations

from typing import Any

import pytest

from clientscope.config import GatewaySettings
from clientscope.errors import SettingsError
from clientscope.session.ports import BrokerPorts


def settings(**given: Any) -> GatewaySettings:
    return GatewaySettings(**{"broker_ports": "9093-9192", "listen": "127.0.0.1:9092", **given})


def test_each_broker_id_has_a_port() -> None:
    ports = BrokerPorts.of_settings(settings(first_broker_id=1001, listen="0.0.0.0:9092", advertised_host="gateway.example"))
    assert ports == BrokerPorts("gateway.example", 9093, 100, 1001)
    assert ports.of(1001) == ("gateway.example", 9093) and ports.of(1100) == ("gateway.example", 9192)
    assert ports.of(1000) is None is ports.of(1101)
    assert BrokerPorts.of_settings(settings()).host == "127.0.0.1"


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
        BrokerPorts.of_settings(settings(**given))


@pytest.mark.parametrize("ports", ["9093", "9093-", "9192-9093", "0-5", "1-70000", "a-b"])
def test_a_range_of_ports_has_one_form(ports: str) -> None:
    with pytest.raises(ValueError, match="9093-9192"):
        settings(broker_ports=ports)
