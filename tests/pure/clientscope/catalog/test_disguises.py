"""Secrets in letters that look like others, between characters that can't be seen, and under one layer of an encoding."""

from __future__ import annotations

import base64
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientscope.catalog.disguises import folded, readings
from clientscope.catalog.sensitive import reason
from clientscope.catalog.sensitive_values import judge_value
from clientscope.records.layouts import ValueState

LEAK = "pass=harbor-91"


@pytest.mark.parametrize(
    "disguised",
    [
        "ｐａｓｓｗｏｒｄ", "ⓟⓐⓢⓢⓦⓞⓡⓓ", "раѕѕwоrd", "ραssword", "p\u200ba\u200bs\u200bs\u2060word", "pa\u00adssword", "pássẃord",
        "𝐩𝐚𝐬𝐬𝐰𝐨𝐫𝐝", "ᴘᴀssᴡᴏʀᴅ", "passw\ufe0ford", "\u202apassword\u202c",
    ],
)  # fmt: skip
def test_a_disguised_word_folds_into_what_it_looks_like(disguised: str) -> None:
    assert folded(disguised).lower() == "password"
    assert reason("client.id", f"{disguised}=harbor-91", 1) is ValueState.VALUE_SHAPE
    assert reason(disguised, "harbor-91", 1) is not ValueState.PRESENT


@pytest.mark.parametrize(
    "encoded",
    [
        LEAK.encode().hex(),
        LEAK.encode().hex().upper(),
        LEAK.encode().hex(":"),
        base64.b64encode(LEAK.encode()).decode(),
        base64.urlsafe_b64encode(LEAK.encode()).decode().rstrip("="),
        f"orders-{base64.urlsafe_b64encode(LEAK.encode()).decode()}",
        f"orders,{LEAK.encode().hex()},1",
        "".join(f"%{byte:02x}" for byte in LEAK.encode()),
        quote("alice:harbor-91@kafka", safe=""),
        "".join(f"&#{byte};" for byte in LEAK.encode()),
        "".join(f"\\u{byte:04x}" for byte in LEAK.encode()),
        "".join(f"\\x{byte:02x}" for byte in LEAK.encode()),
        f"\u202e{LEAK[::-1]}",
    ],
)
def test_one_layer_of_an_encoding_is_taken_away(encoded: str) -> None:
    assert judge_value(encoded) is ValueState.VALUE_SHAPE
    assert judge_value(encoded.replace("\u202e", "x")[: len(encoded) // 3]) is ValueState.PRESENT


@given(st.text(max_size=60))
def test_what_has_other_readings_never_fails(text: str) -> None:
    assert text not in set(readings(text)) or not text.isascii()


def test_a_leak_behind_any_number_of_encoded_parts_is_found() -> None:
    innocent = " ".join(base64.b64encode(f"orders {number}".encode()).decode() for number in range(300))
    assert judge_value(innocent) is ValueState.PRESENT
    assert judge_value(f"{innocent} {base64.b64encode(LEAK.encode()).decode()}") is ValueState.VALUE_SHAPE


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=60))
def test_plain_text_folds_into_itself(text: str) -> None:
    assert folded(text) == text


def test_ids_have_no_readings() -> None:
    for text in ("orders-7d9f8b6c5-x2x4z", "4f9c2b7e-1a63-4d0e-9b58-6c1f0a7d3e92", "kafka-0.example.com:9092", "read_uncommitted"):
        assert list(readings(text)) == []
