"""Quota of pushes per client, in the way of KIP-124, by token buckets; pure, time is passed in."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Literal

from clientscope.bounded import Recent
from clientscope.model.client_key import network_of

MOST_CLIENTS = 10_000

Whose = Literal["quota", "quota_principal", "quota_address", "quota_all"]
"""Whose bucket was empty: the client's own, its principal's, its address's, or the one for all; as the counter's reason has it."""


@dataclass(frozen=True)
class PushRate:
    """A quota: so many a second in the long run, and ``burst`` at once.

    Attributes:
        per_second: above 0.
        burst: at least 1.
    """

    per_second: float
    burst: int


@dataclass
class _Bucket:
    tokens: float
    at_s: float


class _Buckets:
    """One for each name; the one that was quiet for longest goes first, and is full if it comes again."""

    def __init__(self, rate: PushRate, most: int) -> None:
        self.rate = rate
        self._buckets: Recent[Hashable, _Bucket] = Recent(most)

    def __len__(self) -> int:
        return len(self._buckets)

    def filled(self, name: Hashable, now_s: float) -> _Bucket:
        """The bucket as of now; a new one is full, and not stored yet."""
        bucket = self._buckets.get(name)
        if bucket is None:
            return _Bucket(self.rate.burst, now_s)
        self._buckets.move_to_end(name)
        bucket.tokens = min(float(self.rate.burst), bucket.tokens + (now_s - bucket.at_s) * self.rate.per_second)
        bucket.at_s = now_s
        return bucket

    def take(self, name: Hashable, bucket: _Bucket) -> None:
        bucket.tokens -= 1
        self._buckets[name] = bucket


class PushQuota:
    """One bucket for each client, each principal and each address, and one for all together; a push takes a token of each.

    A client chooses its id, so its own bucket only holds those that don't mean it: a crash loop, a bug. A client that changes its id with
    each push is limited by the buckets of its principal and its address, which it can't choose.

    Args:
        per_client, in_all: required.
        per_principal: of clients that authenticate; None for no such bucket.
        per_address: of an IPv6 address its network of 64 bits counts; None for no such bucket.
        most_clients: buckets of each kind that are kept; beyond it, the one that was quiet for longest goes first.
    """

    def __init__(
        self,
        per_client: PushRate,
        in_all: PushRate,
        most_clients: int = MOST_CLIENTS,
        *,
        per_principal: PushRate | None = None,
        per_address: PushRate | None = None,
    ) -> None:
        self.refused_by: Whose = "quota"
        """The bucket that refused the last push that didn't pass."""
        self._clients = _Buckets(per_client, most_clients)
        self._principals = _Buckets(per_principal, most_clients) if per_principal else None
        self._addresses = _Buckets(per_address, most_clients) if per_address else None
        self._all = _Buckets(in_all, 1)

    def change(self, per_client: PushRate, in_all: PushRate, per_principal: PushRate, per_address: PushRate) -> None:
        """Other rates from now on; what has been taken stays taken.  Those that there were no buckets for have none now either."""
        for buckets, rate in (
            (self._clients, per_client), (self._all, in_all), (self._principals, per_principal), (self._addresses, per_address),
        ):  # fmt: skip
            if buckets is not None:
                buckets.rate = rate

    def take(self, client: Hashable, now_s: float, *, principal: str | None = None, address: str | None = None) -> int:
        """0 where this push may pass, and is counted; else the ms until it may, and it isn't counted.

        Args:
            now_s: a clock that never goes back.
            principal, address: None where there is none to count by.
        """
        asked: list[tuple[Whose, _Buckets, Hashable]] = [("quota_all", self._all, None)]
        if self._addresses is not None and address is not None:
            asked.append(("quota_address", self._addresses, network_of(address)))
        if self._principals is not None and principal is not None:
            asked.append(("quota_principal", self._principals, principal))
        asked.append(("quota", self._clients, client))
        buckets = [of.filled(name, now_s) for _, of, name in asked]
        longest_s = 0.0
        for (whose, of, _), bucket in zip(asked, buckets, strict=True):
            missing_s = (1 - bucket.tokens) / of.rate.per_second
            if missing_s > longest_s:
                longest_s, self.refused_by = missing_s, whose
        if longest_s > 0:  # and of invented names nothing is kept
            return math.ceil(longest_s * 1000)
        for (_, of, name), bucket in zip(asked, buckets, strict=True):
            of.take(name, bucket)
        return 0

    def __len__(self) -> int:
        """How many clients are remembered."""
        return len(self._clients)
