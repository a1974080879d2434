"""`clientscope xray` on request logs of real brokers: exact settings, findings, upgrade readiness, and nothing that must not be shown."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from command_runs import Run, document
from every import every
from golden import asked, cases, is_golden, session
from request_logs import LOGS, RELEASES, lines_of

from clientscope.catalog.configs import ClientType
from clientscope.commands.xray import inventory as inventories
from clientscope.commands.xray.incidents import Place
from clientscope.commands.xray.inventory import Inventory
from clientscope.logs.request_log import LoggedRequest, RequestLogReader

CANARIES = ("canary", "iNdQUinP1aFQ", "Y2FuYXJ5")


@pytest.fixture
def run(clientscope: Run) -> Run:
    return lambda *words: clientscope("xray", *words)


def inventory_of(release: str) -> Inventory:
    inventory, log = Inventory(), RequestLogReader()
    for request in log.read(lines_of(release)):
        inventory.add(request, Place(release, log.lines))
    for request in log.end():
        inventory.add(request, Place(release, log.lines))
    inventory.end()
    return inventory


@pytest.mark.parametrize("release", RELEASES)
def test_every_value_is_what_the_client_was_set_to(release: str) -> None:
    """A release that reads requests of Java 2.1, which doesn't say that it is Java, has fewer."""
    text = ""
    clients = {key.client_id: (key, client) for key, client in inventory_of(release).clients.items()}
    for name in ("java-orders-1", "python-orders-1", "java-billing-1", "librdkafka-billing-1"):
        key, client = clients[name]
        text += f"{name}, {key.software_name} {key.software_version}\n"
        text += "".join(sorted(f"  {of.value} {setting} = {value}\n" for (of, setting), (value, _) in client.settings.items()))
    assert is_golden(text, __file__, f"{release}.txt")


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("output", ["summary", "json", "sarif"])
def test_nothing_secret_and_no_control_character_is_shown(release: str, output: str, run: Run) -> None:
    status, out, err = run(str(LOGS / f"{release}.log"), "--output-format", output)
    assert (status, err) == (0, "")
    assert "java-billing" in out or output == "sarif"
    assert not [canary for canary in CANARIES if canary in out]
    assert all(character.isprintable() or character == "\n" for character in every(out))


def test_the_software_and_the_findings(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """linger.ms and compression.type are in no request, so whatever a library's default is, nothing is said of them."""
    monkeypatch.chdir(LOGS)
    monkeypatch.delenv("COLUMNS", raising=False)
    said = run("broker.log").printed
    assert "AN109" not in said and "AN112" not in said and is_golden(said, __file__, "summary.txt")


def test_times_are_the_latest_in_whatever_order_logs_are_read() -> None:
    times = ("2026-11-24 01:00:00", "", "2026-11-23 23:59:59", "2026-11-24 01:00:01", "2026-11-24 00:30:00")
    (client,) = inventory_with(*(request(1, logged_at=at) for at in times)).clients.values()
    assert (client.requests, client.versions) == (5, {(0, 9): "2026-11-24 01:00:01"})


def request(number: int, **changed: Any) -> LoggedRequest:
    made = LoggedRequest(
        0, 9, "2026-11-24 01:00:00", f"orders-{number}", f"10.0.0.1:9092-10.0.1.7:{number}-0", "10.0.1.7", "User:alice",
        "apache-kafka-java", "3.9.2", {"acks": "1"},
    )  # fmt: skip
    return made._replace(**changed)


def inventory_with(*requests: LoggedRequest) -> Inventory:
    inventory = Inventory()
    for number, each in enumerate(requests):
        inventory.add(each, Place("log", number))
    inventory.end()
    return inventory


def test_two_clients_of_one_identity_with_different_settings_are_not_judged_by_either() -> None:
    (client,) = inventory_with(*(request(1, fields={"acks": acks}) for acks in ("1", "-1", "1"))).clients.values()
    assert (client.settings, client.contradicted) == ({}, {(ClientType.PRODUCER, "acks")})


def test_what_a_connection_sends_before_it_is_authenticated_is_no_client_of_its_own() -> None:
    unknown = {"api_version": 0, "principal": "User:ANONYMOUS", "software_name": "unknown", "software_version": "unknown"}
    early = (request(1, api_key=api_key, **unknown) for api_key in (18, 17, 36))
    inventory = inventory_with(*early, request(1), request(2, api_key=18, api_version=3, fields={}))
    (key, client), (introduced, _) = inventory.clients.items()
    assert (key.principal, key.software_name) == ("User:alice", "apache-kafka-java")
    assert set(client.versions) == {(18, 0), (17, 0), (36, 0), (0, 9)}
    assert introduced.client_id == "orders-2", "although it sent nothing else"


def test_brokers_are_no_clients() -> None:
    fetches = [request(number, api_key=1, fields={"replicaId": replica}) for number, replica in ((1, "2"), (3, "-1"))]
    of_broker, of_admin = (request(number, api_key=key, fields={}) for number, key in ((2, 67), (4, 55)))  # DescribeQuorum
    inventory = inventory_with(fetches[0], of_broker, fetches[1], of_admin)
    assert [client.acts_as_broker for client in inventory.clients.values()] == [True, True, False, False]


def test_connections_beyond_the_limits_change_only_their_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inventories, "MOST_CONNECTIONS", 3)
    monkeypatch.setattr(inventories, "MOST_INTRODUCED", 2)
    inventory = Inventory()
    for number in range(5):
        inventory.add(
            request(1, api_key=18, api_version=3, connection=f"10.0.0.1:9092-10.0.1.7:{number}-0", fields={}), Place("log", number)
        )
    for number in range(5):
        inventory.add(request(1, connection=f"10.0.0.1:9092-10.0.1.7:{number}-0"), Place("log", 5 + number))
    inventory.end()
    (client,) = inventory.clients.values()
    assert (len(client.connections), inventory.uncounted) == (3, True)
    assert (client.requests, set(client.versions)) == (10, {(18, 3), (0, 9)})


