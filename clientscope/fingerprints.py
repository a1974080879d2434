"""The fingerprint of a finding: the same for the same problem of the same application, wherever and whenever it is found."""

from __future__ import annotations

import hashlib


def application(group_id: str | None, client_id: str | None, path: str | None = None) -> str:
    """Which application a client belongs to: its group.id, else its client.id, else the file that its settings stand in.

    Args:
        client_id: without what tells one instance from another, as `udfs.applications.application_client_id` makes it.
        path: relative to the repository, with ``/`` between its parts.
    """
    for kind, value in (("group", group_id), ("client", client_id), ("file", path)):
        if value:
            return f"{kind}:{value}"
    return ""


def fingerprint(code: str, application: str, key: str) -> str:
    """32 hexadecimal digits.

    Args:
        code: the rule's.
        application: see `application`.
        key: the setting's name, Kafka's where Kafka has one.
    """
    # A path that is no UTF-8 has lone surrogates.
    parts = [part.encode("utf-8", "surrogatepass") for part in (code, application, key)]
    told_apart = b"".join(b"%d:%s" % (len(part), part) for part in parts)
    return hashlib.sha256(b"clientscope finding 1\0" + told_apart).hexdigest()[:32]
