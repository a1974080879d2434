"""The vectorised judgement of what is sensitive against the scalar one."""

from __future__ import annotations

from re import _parser  # type: ignore[attr-defined]  # only it knows how long a match is at least

import pyarrow as pa
from hypothesis import example, given
from hypothesis import strategies as st

from clientscope.catalog import sensitive as scalar
from udfs import sensitive

KEYS = ["acks", "sasl.jaas.config", "SSL_keystore", "a.security.b", "value.serializer.class", "x.classes", "my.apikey", "TOKEN"]
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
]
ODD_KEYS = ["credent\u0130al", "\u212aeytab", "pass\u017fword", "sasl\u3002x", "", "\n"]

keys = st.sampled_from(KEYS + ODD_KEYS) | st.text(max_size=8) | st.builds("{}{}".format, st.sampled_from(KEYS), st.text(max_size=2))
values = (
    st.none()
    | st.sampled_from(VALUES)
    | st.text(max_size=12)
    | st.builds("{}{}{}".format, st.text(max_size=2), st.sampled_from(VALUES), st.text(max_size=2))
)


@example([("acks", value, 1) for value in VALUES])
@example([(key, "x", 1) for key in KEYS + ODD_KEYS])
@example([("acks", "x", number) for number in range(9)])
@given(st.lists(st.tuples(keys, values, st.integers(0, 8)), max_size=8))
def test_agrees_with_the_scalar(settings: list[tuple[str, str | None, int]]) -> None:
    key, value, config_type = zip(*settings, strict=True) if settings else ((), (), ())
    got = sensitive.reasons(pa.array(key, pa.string()), pa.array(value, pa.string()), pa.array(config_type, pa.int8()))
    assert list(got) == [scalar.reason(key, value or "", config_type) for key, value, config_type in settings]


def test_nothing_shorter_has_a_shape() -> None:
    assert min(_parser.parse(shape).getwidth()[0] for shape in scalar.SHAPES.values()) == scalar.SHORTEST_SHAPE
