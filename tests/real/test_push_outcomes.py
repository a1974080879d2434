"""Every PushConfig request is counted once by the error of its answer, and those that no policy saw by the reason (KIP-1324, "Metrics")."""

from __future__ import annotations

import os
import select
import signal
import struct
import uuid
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from conftest import RunningBroker, RunningGateway, running_gateway
from observe import configurations, connection_records, counts, listed
from patience import until

from clientscope.catalog.configs import Type
from clientscope.client.raw import RawClient
from clientscope.wire.codes import (
    CONFIG_TOO_LARGE,
    INVALID_CONFIG,
    INVALID_REQUEST,
    NONE,
    PUSH_CONFIG,
    THROTTLING_QUOTA_EXCEEDED,
    UNSUPPORTED_VERSION,
)
from clientscope.wire.messages import PushConfigRequest, PushConfigResponse

FINE = [("acks", "all", Type.STRING, True)]
LARGE = 150_000


def client(gateway: RunningGateway, stack: ExitStack, name: str) -> RawClient:
    connected = stack.enter_context(RawClient.connect(gateway.address, name, 30.0))
    connected.api_versions(name, "1.0", uuid.uuid4())
    return connected


def push_of_bytes(connected: RawClient, body: bytes, version: int = 0) -> int:
    connected.send_frame(struct.pack(">hhih", PUSH_CONFIG, version, 7, -1) + b"\0" + body)
    return error_of(connected)


def error_of(connected: RawClient) -> int:
    """Of the next answer."""
    return int(PushConfigResponse.decode(connected.receive_frame(), version=0, header=True).error_code)


def push(connected: RawClient, settings: list[Any]) -> int:
    return int(connected.push_config(settings).error_code)


def test_each_outcome_is_counted_by_the_error_that_the_client_was_answered(broker: RunningBroker, tmp_path: Path) -> None:
    quota = ("--push-burst-per-client", "3", "--push-rate-per-client", "0.001")
    with running_gateway(broker.internal, broker.client, tmp_path, *quota) as gateway, ExitStack() as stack:
        one, other = client(gateway, stack, "one"), client(gateway, stack, "other")
        answers = [
            push(one, FINE),
            push(one, [("ssl.key.password", "hunter2", Type.PASSWORD, False)]),
            push(one, FINE),
            push(one, FINE),  # the fourth within its quota of three
            push(other, [("client.id", "x" * 11_000, Type.STRING, False)]),
            push(other, [("client.id", "x" * 30_000, Type.STRING, False)] * 3),  # a frame that is never read
            push(other, []),
            push_of_bytes(other, b"\xff\xff\xff\xff\x07junk"),
            push_of_bytes(other, b"", version=1),
            push(other, FINE),
        ]
        assert answers == [
            NONE, INVALID_CONFIG, NONE, THROTTLING_QUOTA_EXCEEDED, CONFIG_TOO_LARGE, CONFIG_TOO_LARGE,
            INVALID_REQUEST, INVALID_REQUEST, UNSUPPORTED_VERSION, NONE,
        ]  # fmt: skip
        answered = {
            "none": 3, "invalid_config": 1, "throttling_quota_exceeded": 1, "config_too_large": 2, "invalid_request": 2,
            "unsupported_version": 1,
        }  # fmt: skip
        until(lambda: counts(gateway, "pushes_answered"), answered)
        refused = counts(gateway, "pushes_refused")
        assert (refused.pop("quota"), refused.pop("too_large"), refused.pop("unsupported_version")) == (1, 2, 1)
        assert sum(refused.values()) == 2, "malformed, each by its own reason"
        assert counts(gateway, "pushes") == {"accepted": 3, "invalid_config": 1}, "what the policy got is the rest"


def test_a_push_that_the_gateway_is_too_busy_for_is_counted_too(broker: RunningBroker, tmp_path: Path) -> None:
    """The main process stands still, and takes none of what its worker reports: 16 MiB wait, and the next push is sent away."""
    flags = (
        "--workers", "1", "--client-config-max-bytes", str(LARGE + 1_000), "--push-burst-per-address", "1000",
        "--policy-deadline-ms", "20000",
    )  # fmt: skip
    setting = PushConfigRequest.Config(version=0, config_key="client.rack", config_value="x" * LARGE, config_type=1, is_default=False)
    large = PushConfigRequest(version=0, configs=[setting])
    with running_gateway(broker.internal, broker.client, tmp_path, *flags) as gateway, ExitStack() as stack:
        clients = [client(gateway, stack, f"busy-{number}") for number in range(150)]
        os.kill(gateway.pid, signal.SIGSTOP)
        try:
            for each in clients:
                each.send(large)
            until(lambda: select.select([each.socket for each in clients], [], [], 0)[0], why="none is sent away")
        finally:
            os.kill(gateway.pid, signal.SIGCONT)
        codes = Counter(map(error_of, clients))
        assert codes[THROTTLING_QUOTA_EXCEEDED] >= 1
        until(lambda: sum(counts(gateway, "pushes_answered").values()), len(clients))
        assert counts(gateway, "pushes_answered")["throttling_quota_exceeded"] == codes[THROTTLING_QUOTA_EXCEEDED]
        assert counts(gateway, "pushes_refused")["busy"] >= 1


def test_a_client_that_need_not_authenticate_is_user_anonymous_wherever_it_is_named(broker: RunningBroker, gateway: RunningGateway) -> None:
    with ExitStack() as stack:
        nobody = client(gateway, stack, "anonymous-client")
        assert push(nobody, FINE) == NONE
        assert [each["Principal"] for each in listed(gateway) if each["ClientId"] == "anonymous-client"] == ["User:ANONYMOUS"]
    until(lambda: len(connection_records(broker.internal, client_id="anonymous-client")) >= 2, why="opened, and closed")
    connections = connection_records(broker.internal, client_id="anonymous-client")
    records = [*connections, *configurations(broker.internal, client_id="anonymous-client")]
    assert {(record.principal, record.principal_source) for record in records} == {("User:ANONYMOUS", "none")}
