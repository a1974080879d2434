"""Logs → an inventory, bounded in bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from clientscope.commands.lint.shown import plain
from clientscope.commands.xray.inventory import Inventory, Place
from clientscope.commands.xray.result import LogRead
from clientscope.errors import ClientscopeError
from clientscope.logs import files
from clientscope.logs.request_log import RequestLogReader
from clientscope.report import progress

NO_REQUEST = (
    "no request in these logs: kafka.request.logger writes them at DEBUG; set it with kafka-configs.sh "
    "--entity-type broker-loggers --entity-name ID --alter --add-config kafka.request.logger=DEBUG, and back after some seconds"
)


def read_logs(paths: Iterable[Path | None], max_bytes: int) -> tuple[Inventory, list[LogRead], list[str]]:
    """Reads logs to their end, or to the limit for all of them together.

    Returns:
        the clients, what was read of each log, and errors of logs that couldn't be read.
    """
    inventory = Inventory()
    logs: list[LogRead] = []
    errors: list[str] = []
    left = max_bytes
    paths = list(paths)
    with progress.reading(paths) as read:
        for path in paths:
            name = files.shown(path)
            counted = CountedLines(files.lines(path, read), left)
            try:
                requests = read_into(inventory, name, counted)
            except ClientscopeError as error:
                errors.append(plain(f"{error}; {error.hint}", 400))
                continue
            left -= counted.size
            stopped = f"reading stopped after --max-bytes {max_bytes:,}" if counted.cut else ""
            logs.append(LogRead(name, counted.size, requests.requests, requests.unreadable, stopped))
    inventory.end()
    return inventory, logs, errors


def read_into(inventory: Inventory, name: str, lines: Iterable[str]) -> RequestLogReader:
    """Adds one log's requests; what is returned has counts."""
    log = RequestLogReader()
    for request in log.read(lines):
        inventory.add(request, Place(name, log.lines))
    for request in log.end():
        inventory.add(request, Place(name, log.lines))
    return log


class CountedLines:
    """Lines up to a limit.

    Attributes:
        size: bytes so far, about: of characters outside ASCII each counts as one.
        cut: whether the limit ended them.
    """

    def __init__(self, lines: Iterable[str], most: int) -> None:
        self._lines = lines
        self._most = most
        self.size = 0
        self.cut = False

    def __iter__(self) -> Iterator[str]:
        for line in self._lines:
            if self.size >= self._most:
                self.cut = True
                return
            self.size += len(line) + 1
            yield line
