"""clientscope push: files in their formats, and what is shown; no network."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_runs import Run, Said

from clientscope.client.settings_file import parse
from clientscope.errors import SettingsError
from clientscope.settings_files import MAX_BYTES

PROPERTIES = r"""
# a comment
! and another
bootstrap.servers = kafka-1:9092,\
                    kafka-2:9092
acks=-1
linger.ms : 20
client.id caf\u00e9
sasl.jaas.config=PlainLoginModule required username="u" password="a=b:c\\\\d";
empty =
"""


@pytest.fixture(autouse=True)
def _log_level() -> Iterator[None]:
    """The command silences the client's log, which other files' tests read in the same process."""
    log = logging.getLogger("clientscope.client")
    before = log.level
    yield
    log.setLevel(before)


@pytest.fixture
def push(tmp_path: Path, clientscope: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs the command on a file of this name and content: status, stdout, stderr."""
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)

    def run(name: str, content: str, *flags: str) -> Said:
        Path(name).write_text(content)
        return clientscope("push", "--properties", name, *flags)

    return run


def test_java_properties() -> None:
    assert parse(Path("client.properties"), PROPERTIES.encode()) == {
        "bootstrap.servers": "kafka-1:9092,kafka-2:9092",
        "acks": "-1",
        "linger.ms": "20",
        "client.id": "café",
        "sasl.jaas.config": 'PlainLoginModule required username="u" password="a=b:c\\\\d";',
        "empty": "",
    }
    assert parse(Path("x.properties"), "client.id=é".encode())["client.id"] == "Ã©", "as Java reads a stream"


def test_json_and_yaml_flat_or_nested() -> None:
    expected = {"acks": "all", "linger.ms": 5, "enable.idempotence": True, "bootstrap.servers": ["a:1", "b:2"]}
    text = '{"acks": "all", "linger": {"ms": 5}, "enable.idempotence": true, "bootstrap.servers": ["a:1", "b:2"], "client.id": null}'
    assert parse(Path("c.json"), text.encode()) == expected
    text = "acks: all\nlinger:\n  ms: 5\nenable.idempotence: yes\nbootstrap.servers: [a:1, 'b:2']\nclient.id:\n"
    for suffix in (".yaml", ".yml", ".YML"):
        assert parse(Path(f"c{suffix}"), text.encode()) == expected
    assert parse(Path("c.conf"), b"acks=1", "properties") == {"acks": "1"}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("c.conf", "acks=1", "c.conf: unknown format"),
        ("c.json", '{"sasl.password": "hunter2"', "c.json is not JSON: line 1, column 28: Expecting ',' delimiter"),
        ("c.json", "[1, 2]", "c.json holds no settings"),
        ("c.json", "[" * 200_000, "c.json is not JSON: it has too many levels"),
        ("c.yaml", "a: b\npassword: *hunter2\n", "c.yaml is not YAML: line 2, column 11"),
        ("c.yaml", "password: !hunter2 x\n", "c.yaml is not YAML: line 1, column 11"),
        ("c.yaml", "", "c.yaml holds no settings"),
        ("c.yaml", "hunter2", "c.yaml holds no settings"),
        ("c.properties", "password=hunter2\\u12", "c.properties is not a Java properties file: it has a \\u that four"),
        ("c.json", "acks=1" * MAX_BYTES, f"c.json is larger than {MAX_BYTES} bytes"),
    ],
)
def test_a_wrong_file_is_said_and_not_quoted(push: Run, name: str, content: str, message: str) -> None:
    status, out, err = push(name, content, "--dry-run")
    assert (status, out) == (2, "")
    assert err.startswith(f"error: {message}")
    assert "\nhint: " in err
    assert "hunter2" not in err


def test_not_utf_8_and_not_there(tmp_path: Path, clientscope: Run) -> None:
    with pytest.raises(SettingsError, match=r"c\.json is not JSON: it isn't UTF-8"):
        parse(Path("c.json"), b'{"a": "\xff"}')
    assert "none.properties: No such file or directory" in clientscope("push", "--properties", str(tmp_path / "none.properties")).refused
    assert clientscope("push").refused.startswith("error: --properties is missing\nhint: ")


def test_a_dry_run_shows_values_and_what_is_held_back(push: Run) -> None:
    keys = "acks,linger.ms,retries,sasl.jaas.config,app.setting,client.id,transactional.id"
    content = "acks=-1\nlinger.ms=20\nsasl.jaas.config=hunter2\nclient.id=https://u:hunter2@h/\ntransactional.id=x\\u001b[31m\n"
    assert push("c.properties", content, "--dry-run", "--allowed-keys", keys) == (
        0,
        "would be pushed as producer, apache-kafka-java unknown:\n"
        "  acks = all\n"
        "  linger.ms = 20\n"
        "  retries = 2147483647 (default)\n"
        "  transactional.id = x\ufffd[31m\n"
        "held back as sensitive: sasl.jaas.config\n"
        "held back as sensitive: app.setting\n"
        "held back as sensitive: client.id\n",
        "",
    )


