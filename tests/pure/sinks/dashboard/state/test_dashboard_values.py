"""Values read from topics: bounded, cleaned, and never a secret."""

from __future__ import annotations

import pytest

from clientscope.topic_values import Setting, clean

JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required password="hunter2";'


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("orders-api", "orders-api"),
        ("<img src=x onerror=alert(1)>", "<img src=x onerror=alert(1)>"),
        ("a\nb\x00c\x1b[31m", "a�b�c�[31m"),
        ("user\u202egnp.exe", "user�gnp.exe"),
        ("\ud800", "?"),
        ("ø日本", "ø日本"),
        ("x" * 256, "x" * 256),
        ("x" * 257, "x" * 255 + "…"),
    ],
)
def test_clean(text: str, shown: str) -> None:
    assert clean(text) == shown


@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        ({"key": "sasl.jaas.config", "value": JAAS}, "key_prefix"),
        ({"key": "my.password", "value": "hunter2"}, "key_word"),
        ({"key": "client.rack", "value": JAAS}, "value_shape"),
        ({"key": "acks", "value": "hunter2", "reason": "type"}, "type"),
    ],
)
def test_a_secret_that_someone_wrote_into_a_result_is_dropped(setting: dict[str, str], reason: str) -> None:
    shown = Setting.model_validate(setting)
    assert shown.value is None
    assert shown.reason == reason
    assert shown.length == len(setting["value"])
    assert "hunter2" not in shown.model_dump_json()
    harmless = Setting.model_validate({"key": "acks", "value": "0"})
    assert (harmless.value, harmless.reason) == ("0", None)
