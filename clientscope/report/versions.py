"""Comparison of software versions as clients report them: numbers first, any suffix last."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from fnmatch import fnmatchcase

from clientscope.errors import SettingsError

_COMPARED: dict[str, Callable[[tuple[int, ...], tuple[int, ...]], bool]] = {
    "<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt, "!=": operator.ne, "==": operator.eq,
}  # fmt: skip
_PART = re.compile(r"(<=|>=|==|!=|<|>)\s*v?(\d+(?:\.\d+)*)")


def matcher(wanted: str) -> Callable[[str], bool]:
    """Whether a version is one of those wanted.

    Args:
        wanted: comparisons that must all hold, by commas (``>=2.8,<3.9``), or a version or pattern (``3.9.*``); empty is any.

    ``3.9.0-ccs`` compares as 3.9.0, and 3 as 3.0.0. A version that begins with no number, ``unknown`` among them, holds in no comparison.

    Raises:
        SettingsError: a comparison with something that is no version.
    """
    if not wanted:
        return lambda version: True
    if wanted[0] not in "<>=!":
        return lambda version: fnmatchcase(version, wanted)
    compared = []
    for part in wanted.split(","):
        match = _PART.fullmatch(part.strip())
        if match is None:
            raise SettingsError(f"--version: {part.strip()!r} is not a comparison", "as in --version '<3.0' or --version '>=2.8,<3.9'")
        compared.append((_COMPARED[match[1]], _numbers(match[2])))

    def holds(version: str) -> bool:
        numbers = re.match(r"v?(\d+(?:\.\d+)*)", version)
        return numbers is not None and all(compare(*_alike(_numbers(numbers[1]), other)) for compare, other in compared)

    return holds


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number[:9]) for number in text.split("."))


def _alike(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    length = max(len(one), len(other))
    return one + (0,) * (length - len(one)), other + (0,) * (length - len(other))
