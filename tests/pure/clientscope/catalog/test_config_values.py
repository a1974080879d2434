"""catalog/config_values, and ClientConfig.typed: what Kafka's ConfigDef.parseType makes of a text, and what it refuses."""

from __future__ import annotations

import math
from typing import Any

import pytest

from clientscope.catalog.config_values import parse
from clientscope.catalog.configs import Type
from clientscope.policy.interface import ClientConfig

PARSED: dict[Type, dict[str, Any]] = {
    Type.BOOLEAN: {" TRUE\n": True, "false": False},
    Type.STRING: {" all ": "all", "": ""},
    Type.INT: {"-2147483648": -(2**31), "+7": 7, "٣": 3, "007": 7},
    Type.SHORT: {"32767": 32767},
    Type.LONG: {"9223372036854775807": 2**63 - 1},
    Type.DOUBLE: {"1e3": 1000.0, ".5d": 0.5, "0x1.8p1": 3.0, "-Infinity": -math.inf, "1e999": math.inf, "0x1p99999": math.inf},
    Type.LIST: {"": (), " a , b,c ": ("a", "b", "c"), "a,": ("a", "")},
    Type.CLASS: {" org.example.A ": "org.example.A"},
    Type.PASSWORD: {" x ": "x"},
}
REFUSED = {
    Type.BOOLEAN: ("1", "yes", "", "ﬁlse"),
    Type.INT: ("2147483648", "hi!", "", "1_000", "1.0", "9" * 5_000),
    Type.SHORT: ("-32769",),
    Type.LONG: ("9223372036854775808", "5ms"),
    Type.DOUBLE: ("nan", "inf", "1_0.0", "0x1", "", "."),
}


@pytest.mark.parametrize(("config_type", "text"), [(of, text) for of, texts in PARSED.items() for text in texts])
def test_a_value_has_its_type(config_type: Type, text: str) -> None:
    pushed, value = ClientConfig("k", text, int(config_type), False), PARSED[config_type][text]
    assert (parse(text, config_type), pushed.typed, pushed.parses) == (value, value, True)
    assert type(pushed.typed) is type(value)


def test_not_a_number_is_one() -> None:
    assert math.isnan(ClientConfig("k", "NaN", Type.DOUBLE, False).typed)  # type: ignore[arg-type]


@pytest.mark.parametrize(("config_type", "text"), [(of, text) for of, texts in REFUSED.items() for text in texts])
def test_a_value_that_does_not_parse_is_there_as_text_and_says_so(config_type: Type, text: str) -> None:
    pushed = ClientConfig("k", text, int(config_type), False)
    assert (pushed.typed, pushed.parses) == (text, False)
    with pytest.raises(ValueError, match=f"not of type {config_type.name}$"):
        parse(text, config_type)


@pytest.mark.parametrize("config_type", Type)
def test_no_text_takes_long(config_type: Type) -> None:
    """Ten times the text, some ten times the steps: a push may hold 10 KB in one value."""
    for text in ("1" * 10_000 + "x", " " * 10_000 + "x", "a" + " " * 10_000 + "b", "," * 10_000, "0x" + "f" * 10_000):
        ClientConfig("k", text, int(config_type), False).typed  # noqa: B018 - it returns at all
