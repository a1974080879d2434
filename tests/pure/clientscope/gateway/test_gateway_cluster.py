"""gateway/cluster: settings that can't work are refused with what to change."""

from __future__ import annotations

from typing import Any

import pytest

from clientscope.config import GatewaySettings
from clientscope.errors import SettingsError
from clientscope.gateway.cluster import find_cluster_place


def settings(**given: Any) -> GatewaySettings:
    return GatewaySettings(**{"broker_ports": "9093-9192", "listen": "127.0.0.1:9092", **given})


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
