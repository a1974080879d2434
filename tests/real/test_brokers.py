"""`clientscope brokers`, and the broker's software as the gateway reports it: declared, from JMX, inferred."""

from __future__ import annotations

import json
from typing import Any

import pytest
from forked import printed
from kafka.protocol.admin import DescribeClusterRequest
from observe import page

from clientscope.client.raw import RawClient

pytestmark = pytest.mark.faults


def run(*flags: str) -> str:
    return printed("brokers", *flags, COLUMNS="120")


def listed(*flags: str) -> dict[str, Any]:
    (line,) = run("-o", "jsonl", *flags).splitlines()
    return dict(json.loads(line))


def described(address: str) -> bytes:
    with RawClient.connect(address, "admin") as client:
        client.send(DescribeClusterRequest(version=2, endpoint_type=1, include_fenced_brokers=False))
        return client.receive_frame()


def test_its_jmx_says_the_brokers_version_to_clients_and_operators(broker: Any, tmp_path: Any) -> None:
    with broker.gateway(tmp_path, "--broker-jmx", f"http://127.0.0.1:{broker.jmx_port}/metrics") as gateway:
        assert described(gateway.address) == described(broker.client)[:-1] + b"\x02\xf5\x06\x06\x06Kafka\xf6\x06\x06\x064.4.0"
        (listed_there,) = json.loads(page(f"http://{gateway.admin}/v1/brokers")[1])
        assert (listed_there["software_name"], listed_there["software_version"], listed_there["source"]) == ("Kafka", "4.4.0", "jmx")


def test_each_brokers_gateway_is_asked_before_anything_is_inferred(spare: Any, tmp_path: Any) -> None:
    declared = ("--broker-software-name", "Mine", "--broker-software-version", "1.0")
    with spare.gateway(tmp_path, *declared, advertised=True):
        through, beside = ("--bootstrap-servers", spare.advertised), ("--bootstrap-servers", spare.internal)
        jmx = ("--jmx", f"1=http://127.0.0.1:{spare.jmx_port}/metrics")
        found = [listed(*through), listed(*through, "--software", "1=other"), listed(*through, *jmx), listed(*beside)]
        assert [(each["software_name"], each["software_version"], each["source"]) for each in found] == [
            ("Mine", "1.0", "gateway"),
            ("other", None, "declared"),
            (found[2]["software_name"], "4.4.0", "jmx"),
            (found[3]["software_name"], "4.4", "inferred"),
        ]
        assert [(each["broker"], each["controller"], each["fenced"]) for each in found] == [(1, True, False)] * 4
        row = next(line for line in run(*beside, *jmx).splitlines() if "4.4.0" in line)
        assert row.split() == ["1", spare.internal, "–", "active", "Kafka", "4.4.0", "jmx"]
