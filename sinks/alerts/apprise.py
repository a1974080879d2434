"""Sender through Apprise, which knows Slack, mail, PagerDuty and many others.

The receiver's thread waits for Apprise, with its timeouts.  What its libraries say, or raise, may quote an address and so a secret: only a
status of HTTP is taken from its log, and errors are named by their class.
"""

from __future__ import annotations

import logging
import os
import re
from contextvars import ContextVar

import apprise

from clientscope.errors import SettingsError
from sinks.alerts.message import Message, Texts
from sinks.alerts.receivers import Receiver
from sinks.alerts.sending import OK, SendResult, only_to

_STATUS = re.compile(r"error=(\d{3})\b")
_OF_SEVERITY = {"info": "info", "low": "info", "medium": "warning", "high": "failure", "critical": "failure"}
_LOGGED_BY = ("clientscope", "sinks", "kafka")


_reasons: ContextVar[list[str]] = ContextVar("reasons")
"""Statuses of HTTP that Apprise has logged for one message; it works in a thread of its own, in a copy of the caller's context."""


class _Statuses(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        if found := _STATUS.search(record.getMessage()):
            _reasons.get([]).append(f"HTTP {found[1]}")


def isolate() -> None:
    """Keeps what Apprise and its libraries log out of the process's log, and the environment's proxies and logins out of their requests."""
    logger = logging.getLogger("apprise")
    logger.handlers, logger.propagate = [_Statuses(logging.WARNING)], False
    for handler in logging.getLogger().handlers:
        handler.addFilter(lambda record: record.name.partition(".")[0] in _LOGGED_BY)
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        del os.environ[name]
    os.environ["NETRC"] = os.devnull


def require_known(receiver: Receiver) -> None:
    """Raises SettingsError for an address that Apprise can't make anything of; connects to nothing."""
    if _services(receiver) is None:
        raise SettingsError(
            f"receiver {receiver.name}: it is no address that Apprise knows", "Apprise's documentation has the addresses of each service"
        )


def send(receiver: Receiver, message: Message, texts: Texts) -> SendResult:
    """One attempt."""
    kind = "success" if message.status == "ended" else _OF_SEVERITY[message.worst.severity]
    return _notify(receiver, texts.title(message), texts.body(message), kind)


def send_test(receiver: Receiver) -> SendResult:
    """Sends a message that is marked as a test."""
    return _notify(receiver, "clientscope: a test", "A test by clientscope deliver --test; nothing is wrong.", "info")


def _notify(receiver: Receiver, title: str, body: str, kind: str) -> SendResult:
    reasons: list[str] = []
    _reasons.set(reasons)
    with only_to(receiver.allowed_hosts) as refused:
        try:
            services = _services(receiver)
            # As text, so that Apprise escapes it for what each service takes.
            sent = services is not None and services.notify(
                title=title, body=body, notify_type=kind, body_format=apprise.NotifyFormat.TEXT
            )  # fmt: skip
        except Exception as error:
            return SendResult(f"refused: {refused()}" if refused() else f"Apprise failed with {type(error).__name__}")
        if sent:
            return OK
        reasons.append(f"refused: {refused()}" if refused() else "")
        return SendResult(next((reason for reason in reversed(reasons) if reason), "not delivered"))


def _services(receiver: Receiver) -> apprise.Apprise | None:
    """The one service of its address; None if there is none."""
    asset = apprise.AppriseAsset(
        app_id="clientscope", app_desc="clientscope", app_url="", async_mode=False, http_redirects=False, storage_mode="memory",
        image_url_mask="", image_url_logo="",
    )  # fmt: skip
    services = apprise.Apprise(asset=asset)
    # A list, since Apprise takes commas and spaces within a text for several addresses.
    if not services.add([receiver.urls[0]]) or len(services) != 1:
        return None
    for service in services:
        service.redirects = False  # whatever ?redirect= says
        service.socket_connect_timeout = service.socket_read_timeout = receiver.timeout_s
    return services