def test_reading_stops_at_the_limit_and_says_so(run: Run) -> None:
    log = str(LOGS / "broker.log")
    made = document(run, log, "--max-bytes", "20000")
    (read,) = made["logs"]
    assert 20_000 <= read["size"] < 40_000
    assert read["stopped"] == "reading stopped after --max-bytes 20,000"
    assert any("--max-bytes" in text for text in made["unseen"])
    assert made["requests"] < document(run, log)["requests"]


def test_wrong_use(run: Run) -> None:
    Path("server.log").write_text("[2026-11-24 01:00:00,000] INFO started (kafka.server.KafkaServer)\n")
    Path("broker.log").symlink_to(LOGS / "broker.log")
    said = session(lambda *words: run(*words)._replace(out=""), asked(__file__, "wrong_use.txt"))
    assert is_golden(said, __file__, "wrong_use.txt")


def test_statistics_follow_the_summary_and_findings_set_the_exit_status(run: Run) -> None:
    status, out, err = run(str(LOGS / "broker.log"), "--statistics", "--fail-on", "info")
    assert (status, err) == (1, "")
    assert "AN213" in out.partition("CODE ")[2]
    assert "CODE " not in run(str(LOGS / "broker-2.4.log"), "--fail-on", "critical").printed


def test_the_page_is_one_file_that_needs_nothing_else_and_escapes_names(run: Run) -> None:
    lines = lines_of("broker-3.9", "java-orders-1")
    script = "<script>alert(1)</script>{{ 7 * 7 }}"
    Path("broker.log").write_text("\n".join(line.replace('"java-orders-1"', json.dumps(script)) for line in lines))
    Path("report.html").write_text("an older one")
    status, _, err = run("broker.log", "--html", "report.html")
    assert (status, err) == (0, "wrote report.html\n")
    page = Path("report.html").read_text()
    assert "&lt;script&gt;alert(1)&lt;/script&gt;{{ 7 * 7 }}" in page
    assert "<script" not in page
    assert not re.search(r"(?:src|href)=|url\(|@import", page)
    assert "apache-kafka-java" in page
    assert sorted(each.name for each in Path().iterdir()) == ["broker.log", "report.html"]


TOKEN = f"ghp_{'a1B2' * 9}"
KEY_AND_SECRET = "ABCDEFGH12345678:aB3dE5gH7jK9mN1pQ3sT5vW7yZ9/bC2eF4hJ6kM8nP0rS2uV4xY6+aD8gJ0mQ2tW"


@pytest.mark.parametrize(
    ("replaced", "secret", "key"),
    [
        ("java-orders-1", TOKEN, "client.id"),
        ("java-orders-1", KEY_AND_SECRET, "client.id"),
        ("apache-kafka-java", TOKEN, "client.software.name"),
        ("4.4.0", f"4.4.0-{TOKEN}", "client.software.version"),
        ("User:ANONYMOUS", f"User:{TOKEN}", "principal"),
    ],
)
def test_finds_a_credential_in_a_name_and_shows_none(replaced: str, secret: str, key: str, run: Run) -> None:
    lines = [line for line in (LOGS / "broker.log").read_text().splitlines(keepends=True) if '"java-orders-1"' in line]
    Path("x.log").write_text("".join(lines).replace(f'"{replaced}"', f'"{secret}"'))
    shown = document(run, "x.log")
    (leak,) = [each for each in shown["lint"]["findings"] if each["code"] == "SK002"]
    assert (leak["severity"], [each["key"] for each in leak["settings"]]) == ("critical", [key])
    for form in ("json", "summary", "sarif"):
        _, out, err = run("x.log", "--output-format", form)
        assert secret[-20:] not in out + err, form


