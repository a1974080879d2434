"""Checks of ports, with real listeners."""

from __future__ import annotations

import socket

import pytest
from jmx_exporter import exporter
from scripted_broker import ScriptedBroker

from clientscope.commands.doctor.ports import check_ports
from clientscope.commands.doctor.result import CheckResult, Outcome
from clientscope.commands.doctor.situation import Situation
from clientscope.config import GatewaySettings, KafkaSettings
from clientscope.local.process import free_port


def ports(**gateway: str) -> dict[str, CheckResult]:
    """Results by flag."""
    off = {"listen": "127.0.0.1:0", "metrics_listen": "127.0.0.1:0", "admin_listen": "127.0.0.1:0"}
    found = check_ports(Situation(KafkaSettings(), GatewaySettings(**{**off, **gateway}), None, None, None))
    return {each.text.split()[1]: each for each in found}


def test_free_off_and_elsewhere() -> None:
    found = ports(listen=f"127.0.0.1:{free_port()}", metrics_listen="192.0.2.1:9464")
    assert found["--listen"].outcome is Outcome.OK and found["--listen"].text.endswith(" is free")
    assert found["--metrics-listen"].outcome is Outcome.WARNING and "cannot listen here" in found["--metrics-listen"].text
    assert found["--admin-listen"].outcome is Outcome.NOT_CHECKED


def test_in_use_by_clientscope(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    gateway = ScriptedBroker(advertises=True)
    try:
        with exporter("# HELP x\nclientscope_gateway_client_connections 1\n") as metrics, exporter("false\n") as admin:
            found = ports(listen=gateway.address, metrics_listen=metrics.split("/")[2], admin_listen=admin.split("/")[2])
    finally:
        gateway.close()
    assert [(each.outcome, each.text.endswith("is in use by clientscope")) for each in found.values()] == [(Outcome.OK, True)] * 3


def test_in_use_by_another() -> None:
    broker = ScriptedBroker(advertises=False)
    try:
        with exporter("# HELP x\nother 1\n") as metrics, exporter("[]") as admin:
            addresses = (broker.address, metrics.split("/")[2], admin.split("/")[2])
            found = ports(listen=addresses[0], metrics_listen=addresses[1], admin_listen=addresses[2])
    finally:
        broker.close()
    assert {each.outcome for each in found.values()} == {Outcome.PROBLEM}
    assert [each.command for each in found.values()] == [f"ss -ltnp 'sport = :{each.split(':')[1]}'" for each in addresses]


def test_one_that_never_answers_is_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clientscope.commands.doctor.ports.TIMEOUT_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        assert ports(listen=address)["--listen"].outcome is Outcome.PROBLEM
        assert ports(metrics_listen=address)["--metrics-listen"].outcome is Outcome.PROBLEM
