"""Settings of a batch, held against the catalogue, and what libraries refuse."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from record_bytes import config_record, setting
from rule_batches import batch_of

from clientscope.catalog.dialects import DIALECTS
from clientscope.catalog.setting_names import NameState
from clientscope.records.enums import Origin
from sinks.dashboard.state.configuration import configuration
from udfs.decode import decode_pushes
from udfs.kernels.results import results
from udfs.pushes import Pushes
from udfs.rules.engine.batch import judge
from udfs.rules.engine.refusals import REFUSALS, Refusal
from udfs.rules.engine.rule import FIRED, NOT_EVALUABLE, PASSED
from udfs.rules.engine.vocabulary import KEYS
from udfs.rules.keys import key_unknown


def push(software: str = "apache-kafka-java", version: str = "4.4.0", **settings: str) -> bytes:
    configs = [setting(key.replace("__", "."), value) for key, value in settings.items()]
    return config_record(*configs, client_software_name=software, client_software_version=version)


def test_positions_are_those_of_the_batch() -> None:
    batch = batch_of(
        push(acks="all"),
        push(linger__msec="5", acks="2"),
        push("librdkafka", "2.8.0", linger__ms="1000000", acks="2"),
        push("in-house", "1", acks="9"),
    )
    checked = batch.checked
    keys = batch.pushes.settings["config_key"]
    assert keys.take(pa.array(checked.named(NameState.UNKNOWN))).to_pylist() == ["linger.msec"]
    assert batch.pushes.parents[checked.refused_by("words")].tolist() == [1]
    assert batch.pushes.parents[checked.refused_by("range")].tolist() == [2]


def test_a_value_is_judged_by_each_library_for_itself() -> None:
    batch = batch_of(*[push(version=version, auto__offset__reset="by_duration:P1D", group__id="a") for version in ("3.9.2", "4.0.0")])
    assert batch.pushes.parents[batch.checked.refused].tolist() == [0]


def test_an_empty_batch_is_checked() -> None:
    batch = batch_of(config_record())
    assert batch.checked.refused.size == batch.checked.twice.size == batch.checked.named(NameState.UNKNOWN).size == 0


def test_a_name_twice_is_no_setting_under_two_names() -> None:
    batch = batch_of(config_record(setting("acks", "1"), setting("acks", "all"), client_software_name="apache-kafka-java"))
    assert not batch.checked.twice.size


def test_names_are_searched_for_up_to_a_bound() -> None:
    """A push full of unknown names takes a bounded time, and isn't called clean."""
    many = [push(**{f"linger.msx{number:05}": "1" for number in range(at, at + 300)}) for at in range(0, 1_500, 300)]
    batch = batch_of(*many, push(acks="all"))
    assert batch.checked.searched.tolist() == [True, True, True, False, False, True]
    outcomes = judge(batch, [key_unknown])[0].outcomes.tolist()
    assert outcomes[3:] == [NOT_EVALUABLE, NOT_EVALUABLE, PASSED]


def test_who_has_many_unknown_names_takes_nothing_from_the_others() -> None:
    many = [push(**{f"linger.msx{number:05}": "1" for number in range(at, at + 500)}) for at in range(0, 1_500, 500)]
    batch = batch_of(*many, push(**{"linger.msec": "5"}), push(acks="all"))
    assert batch.checked.searched.tolist() == [True, True, False, True, True]
    assert judge(batch, [key_unknown])[0].outcomes.tolist()[2:] == [NOT_EVALUABLE, FIRED, PASSED]


JAVA = {"client_software_name": "apache-kafka-java", "client_software_version": "4.4.0"}


def verdicts(values: dict[str, str], origin: Origin, *more: Any) -> dict[str, Any]:
    record = config_record(*(setting(key, value, type=1) for key, value in values.items()), *more, origin=origin, **JAVA)
    pushes = Pushes(decode_pushes(pa.array([record], pa.large_binary())))
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


def test_a_consumer_without_a_rack_is_known_of_observed_clients_alone() -> None:
    def codes(origin: Origin, is_default: bool) -> set[str]:
        rack = setting("client.rack", "", default=is_default)
        return {each["code"] for each in verdicts({"group.id": "g"}, origin, rack)["rules"]}

    assert "AN215" in codes(Origin.OBSERVED, True)
    assert "AN215" not in codes(Origin.OBSERVED, False) | codes(Origin.PUSHED, True)


def test_the_page_shows_all_of_them() -> None:
    record = config_record(setting("acks", "0 | all"), setting("request.timeout.ms", "1 | 2"), origin=Origin.OBSERVED, **JAVA)
    shown = configuration(record, 1)
    assert shown.origin == "observed"
    assert {each.key: (each.value, each.pushed) for each in shown.settings} == {
        "acks": ("0 | all", None), "request.timeout.ms": ("1 | 2", None),
    }  # fmt: skip


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda refusal: refusal.because)
def test_a_refusals_data_are_sound(refusal: Refusal) -> None:
    assert refusal.dialects.keys() <= {each.name for each in DIALECTS}
    assert set(refusal.keys) <= set(KEYS)
