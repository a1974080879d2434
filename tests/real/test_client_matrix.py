"""The same work by clients of several libraries and versions, direct and through the gateway, with the same results.

The gateway declares its broker's software, so that every DescribeCluster answer has two tagged fields more (KIP-885).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from clients.every import CLIENTS, each_client
from clients.script import RECORDS, variants, work
from conftest import RunningBroker, RunningGateway
from observe import connection_records
from patience import eventually, until

from clientscope.model.enums import Kind

pytestmark = pytest.mark.matrix

DECLARED = ("--broker-software-name", "Mine", "--broker-software-version", "1.0")


@pytest.fixture(scope="module")
def gateway(lone: RunningBroker, folder: Path) -> Iterator[RunningGateway]:
    """A gateway that declares its broker's software."""
    with lone.gateway(folder / "matrix", *DECLARED, advertised=True) as running:
        yield running


@pytest.mark.timeout(600)  # the first run on a machine downloads and compiles clients
@pytest.mark.parametrize("name", each_client())
def test_f05_a_client_sees_the_same_through_the_gateway_as_direct(lone: Any, gateway: Any, name: str) -> None:
    seen: list[dict[tuple[str, str], int]] = []

    def gauges_agree() -> None:
        def agree() -> bool:
            seen.append(gateway.connections)
            return seen[-1] == lone.connections != {}

        assert eventually(agree), (seen[-1], lone.connections)

    with CLIENTS[name](lone.internal) as client:
        direct = work(client, "direct")
        client.address = gateway.address
        through = work(client, "through", gauges_agree)
        identity, client_id = client.identity, client.client_id
        ways = list(variants(client, ""))
    assert through == direct
    was_real_work(direct, ways)

    assert list(seen[-1]) == [identity]
    until(lambda: gateway.connections == {} == lone.connections)
    closed = connection_records(lone.internal, gateway.address, kind=Kind.CLOSED, client_id=client_id)
    assert closed
    assert {(r.software_name or "unknown", r.software_version or "unknown") for r in closed} == {identity}


def was_real_work(result: dict[str, Any], ways: list[Any], *, describes: bool = True) -> None:
    """Two runs that both fail are equal, too."""
    assert [key for key in result if key.endswith("failed")] == ["describe failed"] * (not describes) + ["unknown topic failed"]
    assert "Unknown" in result["unknown topic failed"] or "UNKNOWN" in result["unknown topic failed"]
    assert len(result["produced"]) == len(ways)
    assert len(result["consumed"]) == RECORDS * (len(ways) - 1)  # all but the aborted transaction's
    assert result["taken twice"] == 0
    if describes:
        assert result["described"]["nodes"] == [(1, True)]
        assert len(result["described"]["configs"]) > 20
