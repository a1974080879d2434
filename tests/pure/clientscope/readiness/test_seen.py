"""readiness/seen: what gateways recorded of clients, whatever the order of the records, within bounds."""

from __future__ import annotations

import random
from dataclasses import asdict
from typing import Any

from every import every
from hypothesis import given
from hypothesis import strategies as st
from seen_clients import NOW, record, seen

from clientscope.model.enums import Kind
from clientscope.readiness.seen import KEPT_MS, MOST_LISTS, MOST_UNREAD, SeenClients, uses


def shown(clients: SeenClients, now_ms: int = NOW) -> dict[str, list[tuple[int, int, int]]]:
    """By client.id and software: api key, version and last time."""
    return {
        f"{key.client_id} {key.software_name}": [(*use, ms) for use, ms in sorted(uses(of, now_ms).items())]
        for key, of in clients.clients(now_ms)
    }


VERSION = st.tuples(st.integers(0, 3), st.integers(0, 3))
RECORDS = st.lists(
    st.tuples(
        st.integers(NOW - 100, NOW),
        st.builds(record, VERSION, VERSION, client_id=st.sampled_from(["a", "b"])),
    ),
    max_size=20,
)


@given(RECORDS, st.randoms())
def test_the_order_of_records_makes_no_difference(records: list[tuple[int, Any]], chance: random.Random) -> None:
    shuffled = [*records, *records[:3]]
    chance.shuffle(shuffled)
    assert shown(seen(*records)) == shown(seen(*shuffled))


def test_a_connection_that_is_not_settled_does_not_count() -> None:
    """Its identity may be another one a moment later."""
    assert shown(seen(*((NOW, record((1, 3), kind=kind)) for kind in (Kind.OPENED, Kind.IDENTIFIED, Kind.HEARTBEAT)))) == {}


def test_connections_without_a_name_count_with_the_clients_others() -> None:
    unknown = {"software_name": "unknown", "software_version": "unknown"}
    clients = seen((NOW - 1, record((18, 3))), (NOW, record((1, 3), **unknown)), (NOW, record((1, 2), client_id="other", **unknown)))
    assert shown(clients) == {
        "orders java": [(1, 3, NOW), (18, 3, NOW - 1)], "other unknown": [(1, 2, NOW)],
    }  # fmt: skip
    upgraded = seen((NOW - 1, record((1, 3), **unknown)), (NOW, record((18, 3))))
    assert len(shown(upgraded)) == 2, "what ended before the name was sent is an earlier client's"
    several = seen((NOW, record((18, 3))), (NOW, record((18, 3), software_version="4.3.0")), (NOW, record((1, 3), **unknown)))
    assert len(shown(several, NOW)) == 2 and len(list(several.clients(NOW))) == 3, "of two names neither is the connection's for certain"


def test_what_is_older_than_seven_days_does_not_count() -> None:
    clients = seen(
        (NOW - KEPT_MS - 1, record((1, 3))),
        (NOW - KEPT_MS - 1, record((1, 2), client_id="gone")),
        (NOW, record((1, 12))),
        (NOW - 5, record((1, 12), (3, 0))),
    )
    assert shown(clients) == {"orders java": [(1, 12, NOW), (3, 0, NOW - 5)]}
    clients.expire(NOW)
    assert len(clients) == 1 and clients.first_ms == NOW - KEPT_MS


def test_of_a_client_without_a_name_and_without_a_request_only_the_address_counts() -> None:
    nobody = {"client_id": None, "software_name": "unknown", "principal": None}
    clients = seen(*((NOW, record(address=f"10.0.0.{number}", **nobody)) for number in (1, 2, 2)))
    assert (shown(clients), clients.unread(NOW)) == ({}, 2)
    assert shown(seen((NOW, record()))) == {"orders java": []}, "one with a name can be judged by its software"


def test_every_bound_is_counted() -> None:
    clients = SeenClients(limit=100)
    for number in range(300):
        clients.apply(record((1, 12), principal=None, address=f"10.0.{number}.1"), NOW + number)
    clients.apply(record((1, 12), client_id="another"), NOW)
    assert len(clients) <= 100 and clients.dropped["seen_clients"] == 301 - len(clients)
    for number in range(MOST_UNREAD + 5):
        clients.apply(record(client_id=None, software_name="unknown", address=str(number)), NOW)
    assert clients.unread(NOW) == MOST_UNREAD and clients.dropped["unread_addresses"] == 5
    for number in range(MOST_LISTS + 3):
        clients.apply(record((0, number % 7), (1, number), client_id="many"), NOW + number)
    assert clients.dropped["seen_versions"] == 3
    (many,) = [of for key, of in clients.clients(NOW) if key.client_id == "many"]
    assert min(last for _, last in many.lists.values()) == NOW + 3, "what was last seen the longest ago is forgotten"


def test_a_copy_stays_as_it_was() -> None:
    clients = seen((NOW - 9, record((1, 3))), (NOW - 9, record(client_id=None, software_name="unknown")))
    copied = clients.copy()
    clients.apply(record((1, 12)), NOW)
    assert shown(copied) == {"orders java": [(1, 3, NOW - 9)]} and copied.unread(NOW) == 1 and copied.first_ms == NOW - 9


def test_one_principal_can_not_push_out_the_others() -> None:
    clients = SeenClients(limit=100)
    clients.apply(record((1, 12), principal="User:small"), NOW)
    for number in range(500):
        clients.apply(record((1, 12), principal="User:large", client_id=str(number)), NOW + number)
    assert "User:small" in {key.principal for key, _ in clients.clients(NOW)}


@given(st.text(max_size=300), st.none() | st.text(max_size=300))
def test_names_are_bounded(name: str, client_id: str | None) -> None:
    for key, _ in seen((NOW, record(software_name=name, client_id=client_id))).clients(NOW):
        assert all(len(part) <= 256 for part in every(asdict(key).values()) if isinstance(part, str))
