"""``clientscope lint`` on what real clients logged (`tools/client_logs.py`), in the layouts of collectors."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from collections.abc import Callable, Sequence
from itertools import chain, zip_longest
from pathlib import Path

import pytest
from command_runs import Run, document
from every import every
from golden import is_golden

from clientscope.commands.lint import client_logs
from clientscope.commands.lint.client_logs import clients
from clientscope.logs.client_logs import LoggedStart
from clientscope.logs.files import MAX_LINE

LOGS = Path(__file__).parents[4] / "fixtures" / "client_logs"
JAVA = {"2.1": "2.1.1", "2.8": "2.8.2", "3.9": "3.9.2", "4.4": "4.4.0"}


def lines_of(release: str) -> list[str]:
    return LOGS.joinpath(f"java-{release}.log").read_text().splitlines()


def without_places(client: LoggedStart) -> tuple[object, ...]:
    values = {key: setting.value for key, setting in client.settings.items()}
    return client.client_type.value, client.version, client.whole, sorted(client.contradicted), values


@pytest.fixture
def linted(clientscope: Run) -> Run:
    return lambda *words: clientscope("lint", "--fail-on", "never", *words)


def prefixed(text: str) -> Callable[[Sequence[str]], list[str]]:
    return lambda lines: [f"{text}{line}" for line in lines]


def docker(lines: Sequence[str]) -> list[str]:
    return [json.dumps({"log": f"{line}\n", "stream": "stdout", "time": "2026-11-23T20:00:00.1Z"}) for line in lines]


def messages(lines: Sequence[str]) -> list[str]:
    """A JSON object for each message, as Logstash's encoder writes them; a message begins with a time."""
    found: list[list[str]] = []
    for line in lines:
        if line.startswith("[2"):
            found.append([line.split(" INFO ")[-1]])
        elif not line.startswith(" (") and found:
            found[-1].append(line)
    return [json.dumps({"@timestamp": "now", "level": "INFO", "message": "\n".join(message)}) for message in found]


LAYOUTS = {
    "kubectl logs --prefix": prefixed("[pod/orders-7d9f-1/app] "),
    "kubectl logs --timestamps": prefixed("2026-11-23T20:00:00.123456789Z "),
    "CRI": prefixed("2026-11-23T20:00:00.123456789+01:00 stdout F "),
    "journalctl": prefixed("Nov 23 20:00:00 host orders[17]: "),
    "docker compose": prefixed("orders-1  | "),
    "docker's json-file": docker,
    "syslog, which escapes tabs": lambda lines: [f"Nov 23 20:00:00 host orders: {line}".replace("\t", "#011") for line in lines],
    "no tabs": lambda lines: [line.replace("\t", "    ") for line in lines],
    "line ends of Windows": lambda lines: [f"{line}\r" for line in lines],
}


def values_of(lines: Sequence[str]) -> dict[str, dict[str, str | None]]:
    """By client.id; empty where there is none."""
    found = [{key: setting.value for key, setting in client.settings.items()} for client in clients(lines)]
    return {values["client.id"] or "": values for values in found}


SHOWN = (
    "client.id", "name", "group.id", "acks", "request.required.acks", "enable.idempotence", "retries", "linger.ms", "buffer.memory",
    "transactional.id", "enable.auto.commit", "session.timeout.ms", "heartbeat.interval.ms", "offset.flush.interval.ms",
    "partition.assignment.strategy", "key.serializer", "sasl.jaas.config", "ssl.keystore.password",
)  # fmt: skip


@pytest.mark.parametrize("log", sorted(LOGS.glob("*.log")), ids=lambda path: path.stem)
def test_whose_settings_a_log_has(log: Path) -> None:
    """Java's, librdkafka's, Connect's workers, connectors and their clients, Kafka Streams'. A setting that isn't shown isn't there.

    KAFKA-8928: up to 2.4 a log says in its next lines what is used, "Overriding the default acks to all".
    """
    shown = ""
    for each in clients(log.read_text().splitlines()):
        values = "".join(f"\n  {key} = {each.settings[key].value}" for key in SHOWN if key in each.settings)
        whole = "whole" if each.whole else f"without {', '.join(sorted(each.contradicted))}"
        shown += f"{each.client_type.value if each.client_type else each.role} {each.version or 'of no version'}, {whole}{values}\n"
    assert is_golden(shown, __file__, f"{log.stem}.txt")


def test_a_consumer_without_a_group_commits_nothing_whatever_an_old_release_logs() -> None:
    """KAFKA-9344: its log has enable.auto.commit = true up to 3.6. Up to 2.1 it has the empty group, and commits."""
    for release, commits in (("2.1", "true"), ("2.8", "false")):
        logged = "\n".join(lines_of(release)).replace(
            "viewer\n\tacks = 0\n\tcompression.type = gzip\n\tenable.auto.commit = true", "viewer"
        )
        assert values_of(logged.split("\n"))["viewer"]["enable.auto.commit"] == commits


