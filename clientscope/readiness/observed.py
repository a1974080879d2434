"""What a client was seen to use of Kafka's protocol: the input of a verdict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

UNKNOWN_SOFTWARE = "unknown"
"""The name and version of a client that reported none."""


class ApiUse(NamedTuple):
    """One version of one API, as a client requested it: Kafka's number of the API, and the request's version."""

    api_key: int
    api_version: int


@dataclass(frozen=True)
class ObservedUses:
    """What a client was seen to use, and with which software.

    Requests between brokers are no client's: leave out the inter-broker listener. If several clients share one identity, all their
    uses count as one client's.

    Attributes:
        software_name: as it reported it in ApiVersions (KIP-511); empty or ``unknown`` for none.
        software_version: the same.
        broker_release: the release of the broker that saw it, such as ``3.9.2`` or ``3.9``; of several the oldest. None if it isn't known.
        at_info: brokers of 3.9 logged removed versions alone, so what it isn't seen to use says nothing.
    """

    uses: frozenset[ApiUse]
    software_name: str = ""
    software_version: str = ""
    broker_release: str | None = None
    at_info: bool = False

    @property
    def names_itself(self) -> bool:
        """Whether it reported its software."""
        return self.software_name not in ("", UNKNOWN_SOFTWARE)
