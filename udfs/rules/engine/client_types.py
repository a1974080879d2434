"""Type of each push's client (producer, consumer and others), by the keys that it contains, since the protocol doesn't say.

A key that one client alone has decides.  Keys that can't be one client's (``acks`` and ``group.id``: a configuration that several clients
share) make it each of those.  A share consumer is recognised by a ``share.`` key, and an admin client by pushing nothing beyond
KIP-1324's list for it, with both its numbers in it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from clientscope.catalog.configs import DEFAULT_KEYS, ClientType
from udfs.rules.engine.rule import Mask
from udfs.rules.engine.vocabulary import (
    ALL_TYPES,
    CLIENT_TYPES,
    IDENTIFIERS,
    IN_DEFAULT_SET,
    KEY_IDS,
    OWNERS,
    SHARE_KEYS,
    UNKNOWN_TYPE,
    Bits,
    bit,
)

_CONSUMERS = bit(ClientType.CONSUMER) | bit(ClientType.SHARE_CONSUMER)
_ADMIN_NUMBERS = [KEY_IDS[key] for key in DEFAULT_KEYS[ClientType.ADMIN] if key not in IDENTIFIERS]
_TYPE_OF_BITS = np.array(
    [bits.bit_length() - 1 if bits.bit_count() == 1 else UNKNOWN_TYPE for bits in range(ALL_TYPES + 1)],
    np.int64,
)


class InferredTypes:
    """
    Attributes:
        types: per push its place in `CLIENT_TYPES`, or `UNKNOWN_TYPE`.
        candidates: per push what it may be, or, where ``shared``, what it is each of, as bits.
        within: per push for which clients all its keys are of those that they push by themselves, as bits.
    """

    def __init__(self, count: int, parents: npt.NDArray[np.int64], key_ids: npt.NDArray[np.int64]) -> None:
        """
        Args:
            parents: per setting its push, rising.
            key_ids: per setting the number of its key; -1 for one that Kafka doesn't have.
        """
        first = np.flatnonzero(np.diff(parents, prepend=-1)) if parents.size else parents
        # A key that isn't Kafka's may be any client's, and is in no list.
        owners = np.append(OWNERS, ALL_TYPES).astype(np.uint8)[key_ids]
        listed = np.append(IN_DEFAULT_SET, 0).astype(np.uint8)[key_ids]
        sole = np.where(np.bitwise_count(owners) == 1, owners, 0).astype(np.uint8)
        rows = parents[first]

        def of_all(bits: Bits, empty: int, how: np.ufunc) -> Bits:
            found = np.full(count, empty, np.uint8)
            if first.size:
                found[rows] = how.reduceat(bits, first)
            return found

        common = of_all(owners, ALL_TYPES, np.bitwise_and)
        self.within = of_all(listed, 0, np.bitwise_and)
        self.shared: Mask = common == 0
        share = of_all(np.append(SHARE_KEYS, False)[key_ids].astype(np.uint8), 0, np.bitwise_or) > 0
        numbers = [of_all((key_ids == key_id).astype(np.uint8), 0, np.bitwise_or) > 0 for key_id in _ADMIN_NUMBERS]
        candidates = np.where(self.shared, of_all(sole, 0, np.bitwise_or), common)
        candidates = np.where(common == _CONSUMERS, np.where(share, bit(ClientType.SHARE_CONSUMER), bit(ClientType.CONSUMER)), candidates)
        admin = ((self.within & common & bit(ClientType.ADMIN)) > 0) & np.logical_and.reduce(numbers)
        self.candidates: Bits = np.where(admin & ~self.shared, bit(ClientType.ADMIN), candidates).astype(np.uint8)
        self.types = np.where(self.shared, UNKNOWN_TYPE, _TYPE_OF_BITS[self.candidates])

    def assume(self, client_type: ClientType) -> None:
        """All pushes are of this client."""
        self.types[:] = CLIENT_TYPES.index(client_type)
        self.candidates[:] = bit(client_type)
        self.shared[:] = False