@pytest.mark.parametrize("release", JAVA)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_change_nothing(release: str, layout: str) -> None:
    plain = [without_places(client) for client in clients(lines_of(release))]
    assert [without_places(client) for client in clients(LAYOUTS[layout](lines_of(release)))] == plain


@pytest.mark.parametrize("release", JAVA)
def test_whole_messages_in_json(release: str) -> None:
    plain = [client for client in clients(lines_of(release)) if not client.contradicted]
    in_json = [client for client in clients(messages(lines_of(release))) if not client.contradicted]
    assert [without_places(client)[:3] for client in in_json] == [without_places(client)[:3] for client in plain]


def test_processes_that_interleave_line_by_line() -> None:
    processes = {f"[pod/app-{release}/main] ": lines_of(release) for release in JAVA}
    mixed = chain.from_iterable(zip_longest(*([start + line for line in lines] for start, lines in processes.items())))
    found = sorted(map(repr, map(without_places, clients(line for line in mixed if line is not None))))
    alone = sorted(repr(without_places(client)) for lines in processes.values() for client in clients(lines))
    assert found == alone


def test_a_worker_is_judged_by_what_it_logs_and_by_no_default(linted: Run) -> None:
    report = document(linted, str(LOGS / "connect-distributed-4.3.log"))
    (worker,) = [file for file in report["files"] if file["instance"]["client_id"] == "Connect worker connect-orders"]
    assert worker["notes"] == []
    of_worker = {finding["code"] for finding in report["findings"] if 112 <= finding["line"] < 248}
    assert of_worker == {"AN201", "AN202"}
    assert {"Connect connector orders-sink", "Connect connector orders-source"} <= {
        file["instance"]["client_id"] for file in report["files"]
    }


def test_a_message_of_another_kind_ends_the_one_before() -> None:
    """A task's and a converter's settings have names of clients' too."""
    lines = [*lines_of("4.4")[:40], "[2026] INFO TaskConfig values: ", "\tretries = 7", "\ttask.class = class a.B"]
    (producer,) = clients(lines)
    assert "retries" not in producer.settings
    assert not producer.whole


def test_a_value_that_writes_lines_of_its_own_is_not_believed(linted: Run) -> None:
    """A producer's client.id with a line end: what it forges contradicts what the client logs, and neither is judged."""
    lines = lines_of("4.4")
    at = lines.index("\tclient.id = orders-1")
    Path("app.log").write_text("\n".join([*lines[:at], "\tclient.id = x", "\tacks = all", "\tlinger.ms = 50", *lines[at + 1 :]]))
    producer = next(clients(Path("app.log").read_text().splitlines()))
    assert producer.contradicted == {"acks", "linger.ms"}
    assert not producer.whole
    assert not {"acks", "linger.ms"} & set(producer.settings)
    _, out, _ = linted("app.log")
    assert "acks, linger.ms: more than one value is logged" in out


@pytest.mark.parametrize("end", ["\tretries = ", "\tvalue.serializer = "])
def test_a_log_that_ends_within_a_message_says_nothing_of_defaults(end: str, linted: Run) -> None:
    lines = lines_of("4.4")
    at = next(number for number, line in enumerate(lines) if line.startswith(end))
    Path("app.log").write_text("\n".join(lines[:at]))
    report = document(linted, "app.log")
    assert report["files"][0]["notes"][0]["text"] == "the log ends before the last setting, so defaults are not judged"
    assert {finding["code"] for finding in report["findings"]} >= {"AN109"}
    assert all(setting["line"] for finding in every(report["findings"]) for setting in finding["settings"])


def test_findings_have_their_lines_and_origins(linted: Run) -> None:
    lines = lines_of("4.4")
    report = document(linted, str(LOGS / "java-4.4.log"))
    set_in_it = set()
    for finding in report["findings"]:
        for setting in finding["settings"]:
            if setting["line"]:
                assert lines[setting["line"] - 1].strip().startswith(f"{setting['key']} = ")
            if setting["origin"] == "set":
                set_in_it.add(setting["key"])
        first = finding["settings"][0]
        assert lines[finding["line"] - 1][finding["column"] - 1 :].startswith(first["value"])
    assert set_in_it == {"acks", "linger.ms", "heartbeat.interval.ms", "session.timeout.ms"}
    assert report["files"][0]["instance"] == {"client_id": "orders-1", "software_version": "4.4.0", "line": 2, "starts": 1}


