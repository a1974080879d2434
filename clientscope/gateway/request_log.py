"""Request log in the JSON form of Kafka's own (``kafka.request.logger``), one line per request; off by default.

Fields are Kafka's (org.apache.kafka.network.RequestConvertToJson, ``requestDescMetrics``): bodies are null, since only headers are read,
and the times that only a broker knows are left out. ``timestampMs`` is clientscope's; in Kafka's log the time comes before the JSON.

Workers report the requests that are asked for (`observed`); all lines are written here, in the main process, by one thread.
"""

from __future__ import annotations

import json
import logging
import os
import queue
import re
import sys
from collections.abc import Callable
from logging.handlers import QueueListener, RotatingFileHandler
from typing import Any, TextIO

from kafka.protocol.api_key import ApiKey

from clientscope.config import GatewaySettings
from clientscope.errors import EnvironmentProblem
from clientscope.gateway.place import GatewayPlace
from clientscope.gateway.worker.messages import Logged
from clientscope.policy.redaction import ClientNames
from clientscope.wire.codes import PUSH_CONFIG
from clientscope.wire.frames import REQUEST_HEAD

log = logging.getLogger(__name__)

QUEUE_LINES = 10_000
"""Lines that wait to be written; beyond it they are dropped, and counted."""
_OLDER_FILES = 5
_LONGEST_TEXT = 256
NAMES = {int(key): re.sub(r"(?<!^)(?=[A-Z])", "_", key.name).upper() for key in ApiKey} | {PUSH_CONFIG: "PUSH_CONFIG"}
"""Kafka's names of the api keys (ApiKeys), where kafka-python knows them."""


class RequestLog:
    """Writes the lines, in a thread of its own behind a bounded queue.

    Args:
        target: a file's path, or ``-`` for standard output.
        max_bytes: of a file, before the next one begins; five older ones are kept.
        count: called once for each dropped line, with ``request_log_dropped`` and its reason.
        names: judges what clients call themselves.

    Raises:
        EnvironmentProblem: the file can't be written.
    """

    def __init__(
        self,
        target: str,
        max_bytes: int,
        place: GatewayPlace,
        count: Callable[[str, str], None],
        names: ClientNames,
        stdout: TextIO | None = None,
    ) -> None:
        self._place = place
        self._names = names
        self._count = count
        self._queue: queue.Queue[Any] = queue.Queue(QUEUE_LINES)
        try:
            handler = logging.StreamHandler(stdout or sys.stdout) if target == "-" else _Files(target, max_bytes)
        except OSError as error:
            raise EnvironmentProblem(
                f"request-log: cannot write {target}: {error.strerror}", "choose another file, or - for stdout"
            ) from None
        self._failed = False
        handler.handleError = self._write_failed  # type: ignore[method-assign]
        self._listener = _Listener(self._queue, handler, self._text)
        self._listener.start()

    @staticmethod
    def of(settings: GatewaySettings, place: GatewayPlace, count: Callable[[str, str], None], names: ClientNames) -> RequestLog | None:
        """The log that the settings ask for; None if they don't."""
        if not settings.request_log:
            return None
        if place.tls:
            log.warning("request-log: listener %s speaks TLS, which passes untouched: there is nothing to log", place.listener_name)
            return None
        return RequestLog(settings.request_log, settings.request_log_max_bytes, place, count, names)

    def write(self, request: Logged) -> None:
        """Takes a line; returns at once, from any thread."""
        try:
            self._queue.put_nowait(request)
        except queue.Full:
            self._count("request_log_dropped", "queue_full")

    def close(self) -> None:
        """Writes what waits."""
        self._listener.stop()
        for handler in self._listener.handlers:
            handler.close()

    def _text(self, line: Logged) -> str:
        _, key, version, correlation_id = REQUEST_HEAD.unpack_from(line.head)
        who = line.identity

        def shown(field: str, name: str | None) -> str | None:
            return (named := self._names(field, name)) and named[:_LONGEST_TEXT]

        # json escapes whatever a client chose: control characters, line ends and all that isn't ASCII.
        return json.dumps(
            {
                "timestampMs": int(line.at_s * 1000),
                "isForwarded": False,
                "requestHeader": {
                    "requestApiKey": key,
                    "requestApiVersion": version,
                    "correlationId": correlation_id,
                    "clientId": shown("client_id", who.client_id),
                    "requestApiKeyName": NAMES.get(key),
                },
                "request": None,
                "response": None,
                "connection": line.connection,
                "totalTimeMs": None if line.total_ms is None else round(line.total_ms, 3),
                "securityProtocol": self._place.security_protocol,
                "principal": shown("principal", who.principal or self._place.identity.principal),
                "listener": self._place.listener_name,
                "clientInformation": {
                    "softwareName": shown("software_name", who.software_name),
                    "softwareVersion": shown("software_version", who.software_version),
                },
            },
            separators=(",", ":"),
        )

    def _write_failed(self, record: logging.LogRecord) -> None:
        self._count("request_log_dropped", "write_failed")
        if not self._failed:
            self._failed = True
            log.error("request-log: a line could not be written (%s); further ones are counted only", sys.exc_info()[1])


class _Files(RotatingFileHandler):
    """Files that only the owner and the group may read: they name clients and principals."""

    def __init__(self, path: str, max_bytes: int) -> None:
        super().__init__(path, maxBytes=max_bytes, backupCount=_OLDER_FILES, encoding="ascii")

    def _open(self) -> Any:
        return open(self.baseFilename, self.mode, encoding=self.encoding, opener=lambda path, flags: os.open(path, flags, 0o640))


class _Listener(QueueListener):
    """Makes the text in the listener's own thread."""

    def __init__(self, lines: queue.Queue[Any], handler: logging.Handler, text: Callable[[Logged], str]) -> None:
        super().__init__(lines, handler)
        self._lines = lines
        self._text = text

    def prepare(self, record: Any) -> logging.LogRecord:
        return logging.makeLogRecord({"msg": self._text(record)})

    def enqueue_sentinel(self) -> None:
        self._lines.put(None)  # waits where the queue is full; `stop` is called at the end alone
