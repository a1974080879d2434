"""catalog/client_facts: each fact is one number of one meaning."""

from __future__ import annotations

import re

from clientscope.catalog.client_facts import BY_METRIC, FACTS, PREFIX
from clientscope.catalog.configs import TYPES


def test_each_fact_has_a_name_and_metrics_of_its_own() -> None:
    assert len({fact.name for fact in FACTS}) == len({fact.title for fact in FACTS}) == len(FACTS)
    assert len(BY_METRIC) == sum(bool(fact.producer) + bool(fact.consumer) for fact in FACTS)
    for name, (kind, fact) in BY_METRIC.items():
        assert name.startswith(f"{PREFIX}{kind}."), fact.name


def test_units_and_sums_fit_the_metrics_names() -> None:
    for name, (_, fact) in BY_METRIC.items():
        assert name.endswith(".total") == fact.is_counted, "only a counter is a rate, or is counted"
        said = re.search(r"\.(avg|max)$", name)
        if said is not None:
            assert fact.how == ("mean" if said[1] == "avg" else "greatest"), fact.name
        for unit, ending in (("ms", "_ms"), ("bytes", "_bytes"), ("ratio", "_ratio"), ("per second", "_rate")):
            assert fact.name.endswith(ending) == (fact.unit.endswith(unit) if unit == "per second" else fact.unit == unit), fact.name


def test_a_curve_has_one_unit_and_one_setting_that_kafka_has() -> None:
    for curve in {fact.curve for fact in FACTS}:
        first, *others = [fact for fact in FACTS if fact.curve == curve]
        assert {fact.unit for fact in others} <= {first.unit}, curve
        assert not first.setting or first.setting in TYPES
        assert not any(fact.setting for fact in others), curve
