"""The request log of Kafka 2.4 to 2.7: text, from 2.5 on with the client's software (KIP-511).

Kafka writes client.id and other names that a client chose as they came, with separators and line ends.  So a line counts only where it
can be read in one way, and a client whose names have line ends can't make lines of others: what follows the beginning of a broken line is
held until it is known where that line ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from clientscope.catalog.releases import api_key
from clientscope.logs.requests import LoggedRequest, address_of, cut

_NAME = r"[^,{}=\[\]()]*"
_BEGIN = re.compile(r"RequestHeader\(apiKey=([A-Z_]+), apiVersion=(\d{1,5}), clientId=(.*?), correlationId=-?\d+\) -- (?=\{)")
_FROM = " from connection "
_CONNECTION = re.compile(r"(\S+);totalTime:")
_SECURITY = re.compile(r",securityProtocol:([A-Z_]+),principal:")
_LISTENER = re.compile(
    r",listener:([^,:\s]+)"
    r"(?:,clientInformation:ClientInformation\(softwareName=([^,()\s]*), softwareVersion=([^,()\s]*)\))?(?: \(\S+\))?\s*"
)
_BODIES = {
    0: (rf"\{{(?:transactional_id=(?P<transactionalId>{_NAME}),)?acks=(?P<acks>-?\d+),timeout=(?P<timeoutMs>\d+)",),
    1: (
        r"\{replica_id=(?P<replicaId>-?\d+),max_wait_(?:time|ms)=(?P<maxWaitMs>\d+),min_bytes=(?P<minBytes>\d+),"
        r"(?:max_bytes=(?P<maxBytes>\d+),)?(?:isolation_level=(?P<isolationLevel>\d),)?",
        r"partition_max_bytes=(?P<partitionMaxBytes>\d+)",
        rf"\],rack_id=(?P<rackId>{_NAME})[,}}]",
    ),
    3: (r"\],allow_auto_topic_creation=(?P<allowAutoTopicCreation>true|false)",),
    8: (rf"\{{group_id=(?P<groupId>{_NAME}),generation_id=-?\d+,member_id=(?P<memberId>{_NAME}),",),
    11: (
        rf"\{{group_id=(?P<groupId>{_NAME}),session_timeout_ms=(?P<sessionTimeoutMs>\d+),(?:rebalance_timeout_ms=(?P<rebalanceTimeoutMs>\d+),)?"
        rf"member_id={_NAME},(?:group_instance_id=(?P<groupInstanceId>{_NAME}),)?protocol_type=(?P<protocolType>{_NAME}),",
    ),
    12: (rf"\{{group_id=(?P<groupId>{_NAME}),generation_id=",),
    14: (rf"\{{group_id=(?P<groupId>{_NAME}),generation_id=",),
    18: (rf"\{{client_software_name=(?P<clientSoftwareName>{_NAME}),client_software_version=(?P<clientSoftwareVersion>{_NAME})[,}}]",),
    22: (rf"\{{transactional_id=(?P<transactionalId>{_NAME}),transaction_timeout_ms=(?P<transactionTimeoutMs>\d+)",),
}
_COMPILED = {key: tuple(re.compile(each) for each in expressions) for key, expressions in _BODIES.items()}
_PROTOCOL = re.compile(rf"\{{name=({_NAME}),metadata=")
_MOST_HELD = 1_000
"""Requests behind a broken line that wait for its end; more than a client's names of 32 KiB can have."""


class TextLines:
    """Reads the lines of one log, in their order.

    Attributes:
        unreadable: lines that can be read in several ways, that are broken, or that stand where another's line is broken.
    """

    def __init__(self) -> None:
        self.unreadable = 0
        self._broken = False
        self._held: list[LoggedRequest] = []
        self._holding = False

    def read(self, text: str, start: int, logged_at: str) -> Iterator[LoggedRequest]:
        """Takes a line that has the beginning of a request at ``start``."""
        end = _end(text)
        if end is None:
            self.unreadable += 1
            self._broken = self._holding = True
            return
        if self._broken:
            self.unreadable += 1
            return
        request = _request(text, start, end, logged_at)
        if request is None:
            self.unreadable += 1
        elif self._holding:
            self._held.append(request)
            if len(self._held) >= _MOST_HELD:
                yield from self.end()
        else:
            yield request

    def rest(self, text: str) -> None:
        """Takes a line without a beginning: where it has the end of a request, a broken line ends here, and all before was inside it."""
        if (self._broken or self._holding) and _end(text):
            self._broken = False
            self.unreadable += len(self._held)
            self._held.clear()

    def end(self) -> Iterator[LoggedRequest]:
        """Gives what was held."""
        yield from self._held
        self._held.clear()
        self._holding = False


@lru_cache(maxsize=256)
def _key_of(constant: str) -> int | None:
    """Of a constant of Kafka's ``ApiKeys``: INIT_PRODUCER_ID for InitProducerId."""
    return api_key(constant.replace("_", ""))


class _End(NamedTuple):
    """What stands behind the bodies of request and response, which begins at ``start``."""

    start: int
    connection: str
    security_protocol: str
    principal: str
    listener: str
    software_name: str
    software_version: str


def _end(text: str) -> _End | None:
    """The end of a request's line, or None: the last of each part, found in time proportional to the line."""
    start = text.rfind(_FROM)
    connection = _CONNECTION.match(text, start + len(_FROM)) if start >= 0 else None
    security = _SECURITY.search(text, connection.end()) if connection else None
    listener = _LISTENER.fullmatch(text, text.rfind(",listener:")) if security else None
    if connection is None or security is None or listener is None or listener.start() < security.end():
        return None
    principal = text[security.end() : listener.start()]
    return _End(start, connection[1], security[1], principal, listener[1], listener[2] or "", listener[3] or "")


def _request(text: str, start: int, end: _End, logged_at: str) -> LoggedRequest | None:
    begin = _BEGIN.match(text, start)
    if begin is None or text.count(", correlationId=", start, end.start) != 1 or text.count(_FROM, start) != 1:
        return None
    key = _key_of(begin[1])
    if key is None:
        return None
    body = text[begin.end() : end.start].partition(",response:{")[0]
    return LoggedRequest(
        key,
        int(begin[2]),
        logged_at,
        "" if begin[3] == "null" else cut(begin[3]),
        cut(end.connection),
        address_of(end.connection),
        cut(end.principal),
        cut(end.listener),
        cut(end.security_protocol),
        cut(end.software_name),
        cut(end.software_version),
        _fields(key, body),
    )


def _fields(key: int, body: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for number, expression in enumerate(_COMPILED.get(key, ())):
        if match := expression.search(body) if number or key == 3 else expression.match(body):
            found.update((name, cut(value)) for name, value in match.groupdict().items() if value not in (None, "null"))
    if key == 11:
        found["protocols"] = ",".join(each[1] for each in _PROTOCOL.finditer(body))[:256]
    return found
