"""What tests wait and look with: it must not be true of nothing, and must say what it saw."""

from __future__ import annotations

import patience
import pytest
from every import every
from patience import eventually, until


def test_waits_until_it_is_so() -> None:
    counted = iter(range(100))
    assert until(lambda: next(counted), 3) == 3
    assert until(lambda: next(counted) > 5)
    assert eventually(lambda: next(counted) == 9)


@pytest.mark.parametrize(
    ("expected", "said"),
    [((), "it did not come: after 0 s there was []"), (([1],), "it did not come: after 0 s there was [], not [1]")],
    ids=["true", "a value"],
)
def test_says_what_was_seen_last(monkeypatch: pytest.MonkeyPatch, expected: tuple[list[int], ...], said: str) -> None:
    monkeypatch.setattr(patience, "LIMIT_S", 0.0)
    with pytest.raises(AssertionError) as caught:
        until(list, *expected)
    assert str(caught.value) == said
    with pytest.raises(AssertionError, match=r"^the page: after"):
        until(list, *expected, why="the page")
    assert not eventually(list)


def test_nothing_to_look_at_fails() -> None:
    assert every(iter("ab")) == ["a", "b"]
    with pytest.raises(AssertionError, match="nothing to look at"):
        every(())
