"""SIGHUP: settings that may change while the gateway runs are applied, and an invalid one changes nothing."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

from conftest import running_gateway
from observe import configurations, count, gateway_connections, listed, reloaded
from patience import eventually, until

from clientscope.client.raw import RawClient
from clientscope.digest import DigestKey
from clientscope.wire.codes import CONFIG_TOO_LARGE, INVALID_CONFIG, NONE, THROTTLING_QUOTA_EXCEEDED

SECRET = "svc-AKIAIOSFODNN7EXAMPLE"
LEAK = [("sasl.jaas.config", "canary-value", 1, False)]


def test_another_digest_key_while_it_runs(broker: Any, tmp_path: Path) -> None:
    settings, log = tmp_path / "clientscope.toml", tmp_path / "gateway.log"
    keys = {}
    for name in ("first", "second"):
        path = tmp_path / name
        path.touch(mode=0o600)
        path.write_text(name * 8)
        keys[name] = DigestKey.read(path).key_id

    def configure(text: str) -> None:
        settings.write_text(f"[gateway]\n{text}\n")

    def digest_key_id(client_id: str) -> str | None:
        with RawClient.connect(gateway.address, client_id) as client:
            client.api_versions("leaky", "1")
            assert client.push_config(LEAK).error_code == INVALID_CONFIG
        (found, *_) = until(lambda: configurations(broker.internal, client_id=client_id))
        return found.digest_key_id

    def name_under(key: str) -> bool:
        """Whether a name that is a secret is shown as its digest under this key."""
        expected = f"[redacted {DigestKey.read(tmp_path / key).digest(SECRET).hex()[:16]}]"

        with RawClient.connect(gateway.address, "named") as client:
            client.api_versions(SECRET, "1")
            return eventually(lambda: expected in [each["ClientName"] for each in listed(gateway)])

    configure(f'digest_key_file = "{tmp_path / "first"}"')
    with running_gateway(broker.internal, broker.client, tmp_path, "--config", str(settings)) as gateway:
        assert digest_key_id("before") == keys["first"]
        configure(f'digest_key_file = "{tmp_path / "missing"}"')
        reloaded(gateway, log, "the policy keeps its settings")
        for wrong in ("no_such_key = 1", "drain_timeout_ms = -1", "[no_such_table]", "[broken"):
            configure(wrong)
            reloaded(gateway, log, "the settings stay as they were")
        settings.unlink()
        reloaded(gateway, log, "the settings stay as they were")
        configure(f'digest_key_file = "{tmp_path / "first"}"')
        (tmp_path / "first").chmod(0o644)
        reloaded(gateway, log, "every user of this machine may use it")
        (tmp_path / "first").chmod(0o600)
        assert digest_key_id("meanwhile") == keys["first"]
        assert name_under("first")
        configure(f'digest_key_file = "{tmp_path / "second"}"')
        reloaded(gateway, log, "the policy has taken its settings again")
        assert digest_key_id("after") == keys["second"]
        assert name_under("second")
    assert "Traceback" not in log.read_text()


def test_limits_and_quotas_change_while_it_runs_and_what_can_not_is_named(broker: Any, tmp_path: Path) -> None:
    settings, log = tmp_path / "clientscope.toml", tmp_path / "gateway.log"

    def change(text: str, said: str) -> None:
        settings.write_text(f"[gateway]\n{text}\n")
        reloaded(gateway, log, said)

    def push(client_id: str, value: str = "all") -> int:
        with RawClient.connect(gateway.address, client_id) as client:
            client.api_versions("changing", "1")
            return int(client.push_config([("acks", value, 1, False)]).error_code)

    settings.write_text("")
    with running_gateway(broker.internal, broker.client, tmp_path, "--config", str(settings)) as gateway, ExitStack() as stack:
        assert [push("small", "x" * 100), push("often"), push("often"), push("often")] == [NONE] * 4
        change("client_config_max_bytes = 50", "changed while the gateway runs: client_config_max_bytes\n")
        assert push("small", "x" * 100) == CONFIG_TOO_LARGE
        change("push_burst_per_client = 1\npush_rate_per_client = 0.001\nworkers = 2", "but only a restart applies it: workers\n")
        assert [push("rare"), push("rare")] == [NONE, THROTTLING_QUOTA_EXCEEDED]
        assert push("small", "x" * 100) == NONE, "what is no longer set is the default again"
        idle = stack.enter_context(RawClient.connect(gateway.address, "idle"))
        idle.api_versions("idle", "1")
        # The main process hears of connections a moment later: of two where one has just closed, it would refuse the newer.
        until(lambda: gateway_connections(gateway.metrics_url), {("idle", "1"): 1})
        change("max_connections = 1", "max_connections")

        def refused() -> bool:  # the worker may hear of it a moment later
            try:
                with RawClient.connect(gateway.address, "beyond") as client:
                    client.api_versions("beyond", "1")
            except OSError:
                return True
            return False

        until(refused)
        change("connections_max_idle_ms = 500\npolicy_deadline_ms = 2000", "policy_deadline_ms")
        until(lambda: gateway_connections(gateway.metrics_url), {}, why="of connections that are open, too")
        assert count(gateway, "connections_closed", "idle") == 1
