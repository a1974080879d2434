"""The vectorised judgement of what is sensitive against the scalar one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from corpora import corpus
from hypothesis import example, given, settings
from hypothesis import strategies as st

from clientscope.catalog import sensitive as scalar
from udfs.redaction import sensitive

ARROW = (pa.string(), pa.string(), pa.int8())
KEYS = [
    "acks",
    "sasl.jaas.config",
    "SSL_keystore",
    "a.security.b",
    "value.serializer.class",
    "x.classes",
    "my.apikey",
    "TOKEN",
    "saslPassword",
    "APIKey",
    "sasl-password",
]
KEYS += ["cluster.id", "token.endpoint.url", "ssl.truststore.certificates"]
VALUES = [
    "0",
    "plain",
    'org.x.PlainLoginModule required username="a"',
    "password = 'x'",
    "-----BEGIN RSA PRIVATE KEY-----",
    "eyJhbGciOiJI.eyJzdWIiOiIx.c2ln",
    "AKIAIOSFODNN7EXAMPLE",
    "http://user:word@host",
    # Where RE2 and Python part: white space, letters, word boundaries and lower case beyond ASCII.
    "password\x0b=\x0bx",
    "pa\u017fsword=x",
    "secret\u00a0=\u2003x",
    "\u00e9AKIAIOSFODNN7EXAMPLE",
    "http://us\u00e9r:word@host",
    # As short as a credential's shape can be, in characters and in bytes.
    "secret=x",
    "a://b:c@",
    "\u017fecret=x",
    # Long enough to look random; ids and digests that don't.
    "orders-q7Rk2ZpX9vLm4TnB8sWc6YdH",
    "q7Rk2ZpX9vLm4TnB8sWc6YdHq7Rk2ZpX9vLm4TnB8sW",
    "sha384-q7Rk2ZpX9vLm4TnB8sWc6YdHq7Rk2ZpX9vLm",
    "d41d8cd98f00b204e9800998ecf8427e",
    # Without a secret, whole or in part.
    "${env:PASSWORD}",
    "password=${env:PASSWORD}",
    "http://${USER}:${PASS}@host",
    "software.amazon.msk.auth.iam.IAMLoginModule required;",
    "-----BEGIN CERTIFICATE-----",
    "true",
]
ODD_KEYS = [
    "credent\u0130al",
    "\u212aeytab",
    "pass\u017fword",
    "sasl\u3002x",
    "",
    "\n",
    "value.serializer.class\n",
    "x.token\n",
    "ssl.truststore.certificates\n",
]

keys = st.sampled_from(KEYS + ODD_KEYS) | st.text(max_size=8) | st.builds("{}{}".format, st.sampled_from(KEYS), st.text(max_size=2))
values = (
    st.none()
    | st.sampled_from(VALUES)
    | st.text(max_size=12)
    | st.builds("{}{}{}".format, st.text(max_size=2), st.sampled_from(VALUES), st.text(max_size=2))
)


def column(values: Iterable[Any], arrow_type: pa.DataType) -> pa.Array:
    return pa.array(list(values), arrow_type)


def judged(settings: list[tuple[str, str | None, int]]) -> tuple[list[int], list[int]]:
    """Reasons and tiers."""
    keys, values, types = (column(items, of) for items, of in zip(zip(*settings, strict=True), ARROW, strict=True))
    states = sensitive.reasons(keys, values, types)
    return list(states), list(sensitive.tiers(states, keys, types, column(map(length, values.to_pylist()), pa.int32())))


def expected(settings: list[tuple[str, str | None, int]]) -> tuple[list[int], list[int]]:
    states = [scalar.reason(key, value or "", config_type) for key, value, config_type in settings]
    return states, [
        scalar.tier(state, key, config_type, length(value)) for state, (key, value, config_type) in zip(states, settings, strict=True)
    ]


def length(value: str | None) -> int | None:
    return None if value is None else len(value.encode())


@example([("acks", value, 1) for value in VALUES])
@example([("sasl.password", value, 1) for value in VALUES])
@example([("ssl.cipher.suites", value, 1) for value in VALUES])
@example([("cluster.id", value, 8) for value in VALUES])
@example([(key, "x", 1) for key in KEYS + ODD_KEYS])
@example([(key, "x", 8) for key in KEYS + ODD_KEYS])
@example([("acks", "x", number) for number in range(9)])
@given(st.lists(st.tuples(keys, values, st.integers(0, 8)), min_size=1, max_size=8))
@settings(deadline=None)
def test_agrees_with_the_scalar(settings: list[tuple[str, str | None, int]]) -> None:
    assert judged(settings) == expected(settings)
    with many():
        assert judged(settings) == expected(settings)


@contextmanager
def many() -> Iterator[None]:
    """Within it no batch has few keys or names: all are judged by Arrow."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sensitive, "FEW", 0)
        yield


@pytest.mark.parametrize("name", ["leaks", "innocent", "kept_back", "known"])
def test_agrees_with_the_scalar_on_a_corpus(name: str) -> None:
    settings: list[tuple[str, str | None, int]] = [
        (line["key"], line["value"], config_type) for line in corpus(name) for config_type in (1, 7, 8)
    ]
    with many():
        assert judged(settings) == expected(settings)


def test_a_state_of_a_newer_gateway_is_a_credential_as_in_the_scalar() -> None:
    states = [-1, 5, 99, *scalar.TIERS]
    got = sensitive.tiers(
        np.array(states, np.int8),
        column(["acks"] * len(states), pa.string()),
        column([1] * len(states), pa.int8()),
        column([None] * len(states), pa.int32()),
    )
    assert list(got) == [scalar.tier(state, "acks", 1, None) for state in states]
    assert got[0] == got[2] == scalar.Tier.CREDENTIAL


def test_nothing_at_all() -> None:
    assert not len(sensitive.reasons(*(column([], of) for of in ARROW)))
