"""Application of a client, from its client.id without the part that distinguishes instances."""

from __future__ import annotations

import re
from functools import lru_cache

_SEPARATOR = "[-_.:/#~+, ]"
_UUID = "[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
# A pod's suffix is drawn from the alphabet that Kubernetes uses so that no words arise.
_POD = "[bcdfghjklmnpqrstvwxz2456789]"
_INSTANCE_PARTS = (
    re.compile(r"(?<=.)@.*", re.DOTALL),  # the host or the pod, or an image's digest
    re.compile(rf"\A{_UUID}{_SEPARATOR}?|{_SEPARATOR}?{_UUID}"),
    # Of a container, a task or a commit; a number alone may be an account's.
    re.compile(rf"{_SEPARATOR}(?=\d*[a-f])(?=[a-f]*\d)[0-9a-f]{{12,64}}(?={_SEPARATOR}|\Z)", re.ASCII),
    re.compile(rf"-{_POD}{{6,10}}-{_POD}{{5}}(?={_SEPARATOR}|\Z)"),
    re.compile(r"-\d+\.[^/]{1,200}\.svc(?:\.[\w.-]+)?\Z", re.ASCII),  # the host of a StatefulSet's pod
    re.compile(rf"(?:{_SEPARATOR}\d+)+\Z", re.ASCII),
)


@lru_cache(maxsize=100_000)
def application_of(client_id: str) -> str:
    """client.id without what tells one instance from another: a host behind ``@``, UUIDs, hashes, a pod's suffix, counters at the end.

    It is cut at its separators only, never within a word.
    """
    for part in _INSTANCE_PARTS:
        client_id = part.sub("", client_id)
    return client_id


def of_client(client_id: str | None) -> str | None:
    """The same where there may be none."""
    return None if client_id is None else application_of(client_id)
