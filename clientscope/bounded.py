"""Tables that can't grow without end, and counts that keep nothing of what is gone. Each is for one thread."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value")


class Recent(OrderedDict[_Key, _Value]):
    """So many entries at most: one more takes the place of the one that wasn't written, or moved to the end, for longest."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def __setitem__(self, key: _Key, value: _Value) -> None:
        super().__setitem__(key, value)
        self.move_to_end(key)
        if len(self) > self._most:
            self.popitem(last=False)


class Shared(Generic[_Key]):
    """Equal values, each held once: thousands of connections and clients say the same.

    Beyond the bound all are forgotten: whoever has one keeps it, and what comes is shared anew.
    """

    def __init__(self, most: int) -> None:
        self._known: dict[_Key, _Key] = {}
        self._most = most

    def same(self, value: _Key) -> _Key:
        """The one that is equal."""
        if len(self._known) >= self._most:
            self._known.clear()
        return self._known.setdefault(value, value)


class Present(Counter[_Key]):
    """How many of each there are."""

    def leave(self, key: _Key) -> None:
        """One of them is gone."""
        self[key] -= 1
        if not self[key]:
            del self[key]
