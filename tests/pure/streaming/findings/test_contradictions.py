"""AN405: a client whose requests show other values than it says; what isn't comparable is no contradiction."""

from __future__ import annotations

from typing import Any

import pytest
from fleets import SECOND, Fleet, shown

PUSHED = {"acks": "all", "linger.ms": "5", "request.timeout.ms": "30000", "enable.idempotence": "true", "transactional.id": "of-orders"}


def found(pushed: dict[str, str], seen: dict[str, str], **fields: Any) -> list[str]:
    """The sentences about a client that pushes the one and shows the other."""
    fleet = Fleet()
    fleet.client(1, pushed, **fields)
    fleet.seen(seen, **fields)
    fleet.later()
    contradicted = [each for each in fleet.findings() if each.code == "AN405"]
    return [sentence for each in contradicted for sentence in each.evidence]


def test_a_value_that_requests_show_otherwise_is_a_finding_and_ends_with_it(fleet: Fleet) -> None:
    fleet.client(1, PUSHED)
    fleet.seen({"acks": "1", "request.timeout.ms": "30000"})
    fleet.later()
    one = fleet.one("AN405")
    assert (one.state, one.severity, one.evidence) == ("open", "medium", ("acks: all by the client, 1 in its requests",))
    assert shown(one) == {"acks": "all"}
    fleet.push(instance=1, settings=PUSHED)
    fleet.later(15 * SECOND)
    for _ in range(2):
        assert (fleet.state("AN405"), fleet.one("AN405").alert) == ("open", one.alert), "a start takes no contradiction away"
        fleet.restart(SECOND)  # nor does one of the job
    fleet.seen({"acks": "all", "request.timeout.ms": "30000"})
    fleet.later()
    fleet.later(SECOND)
    assert fleet.state("AN405") == "resolved"


@pytest.mark.parametrize(
    "seen",
    [
        {"acks": "all", "request.timeout.ms": "30000", "enable.idempotence": "true"},
        {"acks": "0 | all"},  # another instance has its name
        {"acks": "all", "transactional.id": "t"},
        {"acks": "all", "compression.type": "gzip"},  # which it doesn't say
    ],
)
def test_what_is_the_same_or_cannot_be_compared_is_none(seen: dict[str, str]) -> None:
    assert found(PUSHED, seen) == []


def test_values_are_compared_in_kafkas_spelling_and_as_the_library_uses_them() -> None:
    librdkafka = {"software_name": "librdkafka", "software_version": "2.6.0"}
    pushed = {"request.required.acks": "-1", "compression.codec": "lz4", "linger.ms": "5"}
    assert found(pushed, {"acks": "all", "compression.type": "lz4"}, **librdkafka) == []
    assert found(pushed, {"acks": "1", "compression.type": "lz4"}, **librdkafka) == ["acks: all by the client, 1 in its requests"]
    turned_off = {"acks": "1", "linger.ms": "5", "enable.idempotence": "true"}
    assert found(turned_off, {"acks": "1", "enable.idempotence": "false"}) == []
    assert found(PUSHED, {"acks": "all", "request.timeout.ms": "9"}) == ["request.timeout.ms: 30000 by the client, 9 in its requests"]


def test_a_client_that_only_shows_its_settings_contradicts_nothing(fleet: Fleet) -> None:
    fleet.connect()
    fleet.seen({"acks": "1"})
    fleet.later()
    assert not [each for each in fleet.findings() if each.code == "AN405"]


def test_what_one_of_several_clients_of_the_same_names_shows_contradicts_none(fleet: Fleet) -> None:
    for instance, acks in enumerate(("all", "1"), 1):
        fleet.client(instance, {**PUSHED, "acks": acks})
    fleet.seen({"acks": "0"})
    fleet.later()
    assert not fleet.findings("AN405")


def test_a_client_that_has_just_started_otherwise_contradicts_what_was_seen_before_only_after_a_while(fleet: Fleet) -> None:
    fleet.client(1, PUSHED)
    fleet.seen({"acks": "all"})
    fleet.later()
    fleet.push(instance=1, settings={**PUSHED, "acks": "1"})
    fleet.client(2, PUSHED, "web")
    fleet.now += SECOND
    fleet.seen({"acks": "0"}, client="web", instance=8)
    fleet.later(14 * SECOND)
    web, seen_ms = "acks: all by the client, 0 in its requests", fleet.now - 14 * SECOND
    said = [(each.evidence, each.last_seen_ms) for each in fleet.findings("AN405")]
    assert said == [((web,), seen_ms)], "its requests are recorded some seconds later, and of another client it says nothing"
    fleet.later()
    said = [(each.evidence, each.last_seen_ms) for each in fleet.findings("AN405")]
    orders = "acks: 1 by the client, all in its requests"
    assert sorted(said) == [((orders,), seen_ms - SECOND), ((web,), seen_ms)], "nothing else was seen since"
