"""What ``--publish`` of ``import client-logs`` and ``xray`` writes: the job judges it as the command does, and no secret is in it."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from rule_batches import batch_of

from clientscope.commands.imports import importing
from clientscope.commands.imports.client_logs import ImportClientLogsSettings
from clientscope.commands.imports.logged_starts import LoggedStarts
from clientscope.commands.lint.findings import LintReport
from clientscope.commands.xray.configurations import applications, configurations, found_clients, reads
from clientscope.commands.xray.inventory import Inventory, Place
from clientscope.commands.xray.reading import read_logs
from clientscope.digest import DigestKey
from clientscope.logs.requests import LoggedRequest
from clientscope.policy.found_clients import FoundClients
from clientscope.records.codec import ClientConfigRecord, decode
from clientscope.records.layouts import Origin
from udfs.decoding.decode import decoder
from udfs.kernels.expectations import judged_pushes
from udfs.rules.engine.batch import judge
from udfs.rules.engine.rule import FIRED
from udfs.rules.registry import RULES

FIXTURES = Path(__file__).parents[4] / "fixtures"
KEY = DigestKey(b"k" * 32)
CANARY = "canary-7c1f9e"
TODAY = date(2026, 11, 24)


def imported(*logs: Path) -> tuple[LintReport, FoundClients]:
    found = FoundClients("cluster", 1, 1, KEY)
    paths = tuple(str(log) for log in logs)
    return importing.import_logs(ImportClientLogsSettings(paths=paths), TODAY, found), found


def seen(log: Path) -> tuple[Inventory, FoundClients]:
    inventory, _, errors = read_logs([log], 1 << 30)
    assert not errors
    found = FoundClients("cluster", 1, 1, KEY)
    for client in found_clients(inventory, applications(inventory)):
        found.add(client)
    return inventory, found


def records(found: FoundClients) -> list[Any]:
    return [decode(ClientConfigRecord, value) for value in found.records.values()]


def fired(found: FoundClients) -> dict[str, set[str]]:
    """By client.id, the codes of what the job finds."""
    judgements = judge(batch_of(*found.records.values()), RULES)
    return {
        record.client_id or "": {rule.code for rule, each in zip(RULES, judgements, strict=True) if each.outcomes[row] == FIRED}
        for row, record in enumerate(records(found))
    }


@pytest.mark.parametrize("name", ["java-2.1", "java-2.8", "java-3.9", "java-4.4", "librdkafka-2.16"])
def test_the_job_finds_in_a_clients_log_what_the_import_finds(name: str) -> None:
    report, found = imported(FIXTURES / "client_logs" / f"{name}.log")
    # The job infers what kind of client it is from the settings, so it can't say that they are another kind's.
    of_import = {file.instance.client_id: {each.rule.code for each in file.findings} - {"CF110"} for file in report.files if file.instance}
    of_job = fired(found)
    assert of_job and of_job.items() <= of_import.items()
    left_out = set(of_import.keys() - of_job.keys())
    assert left_out == ({"viewer"} if name in ("java-3.9", "java-4.4") else set()), "whose log contradicts itself"


def test_a_java_clients_log_says_of_each_setting_whether_it_is_the_default() -> None:
    _, found = imported(FIXTURES / "client_logs" / "java-4.4.log")
    (producer,) = [record for record in records(found) if record.client_id == "orders-1"]
    configs = {each.config_key: (each.config_value, each.is_default) for each in producer.configs}
    assert configs["acks"] == ("1", False)
    assert configs["metadata.max.age.ms"] == ("300000", True)
    assert (producer.origin, producer.client_address, producer.broker_id) == (Origin.CLIENT_LOG, "", 1)


@pytest.mark.parametrize("log", sorted(FIXTURES.glob("*_logs/*.log")), ids=lambda path: path.stem)
def test_every_record_is_as_history_expects_and_the_same_in_each_run(log: Path) -> None:
    made = [imported(log)[1] if log.parent.name == "client_logs" else seen(log)[1] for _ in range(2)]
    assert made[0].records and made[0].records.keys() == made[1].records.keys()
    rows = judged_pushes(decoder("ClientConfigRecord")(pa.array(list(made[0].records.values()), pa.binary())))
    assert set(rows.field("decode_error").to_pylist()) == {None}
    assert not [word for word in ("canary", "iNdQUinP1aFQ", "Y2FuYXJ5") if word.encode() in b"".join(made[0].records.values())]


def test_a_secret_in_a_clients_log_is_redacted_and_found(tmp_path: Path) -> None:
    log = tmp_path / "app.log"
    text = (FIXTURES / "client_logs" / "java-4.4.log").read_text()
    log.write_text(text.replace("transactional.id = null", f"transactional.id = password={CANARY}"))
    _, found = imported(log)
    assert CANARY.encode() not in b"".join(found.records.values())
    assert "SK002" in fired(found)["orders-1"]


def test_a_log_that_ends_within_a_client_is_not_published(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "app.log"
    lines = (FIXTURES / "client_logs" / "java-4.4.log").read_text().splitlines()
    begin = next(number for number, line in enumerate(lines) if "ProducerConfig values:" in line)
    log.write_text("\n".join(lines[begin : begin + 40]))
    _, found = imported(log)
    assert not found.records
    assert "not published" in capsys.readouterr().err


def test_a_rotated_log_is_the_same_client_as_the_current_one(tmp_path: Path) -> None:
    text = (FIXTURES / "client_logs" / "java-4.4.log").read_text()
    for name, acks in (("app.log", "1"), ("app.log.1", "0")):
        (tmp_path / name).write_text(text.replace("acks = 1", f"acks = {acks}"))
    _, found = imported(tmp_path / "app.log", tmp_path / "app.log.1")
    (producer,) = [record for record in records(found) if record.client_id == "orders-1"]
    assert [each.config_value for each in producer.configs if each.config_key == "acks"] == ["1"]


def test_a_client_that_is_connected_has_its_address_and_replaces_what_was_published_without() -> None:
    _, found = imported(FIXTURES / "client_logs" / "java-4.4.log")
    before = dict(found.records)
    (key,) = [key for key, value in before.items() if decode(ClientConfigRecord, value).client_id == "orders-1"]  # type: ignore[attr-defined]
    now = found.belongs_to(key, "10.0.0.7", 3, "CLIENT", "PLAINTEXT")
    taken = found.take()
    assert taken[key] is None
    assert now.partition("/")[0] == key.partition("/")[0]
    record: Any = decode(ClientConfigRecord, taken[now] or b"")
    assert (record.client_address, record.broker_id, record.listener_name) == ("10.0.0.7", 3, "CLIENT")
    assert record.configs == decode(ClientConfigRecord, before[key]).configs  # type: ignore[attr-defined]
    assert not found.records


def test_what_could_not_be_written_is_held_again_but_for_what_is_newer() -> None:
    _, found = imported(FIXTURES / "client_logs" / "java-4.4.log")
    first = found.take()
    _, again = imported(FIXTURES / "client_logs" / "java-4.4.log")
    key = next(iter(again.records))
    newer = again.records[key]
    again.put_back({**dict.fromkeys(first, b"older"), "gone": None})
    assert again.records[key] == newer
    assert again.take()["gone"] is None


def test_starts_are_noted_under_the_names_of_the_records() -> None:
    found, starts = FoundClients("cluster", 1, 1, KEY), LoggedStarts()
    log = FIXTURES / "client_logs" / "java-4.4.log"
    importing.import_logs(ImportClientLogsSettings(paths=(str(log),)), TODAY, found, starts)
    assert starts.client_ids == {record.client_id for record in records(found)} == {"orders-1", "consumer-billing-1", "ops"}
    starts.forget(1 << 62)
    assert not starts.client_ids


@pytest.mark.parametrize("name", ["broker-2.4", "broker-2.8", "broker"])
def test_the_job_finds_in_a_request_log_what_xray_finds(name: str) -> None:
    inventory, found = seen(FIXTURES / "request_logs" / f"{name}.log")
    software = sorted(record.client_software_name for record in records(found))
    of = applications(inventory)
    assert software == sorted(key.software_name for key in of for _ in inventory.clients[key].client_types or (None,))
    assert {record.origin for record in records(found)} == {Origin.REQUEST_LOG}
    assert not any(each.is_default for record in records(found) for each in record.configs)
    of_xray = {code for read in _findings(inventory) for code in read}
    assert of_xray <= set().union(*fired(found).values())


def _findings(inventory: Inventory) -> list[set[str]]:
    from clientscope.commands.lint import linting
    from clientscope.commands.lint.settings import JudgingSettings

    report = linting.report_on(list(reads(configurations(inventory, applications(inventory)))), JudgingSettings(), TODAY)
    return [{each.rule.code for each in file.findings} for file in report.files]


def test_the_broker_of_a_running_brokers_log_is_in_the_record() -> None:
    inventory = Inventory()
    request = LoggedRequest(0, 9, "", "orders", "c", "10.0.0.1", "User:orders", "CLIENT", "SASL_SSL", "librdkafka", "2.8.0", {"acks": "1"})
    inventory.add(request, Place("broker 7", 1))
    inventory.end()
    (client,) = found_clients(inventory, applications(inventory))
    assert (client.broker_id, client.listener, client.security_protocol) == (7, "CLIENT", "SASL_SSL")