@pytest.mark.parametrize(("requests", "expected"), cases(__file__, "names.txt"))
def test_names_requests_by_their_connection(requests: str, expected: str) -> None:
    """KIP-1313: a client sends its client.id once on a connection."""
    inventory, producer = Inventory(), (ClientType.PRODUCER, "acks")
    for number, each in enumerate(requests.split(", ")):
        log, key, *words = each.split()
        differs = dict(word.split("=") for word in words if "=" in word)
        fields = {"acks": differs.pop("acks")} if "acks" in differs else {}
        connection = f"127.0.0.1:9092-10.0.0.1:{differs.pop('connection', '1')}-1"
        client_id = next((word for word in words if "=" not in word), "")
        made = request(1, api_key=int(key), client_id=client_id, connection=connection, fields=fields, **differs)
        inventory.add(made, Place(log, number))
    inventory.end()
    assert not [client for client in inventory.clients.values() if producer in client.contradicted]
    found = {key.client_id or "-": client.settings[producer][0] for key, client in inventory.clients.items() if producer in client.settings}
    assert ", ".join(f"{name} {acks}" for name, acks in sorted(found.items())) == expected


LEAKING = (
    "[2026-11-24 01:00:00,000] INFO Merging config with {ssl.keystore.password=secret-ks-42} (io.sma)",
    "[2026-11-24 01:00:00,001] WARN sasl.jaas.config = org.apache.kafka.common.security.scram.ScramLoginModule required "
    'username="svc" password="Lag-Pw-42"; (x)',
    "[2026-11-24 01:00:00,002] WARN The configuration 'ssl.key.password' was supplied but isn't a known config. (ProducerConfig)",
)


@pytest.mark.parametrize("form", ["summary", "json", "sarif"])
def test_finds_a_credential_in_any_other_line(form: str, run: Run) -> None:
    requests = lines_of("broker", '"java-orders-1"')
    Path("server.log").write_text("\n".join([*requests, *LEAKING]))
    status, out, err = run("server.log", "--output-format", form, "--fail-on", "critical")
    assert (status, err) == (1, "")
    assert "secret-ks-42" not in out
    assert "Lag-Pw-42" not in out
    if form != "json":
        return
    found = [(each["code"], each["line"], each["settings"][0]["key"]) for each in json.loads(out)["lint"]["findings"]]
    first = len(requests) + 1
    leaks = {("SK001", first, "ssl.keystore.password"), ("SK001", first + 1, "sasl.jaas.config")}
    assert {each for each in found if each[0].startswith("SK")} == leaks
    (problem,) = [each for each in json.loads(out)["problems"] if each["code"] == "SK001"]
    assert {(each["principal"], each["software"]) for each in problem["affected"]} == {
        ("of no client", f"line {first}"), ("of no client", f"line {first + 1}"),
    }  # fmt: skip


def test_finds_what_a_request_or_its_answer_hands_over(run: Run) -> None:
    """Once each: a token's hmac is the password of whoever has it, and a salted password logs in (RFC 5802)."""
    line = lines_of("broker")[0]
    user = {"name": "alice", "mechanism": 1, "iterations": 4096, "salt": "c2FsdA==", "saltedPassword": "c2FsdGVkLTQy"}
    bodies = {"request": {"upsertions": [user]}}, {"response": {"tokenId": "ngY7NTrEQaqQSjD", "hmac": "aG1hYy1vZi1hLXRva2Vu"}}
    made = [line.replace('"request":null', json.dumps(each)[1:-1]) for each in bodies]
    Path("broker.log").write_text("\n".join([line, *made, *made]))
    status, out, err = run("broker.log", "--output-format", "json", "--fail-on", "critical")
    assert (status, err) == (1, "")
    assert "c2FsdGVkLTQy" not in out and "aG1hYy1vZi1hLXRva2Vu" not in out
    found = [(each["code"], each["line"], each["settings"][0]["key"]) for each in json.loads(out)["lint"]["findings"]]
    assert {each for each in found if each[0].startswith("SK")} == {("SK001", 2, "saltedPassword"), ("SK001", 3, "token.secret")}


def test_half_a_character_in_a_credential_costs_no_report(run: Run) -> None:
    line = lines_of("broker", '"java-orders-1"')[0]
    Path("broker.log").write_text("\n".join([line, line.replace("java-orders-1", "password=Zq7mTrv9\\ud800LkPw2x")]))
    status, out, err = run("broker.log", "--output-format", "json")
    assert (status, err, json.loads(out)["requests"]) == (0, "", 2) and "LkPw2x" not in out


def test_a_log_with_credentials_alone_says_both(run: Run) -> None:
    Path("server.log").write_text(LEAKING[0])
    status, out, err = run("server.log")
    assert status == 2
    assert "no request in these logs" in err
    assert "server.log (of no client, line 1)  ssl.keystore.password" in out.replace("\n", " ")
