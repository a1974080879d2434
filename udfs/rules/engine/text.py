"""Text columns: codes into a dictionary that all columns of a batch share."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from udfs.rules.engine.rule import Mask
from udfs.rules.engine.vocabulary import TEXT_CODES


@dataclass(frozen=True)
class Text:
    """One setting's value per push, as Kafka writes it.

    Attributes:
        codes: per push its place in ``dictionary``; -1 where it isn't known.
        dictionary: each text once; it begins with `udfs.rules.engine.vocabulary.TEXTS`.
    """

    codes: npt.NDArray[np.int32]
    dictionary: pa.StringArray

    @property
    def known(self) -> Mask:
        """Where there is a value."""
        return self.codes >= 0

    def strings(self) -> pa.StringArray:
        """The values themselves; null where not known."""
        return self.dictionary.take(pa.array(self.codes, mask=self.codes < 0))

    def equals(self, text: str) -> Mask:
        """Where the value is this one."""
        code = TEXT_CODES.get(text)
        return self.codes == code if code is not None else self.isin({text})

    def isin(self, texts: Collection[str]) -> Mask:
        """Where the value is one of these."""
        codes = [TEXT_CODES.get(text) for text in texts]
        if None not in codes:
            found = np.zeros(self.codes.size, np.bool_)
            for code in codes:
                found |= self.codes == code
            return found
        among = pc.is_in(self.dictionary, pa.array(list(texts), pa.string())).to_numpy(zero_copy_only=False)
        return self._spread(np.flatnonzero(among))

    def where(self, holds: Callable[[str], bool]) -> Mask:
        """Where it holds of the value; asked once for each distinct one."""
        used = np.unique(self.codes[self.codes >= 0])
        texts = self.dictionary.take(pa.array(used)).to_pylist()
        return self._spread(used[[holds(text) for text in texts]])

    def matches(self, pattern: str) -> Mask:
        """Where the regular expression (RE2's syntax) is found in the value."""
        used = np.unique(self.codes[self.codes >= 0])
        found = pc.match_substring_regex(self.dictionary.take(pa.array(used)), pattern)
        return self._spread(used[found.to_numpy(zero_copy_only=False)])

    def _spread(self, codes: npt.NDArray[np.integer]) -> Mask:
        hit = np.zeros(len(self.dictionary) + 1, np.bool_)  # the last is for -1
        hit[codes] = True
        return hit[self.codes]
