"""The context of a push, as a policy gets it; a gateway's place, and what it counts."""

from __future__ import annotations

import uuid
from collections import Counter

from clientscope.gateway.place import GatewayPlace
from clientscope.model.enums import PrincipalSource
from clientscope.policy.interface import RequestContext

INSTANCE = uuid.UUID("0b1e9f5c-8a3e-4a7e-9df0-d2a1c6c10b11")
CONTEXT = RequestContext(
    "cluster", 1, "gw", 1000, 7, "CLIENT", "PLAINTEXT", "10.0.0.1", None, PrincipalSource.NONE, "orders", "kafka-python", "3.0.12", INSTANCE
)  # fmt: skip
PLACE = GatewayPlace("cluster", 1, "gateway-1", 1000, "CLIENT")


class Counts(Counter[tuple[str, str]]):
    """Counters of a gateway, by name and reason."""

    def __call__(self, what: str, reason: str, number: int = 1) -> None:
        self[what, reason] += number
