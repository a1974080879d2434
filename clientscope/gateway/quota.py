"""How often clients may push: KIP-124's kind of quota, by token buckets; pure, time is passed in."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass

MOST_CLIENTS = 10_000


@dataclass(frozen=True)
class Rate:
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


class PushQuota:
    """One bucket for each client and one for all of them together.

    Buckets of at most ``most_clients`` clients are kept; the one that was quiet for longest goes first, and is full if it comes
    again. So whoever changes its identity with each push escapes its own quota, and meets the one for all.
    """

    def __init__(self, per_client: Rate, in_all: Rate, most_clients: int = MOST_CLIENTS) -> None:
        self._per_client = per_client
        self._in_all = in_all
        self._most_clients = most_clients
        self._clients: OrderedDict[Hashable, _Bucket] = OrderedDict()
        self._all: _Bucket | None = None

    def take(self, client: Hashable, now_s: float) -> int:
        """0 where this push may pass, and is counted; else the ms until it may, and it isn't counted.

        Args:
            now_s: a clock that never goes back.
        """
        own = self._clients.get(client) or _Bucket(self._per_client.burst, now_s)
        self._clients[client] = own
        self._clients.move_to_end(client)
        if len(self._clients) > self._most_clients:
            self._clients.popitem(last=False)
        if self._all is None:
            self._all = _Bucket(self._in_all.burst, now_s)
        _fill(own, self._per_client, now_s)
        _fill(self._all, self._in_all, now_s)
        missing_s = max((1 - own.tokens) / self._per_client.per_second, (1 - self._all.tokens) / self._in_all.per_second)
        if missing_s > 0:
            return math.ceil(missing_s * 1000)
        own.tokens -= 1
        self._all.tokens -= 1
        return 0

    def __len__(self) -> int:
        """How many clients are remembered."""
        return len(self._clients)


def _fill(bucket: _Bucket, rate: Rate, now_s: float) -> None:
    bucket.tokens = min(float(rate.burst), bucket.tokens + (now_s - bucket.at_s) * rate.per_second)
    bucket.at_s = now_s
