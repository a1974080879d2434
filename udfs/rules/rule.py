"""What a rule is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from udfs.pushes import Pushes

NOT_EVALUABLE, PASSED, FIRED = 0, 1, 2
OUTCOMES = ("not_evaluable", "passed", "fired")
"""What a rule can say of a push: the setting wasn't there to judge, it is fine, or it is not."""

SEVERITIES = ("info", "low", "medium", "high", "critical")


class Setting(NamedTuple):
    """A setting that a rule points to: its value, or what stands for a value that is no one's to see.

    Attributes:
        value: None where it was redacted.
        reason: why it was.
        length: of the redacted value, in bytes of UTF-8.
        digest: of the redacted value, in hexadecimal.
    """

    key: str
    value: str | None
    reason: str | None = None
    length: int | None = None
    digest: str | None = None


@dataclass(frozen=True)
class Judgement:
    """What a rule found in a batch.

    Attributes:
        outcomes: one of `OUTCOMES` per push, by number.
        severities: one of `SEVERITIES` per push, by number; None where the rule has one alone.
    """

    outcomes: npt.NDArray[np.int8]
    severities: npt.NDArray[np.int8] | None = None


@dataclass(frozen=True)
class Evidence:
    """What rules point to, in a dictionary: the same settings are written once.

    Attributes:
        indices: per push that was asked about, which of ``distinct``.
        distinct: settings, as a rule shows them together.
    """

    indices: npt.NDArray[np.int64]
    distinct: Sequence[tuple[Setting, ...]]


@dataclass(frozen=True)
class Rule:
    """One thing that a pushed configuration can have wrong.

    Attributes:
        code: SK… for sensitive keys, AN… for anomalous settings; never used again for another rule.
        name: the bad pattern, never the cure.
        severity: one of `SEVERITIES`; the worst, where it has several.
        messages: for each of `OUTCOMES` one sentence; when fired, one that a person can act on.
        evaluate: judges a whole batch; pure.
        evidence: what it points to in the pushes of these rows, where it fired.
    """

    code: str
    name: str
    severity: str
    messages: tuple[str, str, str]
    evaluate: Callable[[Pushes], Judgement]
    evidence: Callable[[Pushes, npt.NDArray[np.int64]], Evidence]
