"""Fingerprints of findings: the same for the same problem of the same application, wherever and whenever it is found."""

from __future__ import annotations

import json
from functools import lru_cache

from clientscope.digest import identifier


def application_key(principal: str | None, client_id: str | None, group: str | None, path: str | None = None) -> str:
    """Which application a client belongs to, as a JSON array: the key of ``clientscope.results``.

    Args:
        client_id: without the part that distinguishes instances, as `udfs.kernels.applications.application_of` makes it.
        path: the file with the settings, relative to the repository and with ``/`` between its parts; it counts only where
            client.id and group.id say nothing.
    """
    parts = [principal, client_id, group]
    if path is not None and not (client_id or group):
        parts.append(path)
    return json.dumps(parts, ensure_ascii=False, separators=(",", ":"))


@lru_cache(maxsize=20_000)  # each client of an application has those of its application
def fingerprint(code: str, application: str, key: str) -> str:
    """32 hexadecimal digits; people's decisions refer to them.

    Args:
        code: the rule's.
        application: see `application_key`.
        key: the setting's name, Kafka's where Kafka has one.
    """
    return identifier("finding", code, application, key)


def secret_fingerprint(digest: str) -> str:
    """The same for one leaked secret, whichever client leaks it under whichever key: 32 hexadecimal digits.

    Args:
        digest: its HMAC-SHA-256 under the installation's key, in hexadecimal.
    """
    return identifier("finding", "secret", digest)
