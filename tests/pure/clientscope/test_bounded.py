"""Tables that can't grow without end."""

from __future__ import annotations

from clientscope.bounded import Present, Recent, Shared


def test_forgets_what_was_not_written_for_longest() -> None:
    recent = Recent[str, int](2)
    for key in ("a", "b", "a", "c"):
        recent[key] = 1
    assert list(recent) == ["a", "c"]


def test_holds_equal_values_once_and_no_more_than_may_be() -> None:
    shared = Shared[bytes](3)
    kept = [shared.same(bytes([number, number])) for number in range(3)]
    assert shared.same(bytes([2, 2])) is not kept[2], "there was no room, so all were forgotten"
    assert shared.same(bytes([2, 2])) is shared.same(bytes([2, 2]))


def test_keeps_nothing_of_what_is_gone() -> None:
    present = Present("aab")
    for key in "ab":
        present.leave(key)
    assert dict(present) == {"a": 1}
