"""clientscope push: files in their formats, what is shown, and what a watch takes for a change; no network."""

from __future__ import annotations

import logging
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from clientscope import cli
from clientscope.catalog.configs import ClientType
from clientscope.client.dry_run import why_held_back
from clientscope.client.settings import collect_dialect
from clientscope.client.settings_file import parse
from clientscope.commands import sources
from clientscope.commands.push import PushSettings, pushing
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
def of_the_process() -> Iterator[None]:
    """A watch takes SIGTERM for itself, and the command silences the client's log, which other files' tests read in the same process."""
    log = logging.getLogger("clientscope.client")
    before = signal.getsignal(signal.SIGTERM), log.level
    yield
    signal.signal(signal.SIGTERM, before[0])
    log.setLevel(before[1])


@pytest.fixture
def push(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str, str]]:
    """Runs the command on a file of this name and content: status, stdout, stderr."""
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)

    def run(name: str, content: str, *flags: str) -> tuple[int, str, str]:
        Path(name).write_text(content)
        status = cli.main(["push", "--properties", name, *flags])
        return (status, *capsys.readouterr())

    return run


Push = Callable[..., tuple[int, str, str]]


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
def test_a_wrong_file_is_said_and_not_quoted(push: Push, name: str, content: str, message: str) -> None:
    status, out, err = push(name, content, "--dry-run")
    assert (status, out) == (2, "")
    assert err.startswith(f"error: {message}")
    assert "\nhint: " in err
    assert "hunter2" not in err


def test_not_utf_8_and_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SettingsError, match=r"c\.json is not JSON: it isn't UTF-8"):
        parse(Path("c.json"), b'{"a": "\xff"}')
    assert cli.main(["push", "--properties", str(tmp_path / "none.properties")]) == 2
    assert "none.properties: No such file or directory" in capsys.readouterr().err
    assert cli.main(["push"]) == 2
    assert capsys.readouterr().err.startswith("error: --properties is missing\nhint: ")


def test_a_dry_run_shows_values_and_what_is_held_back_and_why(push: Push) -> None:
    keys = "acks,linger.ms,retries,sasl.jaas.config,app.setting,partitioner.class,client.id"
    content = "acks=-1\nlinger.ms=20\nsasl.jaas.config=hunter2\nclient.id=https://u:hunter2@h/\nbootstrap.servers=127.0.0.1:1\n"
    status, out, err = push("c.properties", content, "--dry-run", "--allowed-keys", keys)
    assert (status, err) == (0, "")
    lines = [line.split() for line in out.splitlines()]
    assert lines[0] == ["would", "be", "pushed", "as", "producer,", "apache-kafka-java", "unknown:"]
    assert ["acks", "all", "STRING", "by", "the", "user"] in lines
    assert ["linger.ms", "20", "LONG", "by", "the", "user"] in lines
    assert ["retries", "2147483647", "INT", "default"] in lines
    assert "held back: sasl.jaas.config: names that begin with sasl." in out
    assert "held back: app.setting: no setting of Kafka's clients" in out
    assert "held back: partitioner.class: names that end in .class" in out
    assert "held back: client.id: its value looks like a credential" in out
    assert "hunter2" not in out


def test_markup_and_control_characters_are_shown_as_they_are(push: Push) -> None:
    _, out, _ = push("c.yaml", 'client.id: "[red]x\\e[31m"\n', "--dry-run", "--allowed-keys", "client.id")
    assert "[red]x�[31m" in out


@pytest.mark.parametrize(
    ("content", "flags", "who"),
    [
        ("acks=1", (), "producer, apache-kafka-java unknown"),
        ("group.id=g", (), "consumer, apache-kafka-java unknown"),
        ("application.id=a\ngroup.id=g", (), "streams, apache-kafka-java unknown"),
        ("group.id=g", ("--client-type", "share-consumer", "--software-version", "4.4.0"), "share-consumer, apache-kafka-java 4.4.0"),
        ("group_id=g", ("--dialect", "aiokafka"), "consumer, aiokafka unknown"),
        ("group.id=g", ("--dialect", "librdkafka", "--software-name", "confluent-kafka-go"), "consumer, confluent-kafka-go unknown"),
        ("groupId=g", ("--dialect", "kafkajs"), "consumer, kafkajs unknown"),
    ],
)
def test_who_it_is(push: Push, content: str, flags: tuple[str, ...], who: str) -> None:
    status, out, _ = push("c.properties", content, "--dry-run", *flags)
    assert status == 0
    assert out.startswith(f"would be pushed as {who}:\n")


