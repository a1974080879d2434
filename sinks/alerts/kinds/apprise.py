"""Sender through Apprise: each message in a process of its own (`apprise_process`), which is ended at its deadline."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from pydantic import Field

from clientscope.errors import SettingsError
from sinks.alerts import secret_sources
from sinks.alerts.apprise_process import AppriseMessage, AppriseReply, AppriseRequest
from sinks.alerts.apprise_urls import check_address
from sinks.alerts.message import Message, Texts
from sinks.alerts.receiver_tables import ADDRESS, MessageTable, TableReader
from sinks.alerts.receivers import Receiver, ReceiverKind
from sinks.alerts.sending import OK, SendResult

START_S = 15.0
"""For Python to start and import Apprise, beside the receiver's own time."""

_PASSED_ON = ("PATH", "LANG", "LC_ALL", "PYTHONPATH", "VIRTUAL_ENV", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "TZ")
"""Environment variables that are passed on. No proxies, which would connect for it; no HOME, where a .netrc may be; no secrets."""


class AppriseSender:
    """Sends messages to one receiver; for one thread."""

    def __init__(self, receiver: Receiver, texts: Texts) -> None:
        self._receiver = receiver
        self._texts = texts

    def __call__(self, message: Message) -> SendResult:
        """One attempt."""
        sent: AppriseMessage = {
            "title": self._texts.title(message),
            "body": self._texts.body(message),
            "status": message.plan.status,
            "severity": message.worst.severity,
        }
        return ask(self._receiver, sent)


def require_known(receiver: Receiver) -> None:
    """Raises SettingsError for an address that Apprise can't make anything of; connects to nothing."""
    result = ask(receiver, None)
    if result.outcome != "ok":
        raise SettingsError(f"receiver {receiver.name}: {result.reason}", "Apprise's documentation has the addresses of each service")


def ask(receiver: Receiver, message: AppriseMessage | None) -> SendResult:
    """Sends a message by a process of its own; None checks the address.  The address is a secret: standard input alone has it."""
    request: AppriseRequest = {
        "message": message,
        "url": receiver.urls[0],
        "timeout_s": receiver.timeout_s,
        "allow_networks": [str(network) for network in receiver.allow_networks],
    }
    environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    try:
        done = subprocess.run(
            [sys.executable, "-m", "sinks.alerts.apprise_process"],
            input=json.dumps(request).encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**environment, "HOME": "/nonexistent", "PYTHONDONTWRITEBYTECODE": "1"},
            timeout=receiver.timeout_s + START_S,
            start_new_session=True,
            check=False,
        )
        answer: AppriseReply = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        return SendResult("failed", "no answer in time")
    except (OSError, ValueError):
        return SendResult("failed", "its process ended without an answer")
    return OK if answer["ok"] else SendResult("failed", answer["reason"][:300])


class AppriseTable(MessageTable):
    """Its keys."""

    url: str | None = Field(None, description=ADDRESS)


def _read(reader: TableReader[AppriseTable]) -> Receiver:
    url = reader.table.url
    if not url:
        raise reader.error("url", "it is missing", 'url = "https://…", or "file:…" or "env:…"')
    if not secret_sources.is_source(url):
        raise reader.error("url", "Apprise's addresses hold secrets, so they don't stand here", 'url = "file:/path", or "env:NAME"')
    return reader.receiver((reader.address("url", url, check_address),))


def _test(receiver: Receiver, url: str) -> SendResult:
    text = "A test by clientscope deliver --test; nothing is wrong."
    return ask(receiver, {"title": "clientscope: a test", "body": text, "status": "firing", "severity": "info"})


KIND = ReceiverKind(
    name="apprise",
    how="**Apprise** receives title and text as plain text, and escapes it for each service. Each message has a process of its own, "
    "which is ended after `timeout_seconds` and 15 s to start.",
    table=AppriseTable,
    read=_read,
    test=_test,
    sender=AppriseSender,
    check=require_known,
)
