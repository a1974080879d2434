"""Process that Apprise runs in, one per message: every connect is checked, whichever library makes it.

``python -m sinks.alerts.apprise_process``: a request as JSON on the standard input, the answer as JSON on the standard output.
Python's own audit events (PEP 578) come before each connect and have its address, so no name is resolved between check and use; a hook
can't be removed. Nothing else than Apprise, for one message, is in this process; its parent ends it when the time is up.
"""

from __future__ import annotations

import json
import logging
import os
import re
import signal
import socket
import sys
from collections.abc import Callable
from ipaddress import ip_address, ip_network
from typing import Any, TypedDict

from clientscope import core_dumps
from sinks.alerts.addresses import AddressRefused, Network, check

_FORBIDDEN = (
    "subprocess.Popen",
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.fork",
    "os.forkpty",
    "pty.spawn",
)
_STATUS = re.compile(r"error=(\d{3})\b")


class AppriseMessage(TypedDict):
    """A message to send; ``status`` and ``severity`` choose Apprise's kind of notification."""

    title: str
    body: str
    status: str
    severity: str


class AppriseRequest(TypedDict):
    """A request to the process.

    Attributes:
        message: None only checks the address, and connects to nothing.
    """

    url: str
    timeout_s: float
    allow_networks: list[str]
    message: AppriseMessage | None


class AppriseReply(TypedDict):
    """The process's answer; ``reason`` is empty if ``ok``."""

    ok: bool
    reason: str


class Guard:
    """The hook.  Refusals are remembered, since libraries wrap the exception or swallow it."""

    def __init__(self, allowed: list[Network]) -> None:
        self._allowed = allowed
        self.refused = ""

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event in _FORBIDDEN:
            self._refuse(f"{event} is not for receivers")
        if event not in ("socket.connect", "socket.sendto", "socket.sendmsg"):
            return
        connection, address = arguments[0], arguments[1]
        if address is None:
            return  # a datagram on a socket that was connected before
        if connection.family not in (socket.AF_INET, socket.AF_INET6):
            self._refuse("it is no address of a network")
        host = address[0] if isinstance(address, tuple) and address else ""
        try:
            check(ip_address(str(host).partition("%")[0]), self._allowed)
        except ValueError:
            self._refuse("a name was to be connected to, rather than the address that it has")
        except AddressRefused as error:
            self._refuse(str(error))

    def _refuse(self, reason: str) -> None:
        self.refused = self.refused or reason
        raise PermissionError(reason)


class _Heard(logging.Handler):
    """HTTP statuses that Apprise logs, and nothing else of what it says, which may quote secrets."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.status = ""

    def emit(self, record: logging.LogRecord) -> None:
        if found := _STATUS.search(record.getMessage()):
            self.status = f"HTTP {found[1]}"


def notify(request: AppriseRequest, guard: Callable[[], str]) -> AppriseReply:
    """Sends a message; the answer to the parent's request.

    Args:
        guard: which connection was refused, in words; empty for none.
    """
    import apprise  # noqa: PLC0415 - after the hook is there

    heard = _Heard()
    logger = logging.getLogger("apprise")
    logger.handlers = [heard]
    logger.propagate = False
    asset = apprise.AppriseAsset(
        app_id="clientscope", app_desc="clientscope", app_url="", async_mode=False, http_redirects=False, storage_mode="memory",
        image_url_mask="", image_url_logo="",
    )  # fmt: skip
    sender = apprise.Apprise(asset=asset)
    # A list, since Apprise takes commas and spaces within a text for several addresses.
    if not sender.add([request["url"]]) or len(sender) != 1:
        return {"ok": False, "reason": "it is no address that Apprise knows"}
    for service in sender:
        service.redirects = False  # whatever ?redirect= says
        service.socket_connect_timeout = service.socket_read_timeout = request["timeout_s"]
    message = request["message"]
    if message is None:
        return {"ok": True, "reason": ""}
    kinds = {"info": "info", "low": "info", "medium": "warning", "high": "failure", "critical": "failure"}
    kind = "success" if message["status"] == "ended" else kinds.get(message["severity"], "warning")
    body_format = apprise.NotifyFormat.TEXT  # so that Apprise escapes it for what each service takes
    ok = sender.notify(title=message["title"], body=message["body"], notify_type=kind, body_format=body_format)
    return {"ok": bool(ok), "reason": "" if ok else guard() or heard.status or "not delivered"}


def main() -> None:
    """Answers one request."""
    core_dumps.forbid()
    request: AppriseRequest = json.loads(sys.stdin.buffer.read())
    signal.alarm(int(request["timeout_s"]) + 30)  # should the parent be killed
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints is no answer
    guard = Guard([ip_network(network) for network in request["allow_networks"]])
    sys.addaudithook(guard)
    try:
        answer = notify(request, lambda: f"refused: {guard.refused}" if guard.refused else "")
    except Exception as error:  # its text may quote anything
        answer = {"ok": False, "reason": f"refused: {guard.refused}" if guard.refused else f"Apprise failed with {type(error).__name__}"}
    answers.write(json.dumps(answer))
    answers.flush()


if __name__ == "__main__":
    main()