@pytest.mark.parametrize("output_format", ["full", "concise", "json", "sarif", "github"])
def test_no_secret_is_shown_and_no_log_is_corrected(output_format: str, linted: Run) -> None:
    once = "\n".join(lines_of("4.4")).replace("metric.reporters", "metric.reporterz")
    leak = "\tsasl.oauthbearer.token.endpoint.url = https://user:canary-url@idp/"
    leaked = once.replace("\tsasl.oauthbearer.token.endpoint.url = null", leak)
    text = "\n".join([leaked, once, once.replace("consumer-billing-1", "consumer-billing-7")])
    Path("app.log.1").write_text(text)
    _, out, _ = linted("app.log.1", *map(str, LOGS.glob("*.log")), "--output-format", output_format)
    assert "AN102" in out and "SK002" in out
    assert "canary" not in out
    assert output_format != "full" or "consumer consumer-billing-7, 4.4.0, 2 starts" in out, "of the same settings"
    assert Path("app.log.1").read_text() == text


def test_compressed_logs_and_standard_input(linted: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    compressed = gzip.compress((LOGS / "java-3.9.log").read_bytes())
    Path("app.log.2.gz").write_bytes(compressed)
    Path("cut.log.gz").write_bytes(compressed[:-200])
    assert linted("app.log.2.gz", "--fail-on", "high").status == 1
    said = linted("cut.log.gz", str(LOGS / "java-4.4.log"))
    assert said.status == 2 and "ends within its compressed data" in said.err
    with (LOGS / "java-3.9.log").open() as file:
        monkeypatch.setattr("sys.stdin", file)
        assert "orders-1" in linted("--format", "log", "-")[1]


def test_hostile_lines_take_little_memory(linted: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Endless lines, deep nesting, messages without a second line: the client after them is found, and skipped lines are reported."""
    with Path("app.log").open("w") as file:
        file.write(" " * (8 * MAX_LINE) + "\n")
        file.write('{"message":' + "[" * 100_000 + "\n")
        for number in range(700):
            file.write(f"[{number}] INFO ProducerConfig values: \n\tacks = {number}\n\tkey{number} = {'v' * 100}\n")
        file.write("\tclient.id = " + "y" * 100_000 + "\n")
        file.write("\n".join(lines_of("4.4")) + "\n")
    monkeypatch.setattr(client_logs, "MOST_CLIENTS", 500)
    tracemalloc.start()
    try:
        status, out, err = linted("app.log")
        assert tracemalloc.get_traced_memory()[1] < 50 * 2**20
    finally:
        tracemalloc.stop()
    assert (status, err) == (0, "")
    assert "clients not judged: too many configurations" in out
    assert "AN102" in out


UNUSED = {
    "2.8": ("'ssl.key.password'", "'max.in.flight.request.per.connection'"),
    "4.4": (
        "'[ssl.key.password, sasl.jaas.config]'",
        "'[schema.registry.url, my.own, acks.on, sasl.username, ssl.keystore.pasword, max.in.flight.request.per.connection]'",
    ),
}


@pytest.mark.parametrize("layout", ["kubectl logs --prefix", "docker's json-file", "no tabs"])
@pytest.mark.parametrize("release", sorted(UNUSED))
def test_finds_a_misspelled_setting_that_the_client_doesnt_use(release: str, layout: str, linted: Run) -> None:
    """Settings of plug-ins and of the application itself stay quiet: most clients are given some."""
    lines = LAYOUTS[layout]([line.replace(*UNUSED[release]) for line in lines_of(release)])
    Path("app.log").write_text("\n".join(lines))
    report = document(linted, "app.log")
    number = next(number for number, line in enumerate(lines, 1) if "max.in.flight.request.per" in line)
    found = [
        (finding["line"], setting["key"], setting["note"])
        for finding in report["findings"]
        if finding["code"] in ("CF101", "CF109")
        for setting in finding["settings"]
    ]
    misspelled = number, "max.in.flight.request.per.connection", "did you mean max.in.flight.requests.per.connection?"
    password = number, "ssl.keystore.pasword", "did you mean ssl.keystore.password?"
    other = number, "sasl.username", "did you mean sasl.jaas.config with a username?"
    assert sorted(found) == sorted([misspelled] if release == "2.8" else [misspelled, password, other])
    assert "SK001" not in {finding["code"] for finding in report["findings"]}


def test_an_unused_setting_is_of_the_client_that_has_it() -> None:
    """Lines of two processes alternate, of which one has a misspelled setting."""
    logged = [line for line in lines_of("2.8") if "sasl.jaas.config' was" not in line]
    other = [line.replace("orders-1", "other-1") for line in logged if "was supplied but" not in line]
    both = [line for pair in zip_longest(prefixed("a | ")(logged), prefixed("b | ")(other), fillvalue="") for line in pair]
    found = {client.settings["client.id"].value: list(client.unused) for client in clients(both) if client.unused}
    assert found == {"orders-1": ["ssl.key.password"]}
