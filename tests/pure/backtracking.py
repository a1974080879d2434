"""Steps of a regular expression, counted, since Python's own matcher shows only the time."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from re import _constants as code  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any


def steps(pattern: str, text: str) -> int:
    """How many comparisons a backtracking search for a pattern takes in a text in which it isn't found, or until it is."""
    parsed = parser.parse(pattern)
    counter = _Matcher(text)
    for start in range(len(text) + 1):
        if next(counter.sequence(list(parsed), 0, start), None) is not None:
            break
    return counter.steps


class _Matcher:
    def __init__(self, text: str) -> None:
        self.text = text
        self.steps = 0

    def sequence(self, items: list[Any], at: int, position: int) -> Iterator[int]:
        if at == len(items):
            yield position
            return
        for end in self.item(*items[at], position):
            yield from self.sequence(items, at + 1, end)

    def item(self, op: Any, argument: Any, position: int) -> Iterator[int]:
        self.steps += 1
        if op is code.MAX_REPEAT:
            yield from self.repeat(*argument, position)
        elif op is code.POSSESSIVE_REPEAT:
            yield from islice(self.repeat(*argument, position), 1)
        elif op in (code.ASSERT, code.ASSERT_NOT):
            direction, inner = argument
            begin = position if direction > 0 else position - 1  # behind, of one character
            holds = begin >= 0 and next(self.sequence(list(inner), 0, begin), None) is not None
            if holds == (op is code.ASSERT):
                yield position
        elif op is code.SUBPATTERN:
            yield from self.sequence(list(argument[3]), 0, position)
        elif op is code.BRANCH:
            for branch in argument[1]:
                if branch and branch[0][0] is code.LITERAL and not self.text.startswith(chr(branch[0][1]), position):
                    self.steps += 1
                    continue
                yield from self.sequence(list(branch), 0, position)
        elif op is code.AT:
            if self.is_at(argument, position):
                yield position
        elif position < len(self.text) and self.takes(op, argument, self.text[position]):
            yield position + 1

    def repeat(self, least: int, most: Any, inner: Any, position: int) -> Iterator[int]:
        (single,) = inner if len(inner) == 1 else (None,)
        if single is not None and single[0] in (code.LITERAL, code.NOT_LITERAL, code.IN, code.ANY):
            end = position
            while end < len(self.text) and end - position < int(most) and self.takes(*single, self.text[end]):
                self.steps += 1
                end += 1
            for stop in range(end, position + least - 1, -1):
                self.steps += 1
                yield stop
            return
        if int(most) > 0:
            for end in self.sequence(list(inner), 0, position):
                if end > position:
                    yield from self.repeat(max(least - 1, 0), most if most is code.MAXREPEAT else int(most) - 1, inner, end)
        if least == 0:
            yield position

    def is_at(self, where: Any, position: int) -> bool:
        if where is code.AT_BEGINNING:
            return position == 0
        if where is code.AT_END:
            return position == len(self.text)
        before, after = (
            0 <= index < len(self.text) and (self.text[index].isalnum() or self.text[index] == "_") for index in (position - 1, position)
        )
        return before != after

    def takes(self, op: Any, argument: Any, character: str) -> bool:
        if op is code.LITERAL:
            return ord(character) == argument
        if op is code.NOT_LITERAL:
            return ord(character) != argument
        if op is code.ANY:
            return character != "\n"
        negated = argument[0][0] is code.NEGATE
        return negated != any(self.contains(*member, character) for member in argument[negated:])

    @staticmethod
    def contains(op: Any, argument: Any, character: str) -> bool:
        if op is code.LITERAL:
            return ord(character) == argument
        if op is code.RANGE:
            return bool(argument[0] <= ord(character) <= argument[1])
        kinds = {
            code.CATEGORY_SPACE: character.isspace(),
            code.CATEGORY_NOT_SPACE: not character.isspace(),
            code.CATEGORY_DIGIT: character.isdigit(),
            code.CATEGORY_WORD: character.isalnum() or character == "_",
        }
        return bool(kinds[argument])
