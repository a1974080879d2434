"""A message as a web hook's body: JSON under 20 KB, signed by Standard Webhooks."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from clientscope.findings.record import Finding
from clientscope.topic_values import clean
from sinks.alerts import signing
from sinks.alerts.message import Message, Texts, link, status
from sinks.alerts.receivers import Receiver
from sinks.alerts.sending import Result, Route, post
from sinks.alerts.times import iso

MOST_BYTES = 20_000
"""Standard Webhooks: "payloads should be smaller than 20 KB"."""

_ADDRESSES = 3

_MOST_TEXT = 1_500
"""Characters, each up to four bytes."""


def payload(message: Message, texts: Texts) -> bytes:
    """The body: as many of the findings as fit, and how many there are."""
    told: dict[str, Any] = {
        "type": f"clientscope.findings.{message.plan.status}",
        "timestamp": iso(message.plan.created_ms),
        "data": {
            "status": status(message),
            "severity": message.worst.severity,
            "title": texts.title(message),
            "text": texts.body(message, _MOST_TEXT),
            "count": len(message.findings),
            "comes_and_goes": bool(message.damped),
            "findings": [],
        },
    }
    numbers = dict(message.plan.members)
    size = len(_bytes(told))
    for finding in message.findings:
        one = _finding(finding, numbers.get(finding.fingerprint, 0), texts)
        size += len(_bytes(one)) + 1
        if size >= MOST_BYTES:
            break
        told["data"]["findings"].append(one)
    return _bytes(told)


class Webhook:
    """Sends messages to one address; for one thread."""

    def __init__(self, receiver: Receiver, texts: Texts, route: Route, now_s: Callable[[], float] = time.time) -> None:
        self._receiver = receiver
        self._texts = texts
        self._route = route
        self._now_s = now_s

    def __call__(self, message: Message) -> Result:
        """One attempt."""
        body = payload(message, self._texts)
        signed = signing.headers(message.plan.id, int(self._now_s()), body, self._receiver.secrets)
        return post(self._receiver.urls[0], body, {**dict(self._receiver.headers), **signed}, self._route)


def _finding(finding: Finding, number: int, texts: Texts) -> dict[str, Any]:
    application = finding.application
    return {
        "key": f"{finding.fingerprint}/{number}",
        "fingerprint": finding.fingerprint,
        "alert": number,
        "why": finding.alert.why if finding.alert else None,
        "state": finding.state,
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity,
        "message": clean(finding.message, 500),
        "principal": application.principal,
        "client_id": application.client_id,
        "group": application.group,
        "software": sorted({f"{client.software_name} {client.software_version}"[:80] for client in finding.clients})[:_ADDRESSES],
        "addresses": sorted({client.address[:45] for client in finding.clients if client.address})[:_ADDRESSES],
        "clients": finding.client_count,
        "team": finding.owner.team if finding.owner else None,
        "first_seen": iso(finding.first_seen_ms),
        "last_seen": iso(finding.last_seen_ms),
        "use_instead": clean(finding.use_instead, 300),
        "url": texts.page(finding) or None,
        "rule": link(finding) or None,
    }


def _bytes(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
