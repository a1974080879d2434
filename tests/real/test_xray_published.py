"""``xray --publish``: clients of request logs in the same rules, findings, page and history as pushes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import running_broker
from every import every
from forked import clientscope, printed
from observe import files_below, read_all
from patience import eventually, until
from replay import rows

from clientscope.commands.xray import XraySettings
from clientscope.commands.xray.publishing import Publishing
from clientscope.policy.found_clients import GATEWAY_ID, FoundClient
from clientscope.records.codec import decode
from clientscope.records.config_record import ClientConfigRecord
from clientscope.records.enums import Origin
from clientscope.records.topics import CONFIGS, FINDINGS, QUARANTINE, RESULTS

FIXTURES = Path(__file__).parents[1] / "fixtures"
CANARIES = ("canary-7c1f9e", "iNdQUinP1aFQ", "Y2FuYXJ5")


def published(installation: Any, *words: str, state: Path | None = None) -> tuple[int, str]:
    key = str(installation.data_dir / "digest.key")
    flags = ("--publish", "--bootstrap-servers", installation.broker.internal, "--digest-key-file", key)
    ran = clientscope(*words, *flags, COLUMNS="140", **({"XDG_STATE_HOME": str(state)} if state else {}))
    assert not [word for word in CANARIES if word in ran.stdout + ran.stderr]
    return ran.returncode, ran.stderr


def results(installation: Any, origin: str) -> list[dict[str, Any]]:
    return [row for row in installation.api("results?limit=1000")["items"] if row["origin"] == origin]


def history(installation: Any, origin: Origin) -> list[dict[str, Any]]:
    return [row for row in rows(installation.data_dir / "history", "pushes").values() if row["origin"] == origin]


def keys(installation: Any, origin: Origin) -> dict[bytes, int]:
    """Of its records on the topic, how often each key is there."""
    found: dict[bytes, int] = {}
    for message in read_all(installation.broker.internal, CONFIGS):
        if message.key.startswith(b"poison-"):  # of test_path, no record
            continue
        if message.value and decode(ClientConfigRecord, message.value).origin == origin:  # type: ignore[attr-defined]
            found[message.key] = found.get(message.key, 0) + 1
    return found


def test_what_logs_show_is_judged_opened_as_a_finding_and_kept(installation: Any) -> None:
    origin, name = Origin.REQUEST_LOG, "request_log"
    words = ["xray", str(FIXTURES / "request_logs" / "broker.log")]
    status, said = published(installation, *words)
    assert status == 0, said
    of_topic = keys(installation, origin)
    assert of_topic and f"published {len(of_topic)} clients to clientscope.configs" in said

    until(lambda: len(results(installation, name)) == len(of_topic))
    judged = results(installation, name)
    assert [row for row in judged if row["rules"]]
    assert {row["instance_id"] for row in judged} == {key.decode().partition("/")[0] for key in of_topic}

    def opened() -> bool:
        found = installation.api("findings?limit=1000")["items"]
        return any(each["state"] == "open" and GATEWAY_ID in {client["gateway"] for client in each["clients"]} for each in found)

    assert eventually(opened), installation.api("findings?limit=1000")
    until(lambda: len(history(installation, origin)) == len(of_topic), why="no row is quarantined")

    servers = ("--bootstrap-servers", installation.broker.internal)
    explained = {each["library"]: each["fleet"] for each in json.loads(printed("explain", "acks", "--fleet", "-o", "json", *servers))}
    java = explained["java"]
    assert sum(each["clients"] for each in every(java["values"])) + java["others"] == java["clients"] >= 1
    assert f"  In the fleet, {java['clients']} client" in printed("explain", "acks", "--software", "java", "--fleet", *servers)

    assert published(installation, *words)[0] == 0
    assert set(keys(installation, origin)) == set(of_topic), "a later run replaces the records"
    for topic in (CONFIGS, RESULTS, FINDINGS, QUARANTINE):
        for message in read_all(installation.broker.internal, topic):
            assert not [word for word in CANARIES if word.encode() in (message.value or b"") + (message.key or b"")], topic
    assert [path for path, content in files_below(installation.data_dir, "broker") if CANARIES[0].encode() in content] == []
    installation.processes.check()


def test_a_look_at_a_running_cluster_publishes_its_clients_with_their_broker(installation: Any, tmp_path: Path) -> None:
    log = installation.data_dir / "broker" / "broker.log"
    before = set(keys(installation, Origin.REQUEST_LOG))
    status, said = published(installation, "xray", "--seconds", "1", "--yes", str(log), state=tmp_path)
    assert status == 0, said
    new = keys(installation, Origin.REQUEST_LOG).keys() - before
    values = [message.value for message in read_all(installation.broker.internal, CONFIGS) if message.key in new]
    records: list[Any] = [decode(ClientConfigRecord, value) for value in values if value]
    assert {record.broker_id for record in records} == {1}
    assert {record.listener_name for record in records} >= {"INTERNAL"}, "the job and serve read there"
    assert {record.client_address for record in records} == {"127.0.0.1"}


@pytest.mark.long  # half a minute until the writer gives up
def test_what_kafka_does_not_acknowledge_is_counted_and_an_error(tmp_path: Path) -> None:
    with running_broker(tmp_path / "broker") as broker:
        publishing = Publishing(XraySettings(paths=("-",), bootstrap_servers=broker.internal))
        for number in range(3):
            publishing.clients.add(FoundClient(None, "librdkafka", "2.8.0", f"c-{number}", None, ()))
    (error,) = publishing.send()
    assert error.startswith("3 of 3 clients are not published")
