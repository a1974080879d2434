"""What ``xray --publish`` writes: the job judges it as the command does, and no secret is in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from rule_batches import batch_of

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
