"""``clientscope connections``: it lists the open connections, and answers only on loopback."""

from __future__ import annotations

import json
import uuid
from typing import Any

from forked import clientscope, printed

from clientscope.client.raw import RawClient


def listed(gateway: Any, *flags: str) -> str:
    return printed("connections", "--admin", gateway.admin, *flags, COLUMNS="140")


def test_json_and_table(gateway: Any) -> None:
    instance = uuid.uuid4()
    with RawClient.connect(gateway.address, "listed-old") as old, RawClient.connect(gateway.address, "listed-new") as new:
        old.api_versions("listed-java", "2.8.1", instance)
        new.api_versions("listed-java", "4.4.0")
        with RawClient.connect(gateway.address, "listed-new") as silent:
            silent.api_versions("", "", version=0)
            lines = [json.loads(line) for line in listed(gateway, "-o", "jsonl", "client_id:listed-*").splitlines()]
            assert [(c["ClientId"], c["ClientName"], c["ClientVersion"], c["Inferred"]) for c in lines] == [
                ("listed-old", "listed-java", "2.8.1", None),
                ("listed-new", "listed-java", "4.4.0", None),
                ("listed-new", "unknown", "unknown", ["listed-java", "4.4.0"]),
            ]
            assert lines[0]["ClientInstanceId"] == str(instance)
            assert {(c["ClientAddress"], c["Listener"], c["SecurityProtocol"]) for c in lines} == {("127.0.0.1", "CLIENT", "PLAINTEXT")}
            text = listed(gateway, "software:listed-java", "version:<3.0")
            assert text.startswith("1 connection on listener CLIENT (PLAINTEXT)")
            assert "listed-old" in text
            assert "listed-java (inferred)" in listed(gateway, "client_id:listed-new")
    assert "0 connections" in listed(gateway, "client_id:listed-*")


def test_only_on_loopback() -> None:
    """And only under its own name: test_bypass.py, of the same listener."""
    ended = clientscope("gateway", "--admin-listen", "0.0.0.0:9465")
    assert ended.returncode == 2
    assert "is not loopback" in ended.stderr
