"""Values read from topics: bounded, cleaned, and never a secret."""

from __future__ import annotations

import pytest

from clientscope.model.fields import clean


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
