"""Records of ``clientscope.quarantine``: where a record lies that is none by its topic's schema, and why."""

from __future__ import annotations

from clientscope.model.fields import Id32, Id64, Ms, Name, Sha256, Version, record


@record
class QuarantineRecord:
    """Value of ``clientscope.quarantine``; its key is a list of topic, partition and offset.

    Attributes:
        timestamp_ms: Kafka's.
        reason: one word (`clientscope.model.codec.reasons`), or ``crashed``.
        length: of the record's value, in bytes.
        digest: HMAC-SHA-256 of the value under the installation's key, in hexadecimal; None without a key.
    """

    version: Version
    topic: Name
    partition: Id32
    offset: Id64
    timestamp_ms: Ms
    reason: Name
    length: Id32
    digest: Sha256 | None
