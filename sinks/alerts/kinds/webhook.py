"""Body of a web hook: a message as JSON under 20 KB, signed by Standard Webhooks."""

from __future__ import annotations

import base64
import binascii
import json
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TypedDict

from pydantic import Field

from clientscope.findings.record import Finding
from clientscope.findings.wording import unmarked
from clientscope.topic_values import clean
from sinks.alerts import signing
from sinks.alerts.message import Message, Texts, link, status
from sinks.alerts.receiver_tables import ADDRESS, HttpTable, MessageTable, TableReader
from sinks.alerts.receivers import Receiver, ReceiverKind
from sinks.alerts.sending import Route, SendResult, post
from sinks.alerts.times import iso

MOST_BYTES = 20_000
"""Standard Webhooks: "payloads should be smaller than 20 KB"."""

_ADDRESSES = 3

_MOST_TEXT = 1_500
"""Characters, each up to four bytes."""


class WebhookFinding(TypedDict):
    """A finding in the body; docs/alerts.md describes the fields."""

    key: str
    fingerprint: str
    alert: int
    why: str | None
    state: str
    code: str
    name: str
    severity: str
    message: str
    principal: str | None
    client_id: str | None
    group: str | None
    subject: str | None
    software: list[str]
    addresses: list[str]
    clients: int
    team: str | None
    contact: str | None
    first_seen: str
    last_seen: str
    use_instead: str
    url: str | None
    rule: str | None


class WebhookData(TypedDict):
    """The message itself; ``count`` is the number of all findings, of which ``findings`` has as many as fit."""

    status: str
    severity: str
    title: str
    text: str
    count: int
    comes_and_goes: bool
    findings: list[WebhookFinding]


class WebhookBody(TypedDict):
    """The body by Standard Webhooks: type, time and data."""

    type: str
    timestamp: str
    data: WebhookData


def payload(message: Message, texts: Texts) -> bytes:
    """The body: as many of the findings as fit, and how many there are."""
    body: WebhookBody = {
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
    size = len(_bytes(body))
    for finding in message.findings:
        one = _finding(finding, numbers.get(finding.fingerprint, 0), texts)
        size += len(_bytes(one)) + 1
        if size >= MOST_BYTES:
            break
        body["data"]["findings"].append(one)
    return _bytes(body)


class Webhook:
    """Sends messages to one address; for one thread."""

    def __init__(self, receiver: Receiver, texts: Texts, now_s: Callable[[], float] = time.time) -> None:
        self._receiver = receiver
        self._texts = texts
        self._now_s = now_s

    def __call__(self, message: Message) -> SendResult:
        """One attempt."""
        body = payload(message, self._texts)
        return _send(self._receiver, message.plan.id, int(self._now_s()), body)


def _send(receiver: Receiver, message_id: str, now_s: int, body: bytes) -> SendResult:
    signed = signing.headers(message_id, now_s, body, receiver.secrets)
    return post(receiver.urls[0], body, {**dict(receiver.headers), **signed}, Route.of(receiver))


def _finding(finding: Finding, number: int, texts: Texts) -> WebhookFinding:
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
        "message": clean(unmarked(finding.message), 500),
        "principal": application.principal,
        "client_id": application.client_id,
        "group": application.group,
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


class WebhookTable(HttpTable, MessageTable):
    """Its keys."""

    url: str | None = Field(None, description=ADDRESS)
    secrets: tuple[str, ...] | None = Field(
        None, description="one, or two while rotating, the new one first: `whsec_…`, as `echo whsec_$(openssl rand -base64 32)` makes it"
    )


def _read(reader: TableReader[WebhookTable]) -> Receiver:
    table = reader.table
    if not table.url:
        raise reader.error("url", "it is missing", 'url = "https://…", or "file:…" or "env:…"')
    url = reader.address("url", table.url)
    if not table.secrets or len(table.secrets) > 2:
        hint = 'secrets = ["file:/run/secrets/hook"]; while rotating two, the new one first'
        raise reader.error("secrets", "one is needed to sign with, or two while rotating", hint)
    return reader.receiver((url,), tuple(_secret(reader, source) for source in table.secrets))


def _secret(reader: TableReader[WebhookTable], source: str) -> bytes:
    text = reader.secret("secrets", source).removeprefix("whsec_")
    try:
        key = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except binascii.Error:
        key = b""
    if not 24 <= len(key) <= 64:
        hint = "make one: echo whsec_$(openssl rand -base64 32)"
        raise reader.error("secrets", f"{source} holds no secret by Standard Webhooks: 24 to 64 bytes in base64, after whsec_", hint)
    return key


def _test(receiver: Receiver, url: str) -> SendResult:
    now_s = int(time.time())
    sent = {"type": "clientscope.test", "timestamp": datetime.fromtimestamp(now_s, UTC).isoformat(), "data": {"text": "nothing is wrong"}}
    return _send(receiver, f"msg_test_{now_s}", now_s, _bytes(sent))


KIND = ReceiverKind(
    name="webhook",
    how="**Web hooks** follow [Standard Webhooks](https://www.standardwebhooks.com/): `webhook-id` is the same on every retry, "
    "`webhook-timestamp` is the time of the attempt, `webhook-signature` has a signature by each secret. Its libraries verify them. "
    "The body has less than 20 KB and is described [below](#the-body-of-a-web-hook).",
    table=WebhookTable,
    read=_read,
    test=_test,
    sender=Webhook,
)
