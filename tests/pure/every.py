"""Quantifiers that fail on nothing: `all(… for …)` is true where there is nothing to look at."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")


def every(items: Iterable[T]) -> list[T]:
    """The items, of which there must be one: ``assert all(… for … in every(items))``."""
    found = list(items)
    assert found, "there is nothing to look at"
    return found
