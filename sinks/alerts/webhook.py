"""Sender of web hooks: a message as JSON under 20 KB, signed by Standard Webhooks (standardwebhooks.com)."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from clientscope.clock import now_ms
from clientscope.findings.wording import unmarked
from clientscope.model.fields import clean
from clientscope.model.finding import Finding
from sinks.alerts.message import Message, Texts, alert_number, iso, link
from sinks.alerts.receivers import WebhookReceiver
from sinks.alerts.sending import SendResult, post

MOST_BYTES = 20_000
"""Standard Webhooks: "payloads should be smaller than 20 KB"."""

_ADDRESSES = 3


def send(receiver: WebhookReceiver, message: Message, texts: Texts) -> SendResult:
    """One attempt."""
    return _send(receiver, message.id, payload(message, texts))


def send_test(receiver: WebhookReceiver) -> SendResult:
    """Sends a message that is marked as a test."""
    at_ms = now_ms()
    return _send(
        receiver, f"msg_test_{at_ms}", _bytes({"type": "clientscope.test", "timestamp": iso(at_ms), "data": {"text": "nothing is wrong"}})
    )


def payload(message: Message, texts: Texts) -> bytes:
    """The body: as many of the findings as fit, and how many there are; docs/alerts.md describes the fields."""
    findings: list[dict[str, Any]] = []
    body = {
        "type": f"clientscope.findings.{message.status}",
        "timestamp": iso(message.created_ms),
        "data": {
            "status": message.state,
            "severity": message.worst.severity,
            "title": texts.title(message),
            "text": texts.body(message),
            "count": len(message.findings),
            "findings": findings,
        },
    }
    size = len(_bytes(body))
    for finding in message.findings:
        one = _finding(finding, texts)
        size += len(_bytes(one)) + 1
        if size >= MOST_BYTES:
            break
        findings.append(one)
    return _bytes(body)


def _send(receiver: WebhookReceiver, message_id: str, body: bytes) -> SendResult:
    """The id stays the same on every retry; the time is of this attempt; there is a signature by each secret."""
    now_s = int(time.time())
    signed = b"%s.%d.%s" % (message_id.encode(), now_s, body)
    signatures = [base64.b64encode(hmac.digest(secret, signed, hashlib.sha256)).decode() for secret in receiver.secrets]
    headers = {
        "webhook-id": message_id,
        "webhook-timestamp": str(now_s),
        "webhook-signature": " ".join(f"v1,{signature}" for signature in signatures),
    }
    return post(receiver, receiver.urls[0], body, headers)


def _finding(finding: Finding, texts: Texts) -> dict[str, Any]:
    return {
        "key": f"{finding.fingerprint}/{alert_number(finding)}",
        "fingerprint": finding.fingerprint,
        "alert": alert_number(finding),
        "why": finding.alert.why if finding.alert else None,
        "state": finding.state,
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity,
        "message": clean(unmarked(finding.message), 500),
        **asdict(finding.application),
        "subject": finding.subject or None,
        "software": sorted({f"{client.software_name} {client.software_version}"[:80] for client in finding.clients})[:_ADDRESSES],
        "addresses": sorted({client.address[:45] for client in finding.clients if client.address})[:_ADDRESSES],
        "clients": finding.client_count,
        "team": finding.owner.team if finding.owner else None,
        "contact": finding.owner.contact if finding.owner else None,
        "first_seen": iso(finding.first_seen_ms),
        "last_seen": iso(finding.last_seen_ms),
        "use_instead": clean(unmarked(finding.use_instead), 300),
        "url": texts.page(finding) or None,
        "rule": link(finding) or None,
    }


def _bytes(value: Mapping[str, object]) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
