"""What a rule is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from udfs.pushes import Pushes

NOT_EVALUABLE, PASSED, FIRED = 0, 1, 2
OUTCOMES = ("not_evaluable", "passed", "fired")
"""What a rule can say of a push: the setting wasn't there to judge, it is fine, or it is not."""

SEVERITIES = ("info", "low", "medium", "high", "critical")

SETTING = pa.struct(
    [("key", pa.string()), ("value", pa.string()), ("reason", pa.string()), ("length", pa.int32()), ("digest", pa.string())]
)
"""A setting that a rule points to: its value if a rule that isn't about secrets judged it, or else what stands for the value."""

VERDICT = pa.struct(
    [
        ("code", pa.string()),
        ("name", pa.string()),
        ("severity", pa.string()),
        ("outcome", pa.string()),
        ("settings", pa.list_(SETTING)),
        ("message", pa.string()),
    ]
)


@dataclass(frozen=True)
class Judgement:
    """What a rule found in a batch.

    Attributes:
        outcomes: one of `OUTCOMES` per push, by number.
        settings: the settings judged, as `SETTING`, per push.
    """

    outcomes: npt.NDArray[np.int8]
    settings: pa.ListArray


@dataclass(frozen=True)
class Rule:
    """One thing that a pushed configuration can have wrong.

    Attributes:
        code: SK… for sensitive keys, AN… for anomalous settings; never used again for another rule.
        name: the bad pattern, never the cure.
        severity: one of `SEVERITIES`.
        messages: for each of `OUTCOMES` one sentence; when fired, one that a person can act on.
        evaluate: judges a whole batch; pure.
    """

    code: str
    name: str
    severity: str
    messages: tuple[str, str, str]
    evaluate: Callable[[Pushes], Judgement]

    def verdicts(self, pushes: Pushes) -> pa.StructArray:
        """One `VERDICT` per push."""
        judgement = self.evaluate(pushes)
        count = len(pushes)
        columns: list[pa.Array] = [
            pa.repeat(self.code, count),
            pa.repeat(self.name, count),
            pa.repeat(self.severity, count),
            pa.array(OUTCOMES).take(pa.array(judgement.outcomes)),
            judgement.settings,
            pa.array(self.messages).take(pa.array(judgement.outcomes)),
        ]
        return pa.StructArray.from_arrays(columns, fields=list(VERDICT))


def judged_settings(pushes: Pushes, positions: pa.Int64Array) -> pa.ListArray:
    """The one setting that each push was judged by, with its value; ``positions`` as `udfs.settings.positions` returns them."""
    chosen = positions.drop_null()
    nothing = {"reason": pa.string(), "length": pa.int32(), "digest": pa.string()}
    items = pa.StructArray.from_arrays(
        [
            pushes.settings["config_key"].take(chosen),
            pushes.settings["config_value"].take(chosen),
            *(pa.nulls(len(chosen), arrow_type) for arrow_type in nothing.values()),
        ],
        fields=list(SETTING),
    )
    counts = pc.cast(positions.is_valid(), pa.int32()).to_numpy(zero_copy_only=False)
    return pa.ListArray.from_arrays(pa.array(np.append(0, np.cumsum(counts)), pa.int32()), items)
