"""Layouts of log lines: the process that wrote a line, and its message.

Logs are hostile: an application logs what its users sent.  Every function takes time in proportion to the line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

_TIMESTAMP = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?: ?(?:Z|[+-]\d\d:?\d\d))?"  # ISO 8601: docker, kubectl --timestamps, CRI
    r"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d"  # syslog, journald
)
_MESSAGES = ("log", "message", "msg", "MESSAGE", "@message", "body", "textPayload")
"""Fields of a JSON object that hold the text: Docker's json-file, Logstash and ECS encoders, journalctl -o json, OpenTelemetry, GCP."""
_PROCESSES = ("_HOSTNAME", "_PID", "CONTAINER_NAME", "container_id", "container_name", "pod", "pod_name", "host", "hostname", "service")
"""Fields of a JSON object that distinguish processes."""


class LoggedLine(NamedTuple):
    """One line of what a process logged.

    Attributes:
        process: what the fields of a JSON object say of it; empty for a plain line, whose beginning may distinguish processes (`origin`).
        complete: it is the last line of a message whose end is known, as in a JSON object that has a whole message.
    """

    process: str
    line: str
    complete: bool = False


def texts(line: str) -> Iterator[LoggedLine]:
    """The lines of text in a line of a log: several where a JSON object has a whole message."""
    line = line.rstrip("\r\n")
    if not line.startswith("{"):
        yield LoggedLine("", line)
        return
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError):
        yield LoggedLine("", line)
        return
    message = next((fields[name] for name in _MESSAGES if isinstance(fields.get(name), str)), None)
    if message is None:
        return
    process = _process(fields)
    lines = message.rstrip("\r\n").split("\n")
    for number, text in enumerate(lines, 1):
        yield LoggedLine(process, text.rstrip("\r"), 1 < len(lines) == number)


def _process(fields: Mapping[str, Any]) -> str:
    kubernetes = fields.get("kubernetes")
    inner = kubernetes if isinstance(kubernetes, dict) else {}
    return "\0".join(str(source[name]) for source in (fields, inner) for name in _PROCESSES if isinstance(source.get(name), str | int))


def origin(text: str) -> str:
    """What a log's collector puts before each line, without the time: ``[pod/orders-1/app]``, ``host app[17]:``, ``orders-1  |``."""
    return " ".join(_TIMESTAMP.sub("", text).split())