@pytest.mark.parametrize(
    ("content", "flags", "who"),
    [
        ("acks=1", "", "producer, apache-kafka-java unknown"),
        ("group.id=g", "", "consumer, apache-kafka-java unknown"),
        ("application.id=a\ngroup.id=g", "", "streams, apache-kafka-java unknown"),
        ("group.id=g", "--client-type share-consumer --software-version 4.4.0", "share-consumer, apache-kafka-java 4.4.0"),
        ("group.id=g", "--dialect librdkafka --software-name confluent-kafka-go", "consumer, confluent-kafka-go unknown"),
    ],
)
def test_who_it_is(push: Run, content: str, flags: str, who: str) -> None:
    status, out, _ = push("c.properties", content, "--dry-run", *flags.split())
    assert status == 0
    assert out.startswith(f"would be pushed as {who}:\n")


def test_the_version_decides_about_defaults(push: Run) -> None:
    for version, linger in (("3.9.2", "0"), ("4.0.0", "5"), ("unknown", "5")):
        _, out, _ = push("c.properties", "acks=1", "--dry-run", "--software-version", version, "--allowed-keys", "linger.ms")
        assert f"linger.ms = {linger} (default)\n" in out


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        ("--software-name=my client", "--software-name: 'my client' is invalid: use letters, digits"),
        ("--software-version=-1", "--software-version: '-1' is invalid"),
        ("--bootstrap-servers=kafka", "--bootstrap-servers: 'kafka' is not HOST:PORT"),
        ("--client-type=broker", "--client-type: Input should be"),
        ("--dialect=cobol", "--dialect: Input should be"),
    ],
)
def test_wrong_flags(push: Run, flag: str, message: str) -> None:
    # With = since argparse takes a value that begins with - for a flag.
    status, _, err = push("c.properties", "acks=1", flag)
    assert status == 2
    assert message in err


@pytest.mark.parametrize(
    ("name", "content"),
    [("c.properties", "enable.config.push = False"), ("c.yaml", "enable.config.push: no"), ("c.json", '{"enable_config_push": false}')],
)
def test_a_file_that_says_no_is_obeyed_and_that_is_said(push: Run, name: str, content: str) -> None:
    assert push(name, content) == (0, f"not pushed, as {name} says enable.config.push=false\n", "")


def test_nothing_left_to_push_and_nowhere_to_push_it(push: Run) -> None:
    status, out, err = push("c.properties", "config.push.allowed.keys=app.password\napp.password=hunter2\nbootstrap.servers=127.0.0.1:1")
    assert (status, out) == (2, "")
    assert err.startswith("error: no setting is left that may be pushed\nhint: ")
    status, out, err = push("c.properties", "acks=1")
    assert (status, out) == (2, "")
    assert err == "error: c.properties has no bootstrap.servers\nhint: set it there, or give --bootstrap-servers HOST:PORT\n"


@pytest.fixture
def hanging_up() -> Iterator[tuple[str, list[None]]]:
    """An address where every connection is closed at once, and a list as long as their number."""
    accepted: list[None] = []

    def accept() -> None:
        while True:
            try:
                server.accept()[0].close()
            except OSError:
                return
            accepted.append(None)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield f"127.0.0.1:{server.getsockname()[1]}", accepted
        server.shutdown(socket.SHUT_RDWR)
        thread.join(10)


def test_a_push_that_fails_is_an_error(push: Run, hanging_up: tuple[str, list[None]]) -> None:
    address, _ = hanging_up
    status, out, err = push("c.properties", "bootstrap.servers=kafka:9092", "--bootstrap-servers", address, "--timeout-ms", "300")
    assert (status, out) == (1, "")
    assert err.startswith("error: not pushed: ")
    assert "\nhint: check the addresses" in err


@pytest.mark.parametrize("dialect", ["java", "aiokafka"])
def test_a_file_whose_client_needs_to_be_let_in_needs_flags(push: Run, dialect: str) -> None:
    name = "security.protocol" if dialect == "java" else "security_protocol"
    status, out, err = push("c.yaml", f"{name}: SASL_SSL\nbootstrap.servers: 127.0.0.1:1", "--dialect", dialect)
    assert (status, out) == (2, "")
    assert err.startswith("error: c.yaml says security.protocol='SASL_SSL', and its security settings are not used to connect\nhint: ")
