"""[kafka]: what goes together, and where the password may and may not appear."""

from __future__ import annotations

import ast
import errno
import socket
from pathlib import Path
from typing import Any

import pytest
from command_runs import settings_of
from golden import cases
from kafka.errors import KafkaConnectionError
from private_files import private
from programs import python
from refusals import refused

from clientscope.commands import sources
from clientscope.config import ServeSettings
from clientscope.kafka.access import JAAS_VARIABLE, KafkaAccess, require_listener

PASSWORD = 'canary "quoted" back\\slash'
SASL = {"kafka_security_protocol": "SASL_SSL", "kafka_sasl_mechanism": "SCRAM-SHA-256", "kafka_sasl_username": "stream"}
VARIABLE = {"CLIENTSCOPE_KAFKA_SASL_PASSWORD": PASSWORD}


def access(flags: dict[str, Any], environ: dict[str, str] | None = None) -> KafkaAccess:
    return KafkaAccess.of(sources.load(ServeSettings, flags, environ or {}))


def test_plain_text_is_what_it_was() -> None:
    made = access({"bootstrap_servers": "a:1,b:2"})
    assert made.client_arguments() == {"bootstrap_servers": "a:1,b:2", "security_protocol": "PLAINTEXT"}
    assert made.java_options() == {"bootstrap.servers": "a:1,b:2"}
    assert made.java_environment() == {}


def test_from_a_file_of_settings(tmp_path: Path) -> None:
    for name in ("ca", "crt"):
        (tmp_path / name).write_text("")
    private(tmp_path / "key", "")
    file = private(
        tmp_path / "c.toml",
        f'[kafka]\n"bootstrap.servers" = "k:9"\n"security.protocol" = "SASL_SSL"\n"sasl.mechanism" = "PLAIN"\n"sasl.username" = "u"\n'
        f'"sasl.password" = "p"\n"ssl.ca.location" = "{tmp_path}/ca"\n"ssl.endpoint.identification.algorithm" = "none"\n'
        f'"ssl.certificate.location" = "{tmp_path}/crt"\n"ssl.key.location" = "{tmp_path}/key"\n',
    )
    made = access({"config": str(file)})
    assert made.client_arguments() == {
        "bootstrap_servers": "k:9",
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "PLAIN",
        "sasl_plain_username": "u",
        "sasl_plain_password": "p",
        "ssl_check_hostname": False,
        "ssl_cafile": f"{tmp_path}/ca",
        "ssl_certfile": f"{tmp_path}/crt",
        "ssl_keyfile": f"{tmp_path}/key",
    }
    options = made.java_options()
    assert options["ssl.endpoint.identification.algorithm"] == ""
    assert options["ssl.keystore.key"] == f"${{directory:{tmp_path}:key}}"
    assert options["config.providers"] == "env,directory"
    file.chmod(0o644)
    with refused(r"\[kafka\] sasl.password is in .* every user"):
        access({"config": str(file)})


def test_the_password_is_only_where_it_must_be(tmp_path: Path) -> None:
    by_variable = access(SASL, VARIABLE)
    by_file = access({**SASL, "kafka_sasl_password_file": str(private(tmp_path / "password", PASSWORD + "\n"))})
    assert by_variable == by_file
    assert by_variable.client_arguments()["sasl_plain_password"] == PASSWORD
    shown = repr(by_variable) + repr(by_variable.java_options()) + repr(sources.load(ServeSettings, SASL, VARIABLE))
    assert "canary" not in shown
    assert by_variable.java_environment() == {
        JAAS_VARIABLE: "org.apache.kafka.common.security.scram.ScramLoginModule required "
        r'username="stream" password="canary \"quoted\" back\\slash";'
    }


def test_a_password_is_no_flag(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        settings_of(ServeSettings, ["--kafka-sasl-password", "x"])
    assert "unrecognized arguments" in capsys.readouterr().err


@pytest.mark.parametrize(("base", "flags", "variable", "said"), cases(__file__, "not_together.txt"))
def test_what_doesnt_go_together(base: str, flags: str, variable: str, said: str) -> None:
    with refused(said) as caught:
        access((SASL if base == "with SASL" else {}) | ast.literal_eval(flags), VARIABLE if variable else {})
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize(("text", "mode", "said"), [("a\nb\n", 0o600, "2 lines"), ("", 0o600, "0 lines"), ("a", 0o604, "every user")])
def test_a_password_file_holds_one_line_and_is_private(tmp_path: Path, text: str, mode: int, said: str) -> None:
    with refused(said):
        access({**SASL, "kafka_sasl_password_file": str(private(tmp_path / "password", text, mode))})


_TRIES = """
import gc, os, socket, sys, threading, kafka
from clientscope.kafka.access import bootstrapped

silent = socket.create_server(("127.0.0.1", 0))

def tried():
    try:
        bootstrapped(getattr(kafka, sys.argv[1]), bootstrap_servers=f"127.0.0.1:{silent.getsockname()[1]}", bootstrap_timeout_ms=100)
    except kafka.errors.KafkaTimeoutError:
        gc.collect()
    return len(os.listdir("/proc/self/fd")), threading.active_count()

print(tried() == tried() == tried())
"""


@pytest.mark.parametrize("name", ["KafkaConsumer", "KafkaAdminClient", "KafkaProducer"])
def test_f47_a_client_that_finds_no_broker_leaves_nothing_behind(name: str) -> None:
    """In a process of its own: pytest keeps errors, and they what was open."""
    assert python("-c", _TRIES, name).stdout == "True\n"


@pytest.mark.parametrize("error", [TimeoutError(), OSError(errno.EHOSTUNREACH, "no route"), socket.gaierror(socket.EAI_AGAIN, "later")])
def test_what_may_answer_later_is_left_to_kafka_python(monkeypatch: pytest.MonkeyPatch, error: OSError) -> None:
    def connects(address: tuple[str, int], *_: object) -> None:
        raise ConnectionRefusedError if address[1] == 1 else error

    monkeypatch.setattr(socket, "create_connection", connects)
    require_listener("a:1,b:2")
    with pytest.raises(KafkaConnectionError, match="a:1 refuses connections; c:1 refuses connections"):
        require_listener(["a:1", "c:1"])
