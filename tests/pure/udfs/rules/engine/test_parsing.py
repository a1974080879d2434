"""udfs/rules/engine/parsing: of several values that a client's requests have shown, only that of acks that loses most is judged."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from record_bytes import config_record, setting

from clientscope.records.layouts import Origin
from sinks.dashboard.state.configuration import configuration
from udfs.decoding.decode import decoder
from udfs.kernels.finding_inputs import pushed
from udfs.kernels.results import results
from udfs.redaction.pushes import Pushes, redact

JAVA = {"client_software_name": "apache-kafka-java", "client_software_version": "4.4.0"}


def severities(values: dict[str, str]) -> dict[str, str]:
    return {each["code"]: each["severity"] for each in verdicts(values, Origin.OBSERVED)["rules"]}


def verdicts(values: dict[str, str], origin: Origin, *more: Any) -> dict[str, Any]:
    record = config_record(*(setting(key, value, config_type=1) for key, value in values.items()), *more, origin=int(origin), **JAVA)
    pushes = Pushes(redact(decoder("ClientConfigRecord")(pa.array([record], pa.large_binary())), None))
    found: dict[str, Any] = json.loads('{"key":0' + results(pushes).field("rest")[0].as_py())
    return found


def judged(values: dict[str, str], origin: Origin = Origin.OBSERVED) -> dict[str, Any]:
    found = verdicts(values, origin)
    return {**{each["code"]: "fired" for each in found["rules"]}, **dict.fromkeys(found["passed"], "passed")}


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


def test_what_was_inferred_is_judged_by_its_number_and_is_no_more_than_information() -> None:
    values = {"group.id": "g", "session.timeout.ms": "6000"}
    exact = severities(values | {"heartbeat.interval.ms": "7000"})
    inferred = severities(values | {"heartbeat.interval.ms": "~7000 (6990 to 7011, 8 of 8 within 5 %)"})
    assert (exact["AN201"], inferred["AN201"]) == ("high", "info")
    assert exact["AN202"] == inferred["AN202"] != "info", "what doesn't rest on it stays"
    assert "AN311" not in inferred


@pytest.mark.parametrize(
    ("rule", "key", "number", "beside"),
    [
        ("AN302", "connections.max.idle.ms", "700000", {}),
        ("AN303", "reconnect.backoff.ms", "50", {"reconnect.backoff.max.ms": "50"}),
        ("AN303", "reconnect.backoff.max.ms", "50", {"reconnect.backoff.ms": "50"}),
    ],
)
def test_how_long_connections_are_kept_and_awaited_is_information_if_it_was_inferred(
    rule: str, key: str, number: str, beside: dict[str, str]
) -> None:
    exact = severities(beside | {key: number})
    inferred = severities(beside | {key: f"~{number} ({number}, of 1 connection)"})
    assert (exact[rule], inferred[rule]) == ("medium", "info")
    assert "AN311" not in inferred


def test_a_client_is_not_refused_for_an_inferred_idle_time() -> None:
    found = judged({"request.timeout.ms": "305000", "connections.max.idle.ms": "~11000 (11008, of 1 connection)"})
    assert "fired" not in {found.get("CF102"), found.get("CF104"), found.get("AN302")}


BOUND = {
    "max.in.flight.requests.per.connection": "~at least 6 (at once, of 40 requests)",
    "batch.size": "~at least 16384 (the largest, of 40 requests)",
}


@pytest.mark.parametrize(
    ("more", "in_flight", "reordering"),
    [
        ({"enable.idempotence": "false", "acks": "all"}, "fired", "fired"),  # as Java turns it off
        ({"enable.idempotence": "false", "acks": "1"}, None, "fired"),
        ({"enable.idempotence": "true", "acks": "all"}, "fired", "passed"),
        ({"acks": "all"}, "fired", None),
    ],
)
def test_many_requests_in_flight_are_found_for_information(more: dict[str, str], in_flight: str | None, reordering: str | None) -> None:
    found, levels = judged(BOUND | more), severities(BOUND | more)
    assert (found.get("AN104"), found.get("AN105")) == (in_flight, reordering)
    assert {levels.get("AN104", "info"), levels.get("AN105", "info")} == {"info"}
    assert "AN311" not in levels


def test_the_least_that_a_setting_can_be_is_no_value_of_it() -> None:
    few = BOUND | {"max.in.flight.requests.per.connection": "~at least 5 (at once, of 40 requests)", "enable.idempotence": "false"}
    assert not {"AN104", "AN105"} & judged(few).keys(), "the next may be one more"
    assert judged(BOUND)["AN110"] == "passed"
    small = judged(BOUND | {"batch.size": "~at least 900 (the largest, of 40 requests)", "buffer.memory": "800"})
    assert not {"AN110", "AN113"} & small.keys()
    assert {key for key, value in judged(BOUND, Origin.PUSHED).items() if value == "fired"} >= {"AN311"}, "nobody pushes such a value"


LINGERS = {"linger.ms": "~between 37 and 44 (of 40 requests)"}


def test_a_client_whose_batches_wait_passes_and_how_long_is_no_value() -> None:
    assert judged(LINGERS)["AN109"] == "passed"
    assert "AN109" not in judged({"linger.ms": "~between 0 and 44 (of 40 requests)"})
    assert judged(LINGERS | {"batch.size": "131072"})["AN111"] == "passed"
    exact = LINGERS | {"delivery.timeout.ms": "1000", "request.timeout.ms": "990"}
    assert (judged(exact).get("AN106"), judged(exact)["AN311"]) == (None, "passed")
    assert judged(exact | {"linger.ms": "37"})["AN106"] == "fired"
    record = config_record(setting("linger.ms", LINGERS["linger.ms"]), origin=int(Origin.OBSERVED), **JAVA)
    assert json.loads(pushed(pa.array([record], pa.large_binary()), None).field("settings")[0].as_py()) == {}, "it is not compared"


def test_a_finding_shows_the_least_as_it_was_seen() -> None:
    (rule,) = (each for each in verdicts(BOUND | {"acks": "all"}, Origin.OBSERVED)["rules"] if each["code"] == "AN104")
    assert BOUND["max.in.flight.requests.per.connection"] in json.dumps(rule)


def test_a_reset_policy_that_was_inferred_is_one() -> None:
    found = judged({"group.id": "g", "auto.offset.reset": "~earliest (asked for before the first fetch)"})
    assert (found["AN209"], found.get("AN311")) == ("passed", None)


def test_a_consumer_without_a_rack_is_known_of_observed_clients_alone() -> None:
    def codes(origin: Origin, is_default: bool) -> set[str]:
        rack = setting("client.rack", "", is_default=is_default)
        return {each["code"] for each in verdicts({"group.id": "g"}, origin, rack)["rules"]}

    assert "AN215" in codes(Origin.OBSERVED, True)
    assert "AN215" not in codes(Origin.OBSERVED, False) | codes(Origin.PUSHED, True)


def test_two_measurements_are_not_compared() -> None:
    record = config_record(setting("heartbeat.interval.ms", "~3000 (1 to 2, 8 of 8 within 5 %)"), origin=int(Origin.OBSERVED), **JAVA)
    assert json.loads(pushed(pa.array([record], pa.large_binary()), None).field("settings")[0].as_py()) == {}


def test_the_page_shows_all_of_them() -> None:
    record = config_record(setting("acks", "0 | all"), setting("request.timeout.ms", "1 | 2"), origin=int(Origin.OBSERVED), **JAVA)
    shown = configuration(record, 1)
    assert shown.origin == "observed"
    assert {each.key: (each.value, each.pushed) for each in shown.settings} == {
        "acks": ("0 | all", None), "request.timeout.ms": ("1 | 2", None),
    }  # fmt: skip


def test_the_page_shows_the_least_as_it_was_seen_and_fleets_are_not_compared_by_it() -> None:
    record = config_record(*(setting(key, value) for key, value in BOUND.items()), origin=int(Origin.OBSERVED), **JAVA)
    assert {each.key: (each.value, each.pushed) for each in configuration(record, 1).settings} == {
        key: (value, None) for key, value in BOUND.items()
    }
    assert json.loads(pushed(pa.array([record], pa.large_binary()), None).field("settings")[0].as_py()) == {}
