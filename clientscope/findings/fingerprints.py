"""The fingerprint of a finding: the same for the same problem of the same application, wherever and whenever it is found."""

from __future__ import annotations

import hashlib
import json


def application_key(principal: str | None, client_id: str | None, group: str | None, path: str | None = None) -> str:
    """Which application a client belongs to, as a JSON array: the key of ``clientscope.results``.

    Args:
        client_id: without what tells one instance from another, as `udfs.applications.application_client_id` makes it.
        path: the file that the settings stand in, relative to the repository and with ``/`` between its parts; it counts only where
            client.id and group.id say nothing.
    """
    parts = [principal, client_id, group]
    if path is not None and not (client_id or group):
        parts.append(path)
    return json.dumps(parts, ensure_ascii=False, separators=(",", ":"))


def fingerprint(code: str, application: str, key: str) -> str:
    """32 hexadecimal digits.

    Args:
        code: the rule's.
        application: see `application_key`.
        key: the setting's name, Kafka's where Kafka has one.
    """
    return _digits(code, application, key)


def secret_fingerprint(digest: str) -> str:
    """The same for one leaked secret, whoever leaks it and under whichever key: 32 hexadecimal digits.

    Args:
        digest: its HMAC-SHA-256 under the installation's key, in hexadecimal.
    """
    return _digits("secret", digest)


def _digits(*parts: str) -> str:
    # A path that is no UTF-8 has lone surrogates.
    encoded = [part.encode("utf-8", "surrogatepass") for part in parts]
    told_apart = b"".join(b"%d:%s" % (len(part), part) for part in encoded)
    return hashlib.sha256(b"clientscope finding 1\0" + told_apart).hexdigest()[:32]
