"""Values of a setting in the fleet: the newest of each client, bounded, with counts and names, and no secret."""

from __future__ import annotations

from typing import Any

import pytest
from record_bytes import config_record, setting

from clientscope.commands.explain.fleet import MOST_LISTED, MOST_NAMES, FleetValues, notes
from clientscope.records.enums import Origin


def fleet(*records: tuple[str, bytes | None], key: str = "linger.ms", **bounds: int) -> FleetValues:
    made = FleetValues(key, {key}, **bounds)
    made.take([(name.encode(), value) for name, value in records])
    return made


def linger(value: str, client_id: str = "orders-1", **changes: Any) -> bytes:
    return config_record(setting("linger.ms", value, default=value == "0"), client_id=client_id, **changes)


def test_clients_are_counted_by_value_and_named_by_application() -> None:
    found = fleet(
        ("a", linger("5", "orders-1")), ("b", linger("5", "orders-2")), ("c", linger("5", "billing")), ("d", linger("0", "x")),
        ("e", config_record(setting("acks", "all"), client_id="y")),
    )  # fmt: skip
    java = found.by_library()["java"]
    assert (java["clients"], java["others"], found.unknown) == (4, 0, 1)
    assert [(each["value"], each["clients"], each["set_by"], each["names"]) for each in java["values"]] == [
        ("5", 3, 3, ["billing", "orders"]), ("0", 1, 0, ["x"]),
    ]  # fmt: skip
    assert notes(found, found.by_library(), ["java"]) == ["1 client don't say their value of it"]


def test_the_newest_counts_and_a_tombstone_ends_it() -> None:
    found = fleet(("a", linger("5")), ("b", linger("6")), ("a", linger("7")))
    found.take([(b"b", None)])
    assert [each["value"] for each in found.by_library()["java"]["values"]] == ["7"]


def test_what_a_client_says_itself_counts_before_what_was_seen_of_it() -> None:
    seen = {"origin": Origin.OBSERVED}
    found = fleet(("a", linger("5", "a")), ("seen", linger("6", "a", **seen)), ("other", linger("6", "b", **seen)))
    assert [(each["value"], each["clients"]) for each in found.by_library()["java"]["values"]] == [("5", 1), ("6", 1)]


def test_everything_is_bounded() -> None:
    many = [(f"k{number}", linger(str(number), f"name{chr(97 + number)}")) for number in range(20)]
    java = fleet(*many).by_library()["java"]
    assert (len(java["values"]), java["others"], java["clients"]) == (MOST_LISTED, 20 - MOST_LISTED, 20)
    alike = fleet(*((f"k{number}", linger("5", f"name{chr(97 + number)}")) for number in range(20))).by_library()["java"]["values"][0]
    assert (len(alike["names"]), alike["applications"]) == (MOST_NAMES, 20)
    few = fleet(*many, most_values=5)
    assert (few.by_library()["java"]["clients"], few.beyond) == (5, 15)
    short = fleet(*many, most_clients=5)
    assert (short.by_library()["java"]["clients"], short.left_out) == (5, 15)
    (long,) = fleet(("a", config_record(setting("client.rack", "r" * 5_000))), key="client.rack").by_library()["java"]["values"]
    assert long["value"] is not None and len(long["value"]) <= 100


@pytest.mark.parametrize("key", ["sasl.jaas.config", "ssl.key.password"])
def test_a_secret_is_never_there(key: str) -> None:
    record = config_record(setting(key, 'x required password="hunter2";'), client_id="password=hunter2")
    found = fleet(("a", record), key=key).by_library()
    (value,) = found["java"]["values"]
    assert value["value"] is None and value["withheld"]
    assert "hunter2" not in str(found)
