"""Standard Webhooks: the headers of a message (standardwebhooks.com; https://github.com/standard-webhooks/standard-webhooks)."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Sequence


def headers(message_id: str, sent_s: int, body: bytes, secrets: Sequence[bytes]) -> dict[str, str]:
    """``webhook-id``, which stays the same on every retry, ``webhook-timestamp`` of this attempt, and a signature by each secret.

    Args:
        sent_s: seconds since the epoch.
    """
    signed = b"%s.%d.%s" % (message_id.encode(), sent_s, body)
    signatures = [base64.b64encode(hmac.digest(secret, signed, hashlib.sha256)).decode() for secret in secrets]
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(sent_s),
        "webhook-signature": " ".join(f"v1,{signature}" for signature in signatures),
    }