def test_a_client_that_the_library_has_not(push: Push) -> None:
    status, out, err = push("c.yaml", "application_id: a", "--dialect", "aiokafka", "--dry-run")
    assert (status, out) == (2, "")
    assert err == "error: aiokafka has no streams client\nhint: --client-type may be producer, consumer, admin\n"


def test_the_version_decides_about_defaults(push: Push) -> None:
    for version, linger in (("3.9.2", "0"), ("4.0.0", "5"), ("unknown", "5")):
        _, out, _ = push("c.properties", "acks=1", "--dry-run", "--software-version", version, "--allowed-keys", "linger.ms")
        assert f"linger.ms  {linger} " in out


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--software-name", "my client"), "--software-name: 'my client' is invalid: use letters, digits"),
        (("--software-version", "-1"), "--software-version: '-1' is invalid"),
        (("--bootstrap-servers", "kafka"), "--bootstrap-servers: 'kafka' is not HOST:PORT"),
        (("--client-type", "broker"), "--client-type: Input should be"),
        (("--dialect", "cobol"), "--dialect: Input should be"),
    ],
)
def test_wrong_flags(push: Push, flags: tuple[str, ...], message: str) -> None:
    # With = since argparse takes a value that begins with - for a flag.
    status, _, err = push("c.properties", "acks=1", "=".join(flags))
    assert status == 2
    assert message in err


@pytest.mark.parametrize(
    ("name", "content"),
    [("c.properties", "enable.config.push = False"), ("c.yaml", "enable.config.push: no"), ("c.json", '{"enable_config_push": false}')],
)
def test_a_file_that_says_no_is_obeyed_and_that_is_said(push: Push, name: str, content: str) -> None:
    assert push(name, content) == (0, f"not pushed, as {name} says enable.config.push=false\n", "")


def test_nothing_left_to_push_and_nowhere_to_push_it(push: Push) -> None:
    status, out, err = push("c.properties", "config.push.allowed.keys=app.password\napp.password=hunter2\nbootstrap.servers=127.0.0.1:1")
    assert (status, out) == (1, "")
    assert err.startswith("error: nothing to push from c.properties; held back as sensitive: 'app.password'\nhint: ")
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


def test_a_push_that_fails_is_an_error(push: Push, hanging_up: tuple[str, list[None]]) -> None:
    address, _ = hanging_up
    status, out, err = push("c.properties", "bootstrap.servers=kafka:9092", "--bootstrap-servers", address, "--timeout-ms", "300")
    assert (status, out) == (1, "")
    assert err.startswith("error: not pushed: ")
    assert "\nhint: check the addresses" in err


def test_a_config_providers_value_is_warned_of_where_the_connection_needs_it(push: Push, hanging_up: tuple[str, list[None]]) -> None:
    content = f"bootstrap.servers={hanging_up[0]}\nsasl.password=${{env:PASSWORD}}\ngroup.id=${{file:/x:y}}\n"
    _, _, err = push("c.properties", content, "--dialect", "librdkafka", "--timeout-ms", "100")
    (warning, *_) = err.splitlines()
    assert warning == "warning: 'sasl.password' has a ${…} for one of Kafka's config providers to fill in; it is used as written"
    assert "group.id" not in err


