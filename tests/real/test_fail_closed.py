"""F39: a process whose secrets or settings are wrong doesn't start, and one that runs keeps the old ones."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from conftest import RunningBroker, running_gateway
from forked import clientscope
from http_attacks import get
from patience import eventually, until

from clientscope.client.raw import RawClient

SASL = ("--kafka-security-protocol", "SASL_PLAINTEXT", "--kafka-sasl-mechanism", "PLAIN", "--kafka-sasl-username", "u")
SECRETS = [
    ("gateway", "--digest-key-file", ()),
    ("gateway", "--admin-token-file", ()),
    ("gateway", "--kafka-sasl-password-file", SASL),
    ("stream", "--digest-key-file", ()),
    ("stream", "--kafka-sasl-password-file", SASL),
    ("serve", "--admin-token-file", ()),
    ("serve", "--reader-token-file", ()),
    ("serve", "--kafka-sasl-password-file", SASL),
    ("deliver", "--kafka-sasl-password-file", SASL),
    ("topics", "--kafka-sasl-password-file", SASL),
]
NOWHERE = "127.0.0.1:9"
"""Where no broker is: what is wrong with a secret is said before anything is connected to."""


def refused(folder: Path, command: str, *flags: str) -> str:
    """What a command says that doesn't start."""
    (folder / "receivers.toml").write_text('[[receiver]]\nname = "am"\nkind = "alertmanager"\nurls = ["https://alertmanager.example/"]\n')
    receivers = ("--receivers", str(folder / "receivers.toml")) if command == "deliver" else ()
    ended = clientscope(command, *receivers, *flags)
    assert ended.returncode in (1, 2), ended
    assert "Traceback" not in ended.stderr
    return ended.stderr


@pytest.mark.parametrize(("command", "flag", "more"), SECRETS)
def test_f39_a_secret_that_is_missing_or_open_to_all_ends_the_start(command: str, flag: str, more: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "secret"
    said = refused(tmp_path, command, "--bootstrap-servers", NOWHERE, flag, str(path), *more)
    assert f"{path}: No such file or directory" in said
    path.write_text("canary-secret-of-forty-characters-or-more\n")
    for mode in (0o604, 0o602, 0o666, 0o644) if flag == "--digest-key-file" else (0o604,):
        path.chmod(mode)
        said = refused(tmp_path, command, "--bootstrap-servers", NOWHERE, flag, str(path), *more)
        assert "every user of this machine may use it" in said
        assert f"hint: chmod 600 {path}" in said
        assert "canary" not in said
        if command == "stream":
            break  # it takes seconds to import Spark


def test_f39_settings_that_are_wrong_at_sighup_leave_the_old_ones(broker: RunningBroker, tmp_path: Path) -> None:
    settings, key, log = tmp_path / "clientscope.toml", tmp_path / "digest.key", tmp_path / "gateway.log"
    key.write_text("0123456789abcdef" * 4)
    key.chmod(0o600)
    good = f'[gateway]\ndigest_key_file = "{key}"\n'

    def signalled(said: str) -> bool:
        before = log.read_text().count(said)
        os.kill(gateway.pid, signal.SIGHUP)
        return eventually(lambda: log.read_text().count(said) > before)

    def works() -> bool:
        with RawClient.connect(gateway.address, "client") as client:
            client.api_versions("client", "1")
            answer = client.push_config([("sasl.jaas.config", "canary-value", 1, False)])
            return bool(answer.error_code) and get(gateway.metrics_url)[0] == 200

    settings.write_text(good)
    with running_gateway(broker.internal, broker.client, tmp_path, "--config", str(settings)) as gateway:
        until(works)
        for wrong in ("[gateway]\nno_such_key = 1\n", "[gateway\n", "[no_such_table]\n", "[gateway]\ndrain_timeout_ms = -1\n"):
            settings.write_text(wrong)
            assert signalled("the settings stay as they were")
        settings.unlink()
        assert signalled("the settings stay as they were")
        settings.write_text(good)
        key.chmod(0o644)
        assert signalled("every user of this machine may use it")
        key.rename(tmp_path / "moved")
        assert signalled("No such file or directory")
        until(works)
        assert "Traceback" not in log.read_text()
