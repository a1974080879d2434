"""Quota of pushes per client, in the way of KIP-124, by token buckets; pure, time is passed in."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Literal

from clientscope.bounded import Recent
from clientscope.config import GatewaySettings
from clientscope.model.client_key import network_of
from clientscope.model.principals import authenticated
from clientscope.policy.interface import RequestContext

MOST_CLIENTS = 10_000

Whose = Literal["quota", "quota_principal", "quota_address", "quota_all"]
"""Whose bucket it is: the client's own, its principal's, its address's, or the one for all; as the counter's reason has it."""


@dataclass(frozen=True)
class PushRate:
    """A quota: so many a second in the long run, and ``burst`` at once.

    Attributes:
        per_second: above 0.
        burst: at least 1.
    """

    per_second: float
    burst: int


Rates = Mapping[Whose, PushRate]


def rates(settings: GatewaySettings) -> Rates:
    """Those of pushes."""
    return {
        "quota_all": PushRate(settings.push_rate, settings.push_burst),
        "quota_address": PushRate(settings.push_rate_per_address, settings.push_burst_per_address),
        "quota_principal": PushRate(settings.push_rate_per_principal, settings.push_burst_per_principal),
        "quota": PushRate(settings.push_rate_per_client, settings.push_burst_per_client),
    }


def client_of(context: RequestContext) -> Hashable:
    """The client that a push is counted for: the principal's client instance, or, without an id, its principal, client.id and address."""
    if context.client_instance_id is not None:
        return context.client_key
    return context.principal, context.client_id, context.client_address


@dataclass
class _Bucket:
    tokens: float
    at_s: float


class _Buckets:
    """One for each name; the one that was quiet for longest goes first, and is full if it comes again."""

    def __init__(self, rate: PushRate) -> None:
        self.rate = rate
        self._buckets: Recent[Hashable, _Bucket] = Recent(MOST_CLIENTS)

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
    each push is limited by the buckets of its principal and its address, which it can't choose. `MOST_CLIENTS` buckets of each kind are
    kept: beyond it, the one that was quiet for longest goes first.
    """

    def __init__(self, rates: Rates) -> None:
        self.refused_by: Whose = "quota"
        """The bucket that refused the last push that didn't pass."""
        self._buckets = {whose: _Buckets(rate) for whose, rate in rates.items()}

    def change(self, rates: Rates) -> None:
        """Other rates from now on; what has been taken stays taken."""
        for whose, rate in rates.items():
            self._buckets[whose].rate = rate

    def take(self, context: RequestContext, now_s: float) -> int:
        """0 where this push may pass, and is counted; else the ms until it may, and it isn't counted.

        Args:
            now_s: a clock that never goes back.
        """
        names: dict[Whose, Hashable] = {"quota_all": "", "quota_address": network_of(context.client_address)}
        if (principal := authenticated(context.principal)) is not None:
            names["quota_principal"] = principal
        names["quota"] = client_of(context)
        asked = [(whose, self._buckets[whose], name) for whose, name in names.items()]
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
