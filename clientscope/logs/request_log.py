"""The lines of a broker's log → the requests that its request logger (``kafka.request.logger`` at DEBUG) wrote, in any format."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from clientscope.logs import request_json
from clientscope.logs.files import MAX_LINE
from clientscope.logs.layouts import texts
from clientscope.logs.request_text import TextLines
from clientscope.logs.requests import LoggedRequest

_BEGIN = "Completed request:"
_FORWARDED = '{"isForwarded":true'
"""A request that a broker passed on to the controller (KIP-590): the broker that the client sent it to logs it too."""
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d")


class RequestLogReader:
    """Reads one broker's log.

    Attributes:
        lines: that were read, of any logger.
        requests: that could be read.
    """

    def __init__(self) -> None:
        self.lines = 0
        self.requests = 0
        self._unreadable = 0
        self._text = TextLines()

    @property
    def unreadable(self) -> int:
        """Lines of the request logger that are cut, of an unknown format, or such as a client could have made up."""
        return self._unreadable + self._text.unreadable

    def read(self, lines: Iterable[str]) -> Iterator[LoggedRequest]:
        """The requests in these lines, in their order; may be called again with the lines that follow.

        Args:
            lines: without their ends.
        """
        for line in lines:
            self.lines += 1
            if _BEGIN not in line:
                if "from connection" in line:
                    for text in texts(line):
                        self._text.rest(text.line)
                continue
            for request in self._of(line):
                self.requests += 1
                yield request

    def end(self) -> Iterator[LoggedRequest]:
        """Gives what was held, once the log has ended."""
        for request in self._text.end():
            self.requests += 1
            yield request

    def _of(self, line: str) -> Iterator[LoggedRequest]:
        for text in texts(line):
            start = text.line.find(_BEGIN)
            if start < 0:
                continue
            found = _TIME.search(line, 0, max(start, 64))
            logged_at = found[0].replace("T", " ") if found else ""
            start += len(_BEGIN)
            if text.line.startswith(_FORWARDED, start):
                continue
            if text.line.startswith("{", start):
                request = request_json.read(text.line, start, logged_at) if len(line) < MAX_LINE else None
                if request is None:
                    self._unreadable += 1
                else:
                    yield request
            else:
                yield from self._text.read(text.line, start, logged_at)
