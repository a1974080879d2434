"""Effective values of a batch of pushes: each setting parsed once, with defaults for those that a client leaves out."""

from __future__ import annotations

import numpy as np

from clientscope.records.enums import Origin
from udfs.pushes import Pushes
from udfs.rules.engine import vocabulary as v
from udfs.rules.engine.client_types import InferredTypes
from udfs.rules.engine.completion import fill, settle, wholeness
from udfs.rules.engine.matrices import Ints, SettingMatrices
from udfs.rules.engine.names import SettingNames
from udfs.rules.engine.parsing import parse
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
