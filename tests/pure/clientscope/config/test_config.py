"""config: flags over environment over file over defaults, and an error that says where."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from command_runs import Run
from golden import cases, texts
from refusals import refused

from clientscope import config
from clientscope.commands import sources
from clientscope.commands.api_versions import ApiVersionsSettings
from clientscope.commands.brokers import BrokersSettings
from clientscope.commands.checkpoints.__init__ import CheckpointsResetSettings
from clientscope.commands.registry import COMMANDS
from clientscope.gateway.policy.plan import PolicyPlan


def test_precedence(tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text('[gateway]\nlisten = "127.0.0.1:1"\nupstream = "127.0.0.1:2"\nbroker_id = 3\n[kafka]\n"bootstrap.servers" = "k:9"\n')
    environ = {"CLIENTSCOPE_GATEWAY_UPSTREAM": "127.0.0.1:22", "CLIENTSCOPE_GATEWAY_BROKER_ID": "33"}
    loaded = sources.load(config.GatewaySettings, {"config": str(file), "broker_id": "333"}, environ)
    assert (loaded.listen, loaded.upstream, loaded.broker_id, loaded.bootstrap_servers) == ("127.0.0.1:1", "127.0.0.1:22", 333, "k:9")
    assert loaded.heartbeat_interval_ms == 5000


@pytest.mark.parametrize(("message", "text"), texts(__file__, "wrong_files.txt"))
def test_a_wrong_file_is_an_error_that_says_where(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "c.toml"
    file.write_text(text)
    with refused(re.escape(message)):
        sources.load(config.GatewaySettings, {"config": str(file)}, {})


def test_several_bootstrap_servers() -> None:
    assert sources.load(config.ServeSettings, {"bootstrap_servers": "a:1,b:2"}, {}).bootstrap_servers == "a:1,b:2"
    with refused("'b' is not HOST:PORT"):
        sources.load(config.ServeSettings, {"bootstrap_servers": "a:1,b"}, {})


def test_a_missing_file_and_an_unknown_variable_are_errors() -> None:
    with refused("No such file"):
        sources.load(config.ServeSettings, {"config": "/nonexistent.toml"}, {})
    with refused("unknown environment variable CLIENTSCOPE_GATEWAY_LISTN"):
        sources.load(config.ServeSettings, {}, {"CLIENTSCOPE_GATEWAY_LISTN": "x"})


def test_a_policys_own_settings_from_a_table_a_variable_and_a_flag(tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text('[gateway]\nbroker_id = 3\n[gateway.policy]\n"my.list" = "a,b"\n"my.number" = 5\n')
    given = {"config": str(file)}
    loaded = sources.load(config.GatewaySettings, given, {})
    assert (loaded.broker_id, loaded.client_config_policy_configs) == (3, {"my.list": "a,b", "my.number": 5})
    environ = {"CLIENTSCOPE_GATEWAY_POLICY": "password=hunter2, x = y=z"}
    loaded = sources.load(config.GatewaySettings, given, environ)
    assert loaded.client_config_policy_configs == {"password": "hunter2", "x": "y=z"}
    assert "hunter2" not in repr(loaded)
    with refused("--client-config-policy-configs: expected KEY=VALUE,KEY=VALUE"):
        sources.load(config.GatewaySettings, {"client_config_policy_configs": "nothing"}, {})


def test_a_policys_setting_may_not_be_one_of_the_gateways() -> None:
    settings = sources.load(config.GatewaySettings, {"client_config_policy_configs": "clientscope.publish=x"}, {})
    with refused("the gateway sets this one itself"):
        PolicyPlan.of(settings)


@pytest.mark.parametrize("cls", [command.settings for command in COMMANDS])
def test_every_setting_is_in_its_help(cls: type[config.Settings], clientscope: Run) -> None:
    text = "".join(clientscope(*cls.words(), "--help").printed.split())
    for name, field in cls.model_fields.items():
        assert sources.is_secret(field) or sources.flag(name, field) in text
        assert sources.is_flag_only(field) or sources.variable(cls, name, field) in text
        assert field.description


def test_what_is_said_once_is_no_setting_of_a_file_or_the_environment(tmp_path: Path) -> None:
    file = tmp_path / "clientscope.toml"
    file.write_text('[checkpoints]\nquery = "gauges"\n')
    with refused("unknown table"):
        sources.load(CheckpointsResetSettings, {"config": str(file), "query": "results"}, {})
    with refused("unknown environment variable CLIENTSCOPE_CHECKPOINTS_TO_TIME"):
        sources.load(CheckpointsResetSettings, {"query": "results"}, {"CLIENTSCOPE_CHECKPOINTS_TO_TIME": "2026-01-01"})
    environ = {"CLIENTSCOPE_KAFKA_BOOTSTRAP_SERVERS": "elsewhere:1"}
    loaded = sources.load(CheckpointsResetSettings, {"query": "results", "to_earliest": True}, environ)
    assert (loaded.query, loaded.to_earliest, loaded.bootstrap_servers) == ("results", True, "elsewhere:1")


def test_brokers_by_id_from_a_table_and_a_flag(tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text('[brokers.software]\n1 = "apache-kafka/4.4.0"\n2 = "redpanda"\n[brokers.jmx]\n3 = "http://broker-3:9404/metrics"\n')
    loaded = sources.load(BrokersSettings, {"config": str(file)}, {})
    assert (loaded.software, loaded.jmx) == ({1: "apache-kafka/4.4.0", 2: "redpanda"}, {3: "http://broker-3:9404/metrics"})
    loaded = sources.load(BrokersSettings, {"software": "1=a/b, 2=c"}, {"CLIENTSCOPE_BROKERS_JMX": "1=http://x:1/"})
    assert (loaded.software, loaded.jmx) == ({1: "a/b", 2: "c"}, {1: "http://x:1/"})


@pytest.mark.parametrize(("option", "value", "message"), cases(__file__, "wrong_brokers.txt"))
def test_a_wrong_broker_table_is_said(option: str, value: str, message: str) -> None:
    with refused(re.escape(message)):
        sources.load(BrokersSettings, {option: value}, {})


def test_a_command_with_a_hyphen_has_a_variable_without() -> None:
    assert sources.load(ApiVersionsSettings, {}, {"CLIENTSCOPE_API_VERSIONS_API": "none"}).api == "none"
