"""Settings of a batch that each leak rule is about, and the text that may be shown of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from clientscope.catalog.sensitive import Tier
from clientscope.records.enums import Origin, ValueState
from udfs.pushes import Pushes
from udfs.rules.engine.batch import Batch
from udfs.rules.engine.rule import FIRED, PASSED, Evidence, Judgement, Mask, SettingOf

Positions = npt.NDArray[np.int64]

_COLUMNS = ("config_key", "value_state", "value_length", "value_digest")
_REASONS = {int(state): state.name.lower() for state in ValueState}


def credentials_by_key(pushes: Pushes) -> Positions:
    """Settings that are credentials by key or type, or for a reason that only a newer gateway knows."""
    return np.flatnonzero((pushes.tiers == Tier.CREDENTIAL) & (_states(pushes) != ValueState.VALUE_SHAPE))


def credentials_by_value(pushes: Pushes) -> Positions:
    """Settings with a credential's shape in their value, under a key that says nothing of one."""
    return np.flatnonzero(_states(pushes) == ValueState.VALUE_SHAPE)


def excluded(pushes: Pushes) -> Positions:
    """Settings that are kept back without being secrets; of pushes alone, since no client sent what a log shows."""
    return np.flatnonzero((pushes.tiers == Tier.EXCLUDED) & (_states(pushes) != ValueState.CUSTOM) & _by_clients(pushes))


def custom(pushes: Pushes) -> Positions:
    """Settings that are kept back since no client library knows their key; of pushes alone, as in `excluded`."""
    return np.flatnonzero((_states(pushes) == ValueState.CUSTOM) & _by_clients(pushes))


def doubtful(pushes: Pushes) -> Positions:
    """Settings that may hold a secret, by entropy alone."""
    return np.flatnonzero(pushes.tiers == Tier.DOUBTFUL)


def judged(batch: Batch, positions: Positions) -> Judgement:
    """Fires where a push has settings at these rising positions; a push can always be judged."""
    outcomes = np.full(len(batch), PASSED, np.int8)
    outcomes[batch.pushes.parents[positions]] = FIRED
    return Judgement(outcomes)


def hidden(batch: Batch, rows: Positions, positions: Positions) -> Evidence:
    """The settings at these positions, without their values, of the pushes in these rows.  A loop, over leaks alone."""
    pushes = batch.pushes
    chosen = positions[np.isin(pushes.parents[positions], rows)]
    found: dict[int, list[SettingOf]] = {row: [] for row in rows.tolist()}
    columns = [pushes.settings[name].take(pa.array(chosen)).to_pylist() for name in _COLUMNS]
    for row, key, state, length, digest in zip(pushes.parents[chosen].tolist(), *columns, strict=True):
        # A state from a newer gateway, or a made-up one, has no name here.
        found[row].append(SettingOf(key, None, "pushed", _REASONS.get(state, "unknown"), length, digest and digest.hex()))
    distinct: dict[tuple[SettingOf, ...], int] = {}
    indices = [distinct.setdefault(tuple(settings), len(distinct)) for settings in found.values()]
    return Evidence(np.array(indices, np.int64), list(distinct))


def _states(pushes: Pushes) -> npt.NDArray[Any]:
    states: npt.NDArray[Any] = pushes.settings["value_state"].to_numpy(zero_copy_only=False)
    return states


def _by_clients(pushes: Pushes) -> Mask:
    """Per setting whether a client sent it to a gateway."""
    sent: Mask = pushes.are_of(Origin.PUSHED, Origin.OBSERVED)[pushes.parents]
    return sent
