"""gateway/metrics: draft 7 of KIP-511's counts of connected clients, which add up whatever is cut off."""

from __future__ import annotations

from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from clientscope.gateway.metrics import GatewayMetrics


def shown(counts: dict[tuple[str, str], int]) -> dict[tuple[str, ...], float]:
    metrics = GatewayMetrics()
    metrics.show_connections(lambda: counts, {"broker": "1"})
    families = text_string_to_metric_families(generate_latest(metrics.registry).decode())
    return {
        (sample.name.removeprefix("clientscope_gateway_"), *(v for k, v in sample.labels.items() if k != "broker")): sample.value
        for family in families
        for sample in family.samples
    }


def test_in_total_by_name_by_version_and_by_both() -> None:
    found = shown({("java", "3.9"): 2, ("java", "4.4"): 3, ("librdkafka", "4.4"): 5})
    assert found["connected_clients",] == 10
    assert (found["connected_clients_by_name", "java"], found["connected_clients_by_name", "librdkafka"]) == (5, 5)
    assert (found["connected_clients_by_version", "3.9"], found["connected_clients_by_version", "4.4"]) == (2, 8)
    assert found["client_connections", "java", "4.4"] == 3
    assert shown({})["connected_clients",] == 0


def test_f37_the_largest_thousand_and_the_rest_as_other() -> None:
    found = shown({(f"name-{number}", str(number)): number + 1 for number in range(1_500)})
    for family, labels in (("client_connections", 2), ("connected_clients_by_name", 1), ("connected_clients_by_version", 1)):
        series = {key: value for key, value in found.items() if key[0] == family}
        assert len(series) == 1_001
        assert series[(family, *["other"] * labels)] == sum(range(1, 501))
        assert sum(series.values()) == found["connected_clients",]
