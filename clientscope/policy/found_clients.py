"""Instance ids of clients that have none of their own."""

from __future__ import annotations

import uuid

from clientscope.digest import identifier

_NAMESPACE = uuid.UUID("5f0f3d2c-6a0e-5c52-9d53-0d7f5b1a4e11")


def found_instance_id(cluster_id: str, *identity: str) -> uuid.UUID:
    """The instance id of a client that was found, made of names that are judged: a hash of a secret could be guessed."""
    return uuid.uuid5(_NAMESPACE, identifier("found client", cluster_id, *identity))
