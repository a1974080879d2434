"""Keys of a batch's settings: each distinct name of each client library is looked up once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from clientscope.catalog.dialects import DIALECTS
from udfs.pushes import Pushes
from udfs.rules.engine import vocabulary as v
from udfs.rules.engine.rule import Mask

Ints = npt.NDArray[np.int64]


class SettingNames:
    """
    Attributes:
        raw: the distinct names as they were pushed.
        codes: per setting which of them it has.
        in_own_way: per setting whether its value is to be read in the library's own way (`vocabulary.Name`).
    """

    def __init__(self, pushes: Pushes, dialects: Ints, written: bool) -> None:
        """
        Args:
            dialects: per push its dialect's place in `DIALECTS`, or `UNKNOWN_DIALECT`.
            written: names are a user's, in a file.
        """
        encoded = pushes.settings["config_key"].dictionary_encode()
        self.raw: list[str] = encoded.dictionary.to_pylist()
        self.codes: Ints = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        self._parents = pushes.parents
        width = max(len(self.raw), 1)
        self._size = (len(DIALECTS) + 1) * width
        self._pairs = (dialects * width)[self._parents] + self.codes
        used = np.zeros(self._size, np.bool_)
        used[self._pairs] = True
        self._ids = np.full((v.UNKNOWN_TYPE + 1, self._size), -1, np.int64)
        own = np.zeros(self._size, np.bool_)
        for pair in np.flatnonzero(used).tolist():
            dialect, raw = divmod(pair, width)
            name = v.name(dialect, self.raw[raw], written)
            self._ids[:, pair], own[pair] = name.key_ids, name.in_own_way
        self.in_own_way: Mask = own[self._pairs]

    def any_key_ids(self) -> Ints:
        """Per setting the number of its key, whichever client it may be; -1 where that differs, or there is none."""
        found: Ints = self._ids[v.UNKNOWN_TYPE][self._pairs]
        return found

    def key_ids(self, types: Ints) -> Ints:
        """Per setting the number of its key, or -1; ``types`` per push its client's place in `CLIENT_TYPES`, or `UNKNOWN_TYPE`."""
        found: Ints = self._ids.ravel()[(types * self._size)[self._parents] + self._pairs]
        return found
