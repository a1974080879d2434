"""Application of a client, from its client.id without the part that distinguishes instances."""

from __future__ import annotations

import re
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc

# A pod's suffix is drawn from the alphabet that Kubernetes uses so that no words arise.
_POD = "[bcdfghjklmnpqrstvwxz2456789]"
_INSTANCE_PARTS = (
    r"[-_.:]?[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}",
    rf"-{_POD}{{6,10}}-{_POD}{{5}}(?P<end>$|[-_.])",
    r"(?:[-_.:#]\d+)+$",
)
_WITHOUT = ("", r"\1", "")


def application_client_id(client_ids: pa.StringArray) -> pa.StringArray:
    """client.id without what tells one instance from another: UUIDs, a pod's suffix, counters at the end."""
    encoded = client_ids.dictionary_encode()
    names = encoded.dictionary
    for pattern, replacement in zip(_INSTANCE_PARTS, _WITHOUT, strict=True):
        names = pc.replace_substring_regex(names, pattern, replacement)
    return names.take(encoded.indices)


# Python's $ would match before a newline at the end, too.
_COMPILED = tuple((re.compile(part.replace("$", r"\Z"), re.ASCII), kept) for part, kept in zip(_INSTANCE_PARTS, _WITHOUT, strict=True))


@lru_cache(maxsize=100_000)
def application_of(client_id: str) -> str:
    """The same of one client.id, for which Arrow would take twenty times as long."""
    for part, kept in _COMPILED:
        client_id = part.sub(kept, client_id)
    return client_id


def of_client(client_id: str | None) -> str | None:
    """The same where there may be none."""
    return None if client_id is None else application_of(client_id)
