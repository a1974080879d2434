"""Effective values of a batch of pushes: each setting parsed once, with defaults for those that a client leaves out."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from clientscope.records.enums import Origin
from udfs.arrays.distinct import distinct_rows
from udfs.pushes import Pushes
from udfs.rules.engine import vocabulary as v
from udfs.rules.engine.client_types import InferredTypes
from udfs.rules.engine.matrices import ABSENT, DEFAULT, SET, Ints, SettingMatrices
from udfs.rules.engine.names import SettingNames
from udfs.rules.engine.parsing import parse
from udfs.rules.engine.rule import Mask
from udfs.rules.engine.software import ClientSoftware


class Effective(SettingMatrices):
    """
    Attributes:
        whole: pushes that hold all of KIP-1324's keys that have a value, so that what isn't there has none.
        unsettled: by row, the pushed values of keys whose value other settings change.
    """

    def __init__(self, pushes: Pushes, software: ClientSoftware, complete: bool, names: SettingNames, inferred: InferredTypes) -> None:
        """
        Args:
            complete: the settings are all that were set.
        """
        types = inferred.types
        key_ids = names.key_ids(types)
        super().__init__(_wanted(key_ids, types, complete), software)
        parse(self, pushes, software, names, key_ids)
        self.forget_origins(pushes.are_of(Origin.OBSERVED, Origin.REQUEST_LOG))
        if complete:
            self.whole, leaves_out = np.ones(len(pushes), np.bool_), np.zeros(len(pushes), np.bool_)
        else:
            self.whole, leaves_out = wholeness(self, software, types, pushes.parents, key_ids)
        known = (types != v.UNKNOWN_TYPE) & (software.dialects != v.UNKNOWN_DIALECT)
        fill(self, software, types, complete, np.flatnonzero(leaves_out | (complete & known)))
        self.unsettled = settle(self, software, types, np.flatnonzero(self.whole & known))


def _wanted(key_ids: Ints, types: Ints, every_default: bool) -> Ints:
    """Keys that were pushed, or may be filled in."""
    wanted = np.zeros(len(v.KEYS) + 1, np.bool_)
    wanted[key_ids] = True  # the last is for -1
    if every_default:
        wanted[:] = True
    else:
        listed = sum(1 << int(each) for each in np.unique(types) if each != v.UNKNOWN_TYPE)
        wanted[np.flatnonzero(v.IN_DEFAULT_SET & listed)] = True
    return np.flatnonzero(wanted[:-1])


# Defaults of clients' own, where a push leaves settings out, and what settings make of each other.


def wholeness(matrices: SettingMatrices, software: ClientSoftware, types: Ints, parents: Ints, key_ids: Ints) -> tuple[Mask, Mask]:
    """Which pushes lack nothing that has a value, and which of those only since their clients leave defaults out.

    A client pushes KIP-1324's keys unless ``config.push.allowed.keys`` names others, and then a missing key may have any value.
    So a push that holds a key beyond that list, or lacks one of the list that has a default, says nothing of what it lacks;
    unless it holds no default at all, and was pushed by something that knows only what the user set: Apache's own client knows more.

    Args:
        types: per push its client's place in `vocabulary.CLIENT_TYPES`, or `UNKNOWN_TYPE`.
        parents: per setting its push; ``key_ids`` its key, or -1.
    """
    # By what the key is to this client: librdkafka's socket.timeout.ms is request.timeout.ms to all but its producer.
    is_listed = np.append(v.IN_DEFAULT_SET, 0).astype(np.int64)[key_ids] >> types[parents] & 1
    own_keys = np.zeros(len(types), np.bool_)
    own_keys[parents] = True
    own_keys[parents[is_listed == 0]] = False
    present = matrices.states != ABSENT
    may_leave_out = software.where(lambda it: it.dialect is not None and not it.dialect.pushes_defaults)
    leaves_out = own_keys & may_leave_out & present.any(axis=0) & ~(matrices.states > SET).any(axis=0)
    whole = leaves_out.copy()
    candidates = np.flatnonzero(own_keys & ~leaves_out & (software.dialects != v.UNKNOWN_DIALECT))
    for client_type in np.unique(types[candidates]).tolist():
        rows = candidates[types[candidates] == client_type]
        keys = np.flatnonzero(v.IN_DEFAULT_SET[matrices.row_ids] & (1 << client_type))
        needed = np.stack(
            [v.defaults(known.number, client_type, known.version).has[matrices.row_ids[keys]] if known.dialect else keys >= 0
             for known in software.distinct]
        )  # fmt: skip
        named = np.array([v.KEYS[key_id] in v.IDENTIFIERS for key_id in matrices.row_ids[keys]])
        lacking = needed[software.which[rows]].T & ~named[:, None] & ~present[np.ix_(keys, rows)]
        whole[rows] = ~lacking.any(axis=0)
    return whole, leaves_out


def fill(matrices: SettingMatrices, software: ClientSoftware, types: Ints, all_keys: bool, rows: Ints) -> None:
    """Fills in the defaults of these pushes' clients where nothing was pushed.

    Args:
        all_keys: keys beyond KIP-1324's are filled in too.
    """
    if not rows.size:
        return
    groups = types[rows] * len(software.distinct) + software.which[rows]
    distinct, which = np.unique(groups, return_inverse=True)
    ids = matrices.row_ids
    has, numbers, texts = [], [], []
    for group in distinct.tolist():
        client_type, of_software = divmod(group, len(software.distinct))
        known = software.distinct[of_software]
        found = v.defaults(known.number, client_type, known.version)
        listed = (v.IN_DEFAULT_SET[ids] & (1 << client_type)) > 0
        has.append(found.has[ids] & (listed | all_keys))
        numbers.append(found.numbers[ids])
        texts.append(found.texts[ids])
    states = matrices.states[:, rows]
    missing = (states == ABSENT) & np.stack(has)[which].T
    matrices.states[:, rows] = np.where(missing, DEFAULT, states)
    matrices.numbers[:, rows] = np.where(missing, np.stack(numbers)[which].T, matrices.numbers[:, rows])
    matrices.texts[:, rows] = np.where(missing, np.stack(texts)[which].T, matrices.texts[:, rows])


def settle(matrices: SettingMatrices, software: ClientSoftware, types: Ints, rows: Ints) -> dict[int, npt.NDArray[np.int32]]:
    """Applies what settings make of each other, once for each distinct combination of those that matter.

    Returns:
        by row, the texts as they were before.
    """
    unsettled: dict[int, npt.NDArray[np.int32]] = {}
    for client_type in np.unique(types[rows]).tolist():
        ids = [key_id for key_id in v.settled_ids(client_type).tolist() if v.KEYS[key_id] in matrices.rows]
        if ids:
            _settle_type(matrices, software, client_type, ids, rows[types[rows] == client_type], unsettled)
    return unsettled


def _settle_type(
    matrices: SettingMatrices, software: ClientSoftware, client_type: int, ids: list[int], rows: Ints,
    unsettled: dict[int, npt.NDArray[np.int32]],
) -> None:  # fmt: skip
    keys = [v.KEYS[key_id] for key_id in ids]
    at = np.array([matrices.rows[key] for key in keys])
    states = matrices.states[np.ix_(at, rows)]
    values = np.where(
        v.IS_NUMBER[ids][:, None], matrices.numbers[np.ix_(at, rows)].view(np.int64), matrices.texts[np.ix_(at, rows)].astype(np.int64)
    )
    named = np.array([key in v.IDENTIFIERS for key in keys])
    values[named] = np.where(states[named] != ABSENT, 0, -1)
    first, which = distinct_rows(np.vstack([software.which[rows], states, values]).T)
    settled = [_settled(matrices, software, client_type, keys, int(rows[place])) for place in first]
    for key in {key for each in settled for key in each}:
        row, key_id = matrices.rows[key], v.KEY_IDS[key]
        changed = np.array([key in each for each in settled])[which]
        values_of = [each.get(key, "") for each in settled]
        target = rows[changed]
        if v.IS_NUMBER[key_id]:
            matrices.numbers[row, target] = np.array([v.number(text) for text in values_of])[which][changed]
        else:
            unsettled.setdefault(row, matrices.texts[row].copy())
            matrices.texts[row, target] = np.array([v.TEXT_CODES.get(text, -1) for text in values_of], np.int32)[which][changed]
        states_of = matrices.states[row, target]
        matrices.states[row, target] = np.where(states_of == ABSENT, DEFAULT, states_of)


def _settled(matrices: SettingMatrices, software: ClientSoftware, client_type: int, keys: list[str], push: int) -> Mapping[str, str]:
    known = software.distinct[software.which[push]]
    assert known.dialect is not None
    values = {key: matrices.text_of(key, push) for key in keys if matrices.states[matrices.rows[key], push] != ABSENT}
    given = [key for key in values if matrices.states[matrices.rows[key], push] == SET]
    settled = known.dialect.settle(v.CLIENT_TYPES[client_type], values, given, known.release)
    return {key: text for key, text in settled.items() if key in matrices.rows and values.get(key) != text}
