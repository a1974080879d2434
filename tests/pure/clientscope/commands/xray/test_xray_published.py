"""What ``xray --publish`` writes: the job judges it as the command does, and no secret is in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from command_runs import Run
from every import every
from rule_batches import batch_of

from clientscope.catalog.configs import ClientType
from clientscope.commands.xray import client_logs
from clientscope.commands.xray.configurations import applications, found_clients
from clientscope.commands.xray.inventory import Inventory, Place
from clientscope.commands.xray.reading import read_logs
from clientscope.digest import DigestKey
from clientscope.logs.requests import LoggedRequest
from clientscope.policy.found_clients import FoundClients
from clientscope.records.codec import decode
from clientscope.records.config_record import ClientConfigRecord
from udfs.decode import decode_pushes
from udfs.rules.engine.batch import judge
from udfs.rules.engine.rule import FIRED
from udfs.rules.registry import RULES

FIXTURES = Path(__file__).parents[4] / "fixtures"
KEY = DigestKey(b"k" * 32)


def published(inventory: Inventory) -> FoundClients:
    found = FoundClients("cluster", 1, 1, KEY)
    for client in found_clients(inventory, applications(inventory)):
        found.add(client)
    return found


def records(found: FoundClients) -> list[Any]:
    return [decode(ClientConfigRecord, value) for value in found.records.values()]


def fired(found: FoundClients) -> dict[str, set[str]]:
    """By client.id, the codes of what the job finds."""
    judgements = judge(batch_of(*found.records.values()), RULES)
    return {
        record.client_id or "": {rule.code for rule, each in zip(RULES, judgements, strict=True) if each.outcomes[row] == FIRED}
        for row, record in enumerate(records(found))
    }


@pytest.mark.parametrize("log", sorted(FIXTURES.glob("request_logs/*.log")), ids=lambda path: path.stem)
def test_every_record_is_as_history_expects_and_the_same_in_each_run(log: Path) -> None:
    inventory, _, errors = read_logs([log], 1 << 30)
    assert not errors
    made = [published(inventory) for _ in range(2)]
    assert made[0].records and made[0].records.keys() == made[1].records.keys()
    rows = decode_pushes(pa.array(list(made[0].records.values()), pa.binary()))
    assert set(rows.field("decode_error").to_pylist()) == {None}
    assert not [word for word in ("canary", "iNdQUinP1aFQ", "Y2FuYXJ5") if word.encode() in b"".join(made[0].records.values())]


def test_the_broker_of_a_running_brokers_log_is_in_the_record() -> None:
    inventory = Inventory()
    request = LoggedRequest(0, 9, "", "orders", "c", "10.0.0.1", "User:orders", "CLIENT", "SASL_SSL", "librdkafka", "2.8.0", {"acks": "1"})
    inventory.add(request, Place("broker 7", 1))
    inventory.end()
    (client,) = found_clients(inventory, applications(inventory))
    assert (client.broker_id, client.listener, client.security_protocol) == (7, "CLIENT", "SASL_SSL")


def test_a_clients_own_log_adds_settings_that_no_request_shows_to_clients_of_its_client_id(tmp_path: Path) -> None:
    log = tmp_path / "app.log"
    text = (FIXTURES / "client_logs" / "java-4.4.log").read_text().replace("client.id = orders-1", "client.id = java-orders-1")
    secret = "transactional.id = password=canary-7c1f9e"
    log.write_text(text.replace("acks = 1", "acks = all").replace("transactional.id = null", secret))
    inventory, _, _ = read_logs([FIXTURES / "request_logs" / "broker.log"], 1 << 30)
    client_logs.join(inventory, [log])
    settings = {key.client_id: client.settings for key, client in inventory.clients.items()}
    orders = {key: found[0] for (client_type, key), found in settings["java-orders-1"].items() if client_type is ClientType.PRODUCER}
    assert (orders["linger.ms"], orders["acks"]) == ("0", "1"), "what a request showed counts"
    assert "max.block.ms" not in orders, "a default"
    assert not any(
        key == "linger.ms" for found in every(of for name, of in settings.items() if name != "java-orders-1") for _, key in found
    )
    found = published(inventory)
    assert b"canary-7c1f9e" not in b"".join(found.records.values())
    assert "SK002" in fired(found)["java-orders-1"]


def test_a_log_without_a_clients_settings_is_an_error(tmp_path: Path, clientscope: Run) -> None:
    (tmp_path / "app.log").write_text("nothing\n")
    logs = ("--client-log", str(FIXTURES / "client_logs" / "java-4.4.log"), "--client-log", str(tmp_path / "app.log"))
    err = clientscope("xray", str(FIXTURES / "request_logs" / "broker.log"), *logs).refused
    assert f"error: {tmp_path / 'app.log'}: no client's settings in this log\nhint: " in err
