"""Application of a client, from its client.id without the part that distinguishes instances."""

from __future__ import annotations

import re
from functools import lru_cache

# A pod's suffix is drawn from the alphabet that Kubernetes uses so that no words arise.
_POD = "[bcdfghjklmnpqrstvwxz2456789]"
_INSTANCE_PARTS = (
    (re.compile(r"[-_.:]?[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"), ""),
    (re.compile(rf"-{_POD}{{6,10}}-{_POD}{{5}}(?P<end>\Z|[-_.])"), r"\1"),
    (re.compile(r"(?:[-_.:#]\d+)+\Z", re.ASCII), ""),
)


@lru_cache(maxsize=100_000)
def application_of(client_id: str) -> str:
    """client.id without what tells one instance from another: UUIDs, a pod's suffix, counters at the end."""
    for part, kept in _INSTANCE_PARTS:
        client_id = part.sub(kept, client_id)
    return client_id


def of_client(client_id: str | None) -> str | None:
    """The same where there may be none."""
    return None if client_id is None else application_of(client_id)
