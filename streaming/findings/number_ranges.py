"""A set of numbers that nearly all follow one another."""

from __future__ import annotations

from bisect import bisect_right


class NumberRanges:
    """Numbers, kept as ranges: however many follow one another, they take the room of one.

    >>> numbers = NumberRanges()
    >>> for number in (1, 2, 4, 3):
    ...     numbers.add(number)
    >>> 3 in numbers, 5 in numbers, len(numbers)
    (True, False, 1)
    """

    __slots__ = ("_ends", "_firsts")

    def __init__(self) -> None:
        self._firsts: list[int] = []
        self._ends: list[int] = []  # each the number after its range's last

    def __len__(self) -> int:
        """How many ranges there are."""
        return len(self._firsts)

    def __contains__(self, number: int) -> bool:
        at = bisect_right(self._firsts, number)
        return at > 0 and number < self._ends[at - 1]

    def add(self, number: int) -> None:
        """Takes in one number."""
        at = bisect_right(self._firsts, number)
        if at and number < self._ends[at - 1]:
            return
        follows, leads = at > 0 and self._ends[at - 1] == number, at < len(self._firsts) and self._firsts[at] == number + 1
        if follows and leads:
            self._ends[at - 1] = self._ends[at]
            del self._firsts[at], self._ends[at]
        elif follows:
            self._ends[at - 1] = number + 1
        elif leads:
            self._firsts[at] = number
        else:
            self._firsts.insert(at, number)
            self._ends.insert(at, number + 1)

    def close_lowest_gap(self) -> None:
        """Takes in all numbers between the lowest two ranges, of which there are two at the least."""
        del self._firsts[1], self._ends[0]
