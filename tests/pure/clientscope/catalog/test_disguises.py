"""Secrets in compatible letters, between characters of no width, and under one layer of an encoding."""

from __future__ import annotations

import base64
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientscope.catalog.disguises import readings
from clientscope.catalog.sensitive import reason
from clientscope.catalog.sensitive_values import judge_value
from clientscope.records.enums import ValueState

LEAK = "pass=harbor-91"
JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="alice" password="harbor-91";'


@pytest.mark.parametrize(
    "word", ["ｐａｓｓｗｏｒｄ", "ⓟⓐⓢⓢⓦⓞⓡⓓ", "p\u200ba\u200bs\u200bs\u2060word", "pa\u00adssword", "𝐩𝐚𝐬𝐬𝐰𝐨𝐫𝐝", "\u202apassword\u202c"]
)
def test_finds_a_password_in_compatible_or_split_letters(word: str) -> None:
    assert reason("client.id", f"{word}=harbor-91", 1) is ValueState.VALUE_SHAPE
    assert reason(word, "harbor-91", 1) is not ValueState.PRESENT


@pytest.mark.parametrize(
    "encoded",
    [
        LEAK.encode().hex(),
        LEAK.encode().hex().upper(),
        f"orders,{LEAK.encode().hex()},1",
        base64.b64encode(LEAK.encode()).decode(),
        base64.b64encode(JAAS.encode()).decode(),
        base64.urlsafe_b64encode(LEAK.encode()).decode().rstrip("="),
        f"orders-{base64.urlsafe_b64encode(LEAK.encode()).decode()}",
        "".join(f"%{byte:02x}" for byte in LEAK.encode()),
        quote("alice:harbor-91@kafka", safe=""),
    ],
)
@pytest.mark.parametrize("key", ["client.id", "group.id"])
def test_removes_one_layer_of_an_encoding(key: str, encoded: str) -> None:
    assert reason(key, encoded, 1) is ValueState.VALUE_SHAPE
    assert judge_value(encoded[: min(12, len(encoded) // 3)]) is ValueState.PRESENT


@given(st.text(max_size=60))
def test_any_text_can_be_read(text: str) -> None:
    assert all(isinstance(each, str) for each in readings(text))


def test_finds_a_leak_behind_any_number_of_encoded_parts() -> None:
    innocent = " ".join(base64.b64encode(f"orders {number}".encode()).decode() for number in range(300))
    assert judge_value(innocent) is ValueState.PRESENT
    assert judge_value(f"{innocent} {base64.b64encode(LEAK.encode()).decode()}") is ValueState.VALUE_SHAPE


def test_ids_have_no_readings() -> None:
    for text in ("orders-7d9f8b6c5-x2x4z", "4f9c2b7e-1a63-4d0e-9b58-6c1f0a7d3e92", "kafka-0.example.com:9092", "read_uncommitted"):
        assert list(readings(text)) == []
