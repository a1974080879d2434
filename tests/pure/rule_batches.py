"""Batches of pushes for the tests of rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from record_bytes import binaries, config_record, setting

from clientscope.records.enums import ValueState
from udfs.decode import decode_pushes
from udfs.pushes import Pushes
from udfs.rules.engine.batch import Batch, judge
from udfs.rules.engine.rule import Case, Rule


def batch_of(*records: bytes, **options: Any) -> Batch:
    """Records as a job would see them."""
    return Batch(Pushes(decode_pushes(binaries(*records))), **options)


def record_of(case: Case) -> bytes:
    """The push that a case describes."""
    settings = [_setting(key, value, False) for key, value in case.settings.items()]
    settings += [_setting(key, value, True) for key, value in case.defaults.items()]
    software = {"client_software_name": case.software, "client_software_version": case.version}
    return config_record(*settings, client_id=case.client_id, **software)


def _setting(key: str, value: str | None, is_default: bool) -> Any:
    redacted = {"state": ValueState.KEY_PREFIX, "length": 71} if value is None else {}
    return setting(key, value, default=is_default, **redacted)


def outcomes(rule: Rule, cases: Sequence[Case]) -> list[tuple[int, int | None]]:
    """What the rule says of each case, and its severity where it gives several, all cases of one kind in one batch."""
    found: dict[int, tuple[int, int | None]] = {}
    for complete in (False, True):
        of_kind = [number for number, case in enumerate(cases) if case.complete is complete]
        if of_kind:
            (judgement,) = judge(batch_of(*(record_of(cases[number]) for number in of_kind), complete=complete), [rule])
            severities = judgement.severities if judgement.severities is not None else np.full(len(of_kind), -1)
            for place, number in enumerate(of_kind):
                severity = int(severities[place])
                found[number] = (int(judgement.outcomes[place]), None if severity < 0 else severity)
    return [found[number] for number in range(len(cases))]
