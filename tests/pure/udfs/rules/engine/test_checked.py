"""Settings of a batch, held against the catalogue, and what libraries refuse."""

from __future__ import annotations

import pyarrow as pa
from record_bytes import config_record, setting
from rule_batches import batch_of

from clientscope.catalog.setting_names import NameState
from udfs.rules.engine.batch import judge
from udfs.rules.engine.rule import FIRED, NOT_EVALUABLE, PASSED
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
