"""Settings of a batch of pushes as matrices: a row for each key, a column for each push."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from udfs.rules.engine import vocabulary as v
from udfs.rules.engine.rule import Mask
from udfs.rules.engine.software import ClientSoftware

ABSENT, SET, DEFAULT, PUSHED = range(4)
"""Origins of a setting in a push: absent, set by the user, its default, or present without its origin."""

ORIGINS = ("", "set", "default", "pushed")

Ints = npt.NDArray[np.int64]


class SettingMatrices:
    """
    Attributes:
        row_ids: each row's key, by its place in `vocabulary.KEYS`; ``rows`` the other way round, by name.
        states: one of `ABSENT`, `SET`, `DEFAULT`, `PUSHED`.
        positions: where the setting lies among `Pushes.settings`; -1 where it isn't pushed.
        numbers: NaN where not known.
        texts: codes in ``dictionary``; -1 where not known.
        dictionary: `vocabulary.TEXTS`, then what else was pushed.
    """

    def __init__(self, row_ids: Ints, software: ClientSoftware) -> None:
        shape = (len(row_ids), len(software.which))
        self._software = software
        self.row_ids = row_ids
        self.rows: Mapping[str, int] = {v.KEYS[key_id]: row for row, key_id in enumerate(row_ids.tolist())}
        self.states = np.zeros(shape, np.int8)
        self.positions = np.full(shape, -1, np.int32)
        self.numbers = np.full(shape, np.nan)
        self.texts = np.full(shape, -1, np.int32)
        self.dictionary: pa.StringArray = v.TEXT_ARRAY

    def forget_origins(self, which: Mask) -> None:
        """Of these pushes it isn't known which settings the user set."""
        if which.any():
            self.states[:, which] = np.where(self.states[:, which] == ABSENT, ABSENT, PUSHED)

    def text_of(self, key: str, push: int) -> str | None:
        """One value as text; None where it isn't known."""
        row = self.rows[key]
        if v.IS_NUMBER[v.KEY_IDS[key]]:
            return number_text(float(self.numbers[row, push]))
        code = int(self.texts[row, push])
        if code < 0:
            return None
        text: str = self.dictionary[code].as_py()
        of_library = code < len(v.TEXTS) and "{version}" in text
        return text.replace("{version}", self._software.distinct[self._software.which[push]].version) if of_library else text


def number_text(value: float) -> str | None:
    """A number as Kafka writes it; None for NaN."""
    if np.isnan(value):
        return None
    return str(int(value)) if value.is_integer() else str(value)