class Watched:
    """A watch of a file, in dry runs; each step is what happens to the file between two readings of it."""

    def __init__(self, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.path = path
        self.capsys = capsys
        self.said: list[str] = []

    def run(self, *steps: Callable[[], Any], flags: tuple[str, ...] = ("--dry-run", "--allowed-keys", "acks")) -> list[str]:
        """What each reading made it say: the value of acks, an error's words, or nothing."""
        ahead = iter(steps)

        def sleep(seconds: float) -> None:
            out, err = self.capsys.readouterr()
            values = [line.split()[1] for line in out.splitlines() if line.split()[:1] == ["acks"]]
            self.said.append(" ".join(values) + (err.splitlines()[0] if err else out if not values else ""))
            step = next(ahead, None)
            if step is None:
                raise KeyboardInterrupt
            step()

        settings = sources.parse(PushSettings, ["--properties", str(self.path), "--watch", *flags])
        assert pushing.run(settings, sleep) == 0
        return self.said


@pytest.fixture
def watched(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Watched:
    return Watched(tmp_path / "client.properties", capsys)


def nothing() -> None:
    pass


def test_a_watch_pushes_now_and_after_each_change_that_stays(watched: Watched) -> None:
    path = watched.path
    path.write_text("acks=1")
    said = watched.run(
        nothing,
        lambda: path.write_text("acks="),
        lambda: path.write_text("acks=0"),  # what was half written is now whole
        nothing,
        lambda: path.write_text("acks=0"),
        nothing,
    )
    assert said == ["1", "", "", "", "0", "", ""]


def test_a_watch_follows_an_atomic_replace_and_a_config_map(watched: Watched, tmp_path: Path) -> None:
    def mounted(version: str, text: str) -> None:
        """As the kubelet does: ..data is a link to a directory, and is replaced by rename."""
        (tmp_path / version).mkdir()
        (tmp_path / version / "client.properties").write_text(text)
        (tmp_path / "..data_tmp").symlink_to(version)
        (tmp_path / "..data_tmp").rename(tmp_path / "..data")

    mounted("..1", "acks=1")
    watched.path.symlink_to(Path("..data") / "client.properties")
    assert watched.run(lambda: mounted("..2", "acks=0"), nothing, lambda: mounted("..3", "acks=0"), nothing) == ["1", "", "0", "", ""]


def test_a_watch_outlives_a_file_that_is_wrong_or_gone_and_says_so_once(watched: Watched) -> None:
    path = watched.path
    gone = f"error: {path}: No such file or directory"
    wrong = f"error: {path} is not a Java properties file: it has a \\u that four hexadecimal digits don't follow"
    said = watched.run(
        nothing,
        lambda: path.write_text("acks=1"),
        nothing,
        lambda: path.write_text("acks=\\u1"),
        nothing,
        nothing,
        path.unlink,
        nothing,
        lambda: path.write_text("acks=all"),
        nothing,
    )
    assert said == [gone, "", "", "1", "", wrong, "", gone, "", "", "all"]


def test_a_watch_obeys_a_file_that_says_no(watched: Watched) -> None:
    watched.path.write_text("acks=1")
    said = watched.run(lambda: watched.path.write_text("enable.config.push=false"), nothing, nothing)
    assert said == ["1", "", f"not pushed, as {watched.path} says enable.config.push=false\n", ""]


def test_a_watch_tries_again_later_where_nobody_answers(watched: Watched, hanging_up: tuple[str, list[None]]) -> None:
    address, accepted = hanging_up
    watched.path.write_text(f"bootstrap.servers={address}")
    seen: list[int] = []

    def count() -> None:
        if len(seen) in (0, pushing.RETRY_POLLS):
            time.sleep(0.2)  # until the other side has counted what it accepted
        seen.append(len(accepted))

    said = watched.run(*[count] * (pushing.RETRY_POLLS + 2), flags=("--timeout-ms", "500"))
    assert 0 < seen[0] == seen[pushing.RETRY_POLLS - 1] < seen[pushing.RETRY_POLLS] == seen[-1]
    assert said[0].startswith("error: not pushed: ")


def test_why_a_key_is_held_back() -> None:
    held_back = collect_dialect("java", ClientType.PRODUCER, {}, ["ssl.protocol", "config.providers", "ssl.key.password", "x"]).sensitive
    assert held_back == ("ssl.protocol", "ssl.key.password", "x")
    assert why_held_back("key.serializer") == "classes and passwords are never pushed"
