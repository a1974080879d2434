"""Reconnect storms and open transactions that ``clientscope xray`` finds in request logs."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from command_runs import Run, document
from golden import cases, is_golden

from clientscope.commands.xray import incidents

LOGS = Path(__file__).parents[4] / "fixtures" / "transaction_logs"
BEGIN = datetime(2026, 11, 24)  # a log's times have no zone


def line(second: float, key: int, version: int, request: dict[str, Any], **changed: Any) -> str:
    said = {"clientId": "orders-7", "connection": "10.0.0.1:9092-10.0.1.7:1-0", "principal": "User:alice", **changed}
    logged = {
        "requestHeader": {"requestApiKey": key, "requestApiVersion": version, "clientId": said["clientId"]},
        "request": request,
        "connection": said["connection"],
        "principal": said["principal"],
        "listener": "CLIENT",
        "securityProtocol": "SASL_SSL",
        "clientInformation": {"softwareName": "apache-kafka-java", "softwareVersion": "4.0.2"},
    }
    at = (BEGIN + timedelta(seconds=second)).isoformat(" ", "milliseconds").replace(".", ",")
    return f"[{at}] DEBUG Completed request:{json.dumps(logged)} (kafka.request.logger)\n"


def problems(run: Run, *logs: str) -> dict[str, list[dict[str, Any]]]:
    return {row["code"]: row["affected"] for row in document(run, "xray", *logs)["problems"]}


@pytest.mark.parametrize("release", ["broker-2.7", "broker-3.9", "broker"])
def test_the_open_transaction_of_a_real_log(release: str, clientscope: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has one that is committed, one that is aborted, one past its timeout, and one in progress."""
    monkeypatch.chdir(LOGS)
    monkeypatch.delenv("COLUMNS", raising=False)
    said = clientscope("xray", f"{release}.log", "--broker-release", "4.4")
    assert is_golden(said.printed, __file__, f"transactions-{release}.txt")


def transaction(each: str) -> str:
    second, key, version, name, *rest = each.split()
    if "*" in rest:
        producers = [{"transactionalId": one.strip("?"), "verifyOnly": "?" in one, "topics": []} for one in name.split("+")]
        by = {"clientId": "AddPartitionsManager-client-1", "connection": "10.0.0.1:9092-10.0.0.2:1-0", "principal": "User:broker"}
        return line(float(second), int(key), int(version), {"transactions": producers}, **by)
    named = {"v3AndBelowTransactionalId" if key == "24" else "transactionalId": name}
    timeout = {"transactionTimeoutMs": int(rest[0]) * 1_000 if rest else 60_000} if key == "22" else {}
    return line(float(second), int(key), int(version), named | timeout)


@pytest.mark.parametrize(("requests", "end", "expected"), cases(__file__, "transactions.txt"))
def test_transactions(requests: str, end: str, expected: str, clientscope: Run) -> None:
    Path("broker.log").write_text("".join(map(transaction, requests.split(", "))) + line(float(end), 3, 9, {}))
    made = document(clientscope, "xray", "broker.log")
    assert "AddPartitionsManager-client" not in {row["application"] for row in made["configurations"]}
    open_ones = [setting for finding in made["lint"]["findings"] if finding["code"] == "LG202" for setting in finding["settings"]]
    found = [f"{each['value']} {int(each['note'].partition(',')[0][-2:])}" for each in open_ones]
    assert found == ([] if expected == "-" else expected.split(", "))


def test_a_log_that_is_older_ends_no_transaction(clientscope: Run) -> None:
    Path("begun.log").write_text(transaction("100 24 3 a") + line(900, 3, 9, {}))
    Path("older.log").write_text(transaction("50 26 3 a"))
    Path("newer.log").write_text(transaction("1000 26 3 a"))
    assert "LG202" in problems(clientscope, "begun.log", "older.log")
    assert "LG202" not in problems(clientscope, "begun.log", "older.log", "newer.log")


def connections(spec: str, **changed: Any) -> str:
    made, number = "", 0
    for each in spec.split():
        start, _, rest = each.partition("+")
        count, _, seconds = rest.partition("/")
        for at in range(int(count)):
            number += 1
            second = int(start) + int(seconds) * at / int(count)
            connection = f"10.0.0.1:9092-10.0.1.7:{number}-{number}"
            made += line(second, 18, 3, {"clientSoftwareName": "x"}, connection=connection, **changed)
            made += line(second, 0, 9, {"acks": -1}, connection=connection, **{"clientId": f"orders-{number}", **changed})
    return made


@pytest.mark.parametrize(("spec", "expected"), cases(__file__, "storms.txt"))
def test_storms(spec: str, expected: str, clientscope: Run) -> None:
    Path("broker.log").write_text(connections(spec))
    affected = problems(clientscope, "broker.log").get("LG201", [])
    assert [row["application"] for row in affected] == ["orders"] * (expected != "-")
    assert [row["settings"].partition("(")[2].rstrip(")") for row in affected] == [expected] * (expected != "-")


def test_each_broker_address_and_application_counts_by_itself(clientscope: Run) -> None:
    """A client of many brokers connects to each of them."""
    for name in ("a.log", "b.log"):
        Path(name).write_text(connections("0+20/60 60+20/60"))
    assert "LG201" not in problems(clientscope, "a.log", "b.log")


def test_connections_that_were_open_before_are_no_storm(clientscope: Run) -> None:
    began = connections("0+90/60 60+90/60").splitlines(keepends=True)
    Path("broker.log").write_text("".join(each for each in began if '"requestApiKey": 18' not in each))
    assert "LG201" not in problems(clientscope, "broker.log")


def test_a_secret_in_a_name_is_not_shown(clientscope: Run) -> None:
    token = f"ghp_{'a1B2' * 9}"
    Path("a.log").write_text(transaction(f"1 24 3 {token}") + line(900, 3, 9, {}))
    Path("b.log").write_text(connections("0+90/60 60+90/60", clientId=token))
    for form in ("summary", "json", "sarif"):
        said = clientscope("xray", "a.log", "b.log", "--output-format", form)
        assert "LG202" in said.out
        assert "LG201" in said.out
        assert token[-20:] not in said.out + said.err


def test_what_is_kept_is_bounded(clientscope: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(incidents, "MOST", 1)
    Path("a.log").write_text(transaction("1 24 3 a") + transaction("1 24 3 b") + line(900, 3, 9, {}))
    (found,) = problems(clientscope, "a.log")["LG202"]
    assert "transactional.id = a" in found["settings"]
    assert "b (" not in found["settings"]
