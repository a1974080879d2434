"""Of several values that a client's requests have shown, only that of acks that loses most is judged."""

from __future__ import annotations

from typing import Any

import pytest
from fleets import NOW, pushed
from record_bytes import config_record, setting

from clientscope.model.enums import Origin
from clientscope.model.result import PushResult
from sinks.dashboard.state.one_client import configuration

JAVA = {"software_name": "apache-kafka-java", "software_version": "4.4.0"}


def verdicts(values: dict[str, str], origin: Origin, *more: Any) -> PushResult:
    record = config_record(*(setting(key, value, type=1) for key, value in values.items()), *more, origin=origin, **JAVA)
    (result,) = pushed([(NOW, record)])
    return result


def judged(values: dict[str, str], origin: Origin = Origin.OBSERVED) -> dict[str, Any]:
    found = verdicts(values, origin)
    return {**{each.code: "fired" for each in found.rules}, **dict.fromkeys(found.passed, "passed")}


@pytest.mark.parametrize(
    ("acks", "zero", "one"),
    [("0 | 1 | all", "fired", "passed"), ("1 | all", "passed", "fired"), ("all", "passed", "passed"), ("0", "fired", "passed")],
)
def test_the_weakest_acks_count(acks: str, zero: str, one: str) -> None:
    found = judged({"acks": acks})
    assert (found["AN101"], found["AN116"]) == (zero, one)
    assert found.get("AN311") != "fired"


def test_of_other_settings_nothing_is_judged_by_several_values() -> None:
    of_one = judged({"group.id": "g", "session.timeout.ms": "5000"})
    of_several = judged({"group.id": "g", "session.timeout.ms": "5000 | 60000"})
    assert (of_one["AN202"], "AN202" in of_several, of_several.get("AN311")) == ("fired", False, None)


def test_no_setting_that_was_seen_is_a_mistake_that_somebody_wrote() -> None:
    wrong = {"acks": "0 | 1", "enable.idempotence": "true", "compression.type": "zst", "linger.msec": "5", "batch.size": "-1"}
    assert {code for code in judged(wrong, Origin.PUSHED) if code.startswith("CF")} >= {"CF101", "CF103"}
    for origin in (Origin.OBSERVED, Origin.REQUEST_LOG):
        assert not [code for code, outcome in judged(wrong, origin).items() if code.startswith("CF") and outcome == "fired"]


def test_what_a_client_pushes_is_one_value_whatever_it_contains() -> None:
    found = judged({"acks": "0 | 1", "linger.ms": "1 | 2"}, Origin.PUSHED)
    assert found["AN311"] == "fired"
    assert "AN101" not in found


def test_a_consumer_without_a_rack_is_known_of_observed_clients_alone() -> None:
    def codes(origin: Origin, is_default: bool) -> set[str]:
        rack = setting("client.rack", "", default=is_default)
        return {each.code for each in verdicts({"group.id": "g"}, origin, rack).rules}

    assert "AN215" in codes(Origin.OBSERVED, True)
    assert "AN215" not in codes(Origin.OBSERVED, False) | codes(Origin.PUSHED, True)


def test_the_page_shows_all_of_them() -> None:
    record = config_record(setting("acks", "0 | all"), setting("request.timeout.ms", "1 | 2"), origin=Origin.OBSERVED, **JAVA)
    shown = configuration(record, 1)
    assert shown.origin == "observed"
    assert {each.key: (each.value, each.pushed, each.origin) for each in shown.settings} == {
        "acks": ("0 | all", None, "observed"), "request.timeout.ms": ("1 | 2", None, "observed"),
    }  # fmt: skip
