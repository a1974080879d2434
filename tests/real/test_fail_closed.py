"""F39: a process whose secrets or settings are wrong doesn't start, and one that runs keeps the old ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from forked import clientscope

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
