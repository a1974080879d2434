"""demo/fleet: children that are awaited, and the error for one that never becomes ready."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import RunningBroker, RunningGateway, running_gateway

from clientscope.errors import EnvironmentProblem


def test_a_child_whose_port_is_taken_is_not_ready(broker: RunningBroker, gateway: RunningGateway, tmp_path: Path) -> None:
    with (
        pytest.raises(EnvironmentProblem, match=r"gateway ended with status 1: listen: cannot listen on .*: Address already in use"),
        running_gateway(broker.internal, broker.client, tmp_path, listen=gateway.address),
    ):
        pass
