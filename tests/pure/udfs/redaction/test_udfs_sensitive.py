"""Settings of a batch are judged as the one judge does each of them, wherever they stand and whatever stands beside them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from clientscope.catalog import sensitive as judge
from clientscope.catalog.sensitive_names import judge_key_text
from clientscope.records.enums import ValueState
from udfs.redaction import sensitive

SECRET_KEY = "AKIAIOSFODNN7EXAMPLE"
KEYS = (
    "acks",
    "sasl.jaas.config",
    "saslPassword",
    "cluster.id",
    "my.own",
    "ssl.truststore.certificates",
    "interceptor.classes",
    SECRET_KEY,
)
VALUES = ("", "0", SECRET_KEY, "${env:PASSWORD}", "orders-q7Rk2ZpX9vLm4TnB8sWc6YdH", "org.x.Own", "-----BEGIN CERTIFICATE-----")
SETTINGS = st.tuples(
    st.sampled_from(KEYS) | st.text(max_size=6), st.none() | st.sampled_from(VALUES) | st.text(max_size=6), st.integers(0, 8)
)


@given(st.lists(SETTINGS, max_size=12))
@settings(deadline=None)
def test_each_setting_is_judged_by_itself(pushed: list[tuple[str, str | None, int]]) -> None:
    keys, values, types = (pa.array([each[place] for each in pushed], of) for place, of in enumerate((pa.string(), pa.string(), pa.int8())))
    states = sensitive.judged(keys, values, types)
    assert states.tolist() == [judge.reason(key, value or "", of) for key, value, of in pushed]
    hidden = [place for place, (key, _, _) in enumerate(pushed) if judge_key_text(key) is not ValueState.PRESENT]
    assert sensitive.hidden_keys(keys).tolist() == hidden
    lengths = pa.array([None if value is None else len(value.encode()) for _, value, _ in pushed], pa.int32())
    expected = [judge.tier(state, key, of, length) for state, (key, _, of), length in zip(states, pushed, lengths.to_pylist(), strict=True)]
    assert sensitive.tiers(states, keys, types, lengths).tolist() == expected


def test_states_that_no_gateway_writes_are_credentials() -> None:
    states = np.array([-1, 99], np.int8)
    rows = pa.array(["acks", "acks"]), pa.array([1, 1], pa.int8()), pa.array([None, 3], pa.int32())
    assert sensitive.tiers(states, *rows).tolist() == [judge.Tier.CREDENTIAL] * 2
