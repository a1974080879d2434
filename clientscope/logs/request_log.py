"""The lines of a broker's log → the requests that its request logger (``kafka.request.logger`` at DEBUG) wrote, in any format.

Kafka 2.8 and later write a JSON object (KAFKA-10525; Kafka's ``RequestConvertToJson.requestDescMetrics``), earlier releases text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from json import JSONDecoder
from typing import Any, NamedTuple

from clientscope.catalog.releases import api_key
from clientscope.logs.client_logs import texts
from clientscope.logs.files import MAX_LINE
from clientscope.wire.request_fields import MOST_CHARACTERS


class LoggedRequest(NamedTuple):
    """One line of ``kafka.request.logger``, as far as it is used.

    Attributes:
        logged_at: the line's date and time as written, without a zone and with a space between them; empty where the line has none.
        connection: Kafka's connection id, unique within a broker.
        address: the client's IP address.
        principal: as the broker names it, such as ``User:alice``.
        software_name: KIP-511's name; empty where the line doesn't have it.
        software_version: KIP-511's version; empty where the line doesn't have it.
        fields: allow-listed fields of the request's body, by Kafka's names in JSON.  Nothing else of the body is kept.
    """

    api_key: int
    api_version: int
    logged_at: str
    client_id: str
    connection: str
    address: str
    principal: str
    software_name: str
    software_version: str
    fields: Mapping[str, str]


FIELDS: Mapping[int, tuple[str, ...]] = {
    0: ("transactionalId", "acks", "timeoutMs"),
    1: ("replicaId", "maxWaitMs", "minBytes", "maxBytes", "isolationLevel", "rackId", "partitionMaxBytes"),
    3: ("allowAutoTopicCreation",),
    11: ("groupId", "sessionTimeoutMs", "rebalanceTimeoutMs", "groupInstanceId", "protocolType", "protocols"),
    12: ("groupId",),
    18: ("clientSoftwareName", "clientSoftwareVersion"),
    22: ("transactionalId", "transactionTimeoutMs"),
    24: ("transactions", "transactionalId"),
    25: ("transactionalId",),
    26: ("transactionalId",),
    68: ("groupId", "instanceId", "rackId", "rebalanceTimeoutMs", "serverAssignor"),
}
"""Api key → the fields that are read.  A request log can have passwords, salts and tokens of others (SASL, SCRAM, delegation tokens)."""

BETWEEN_IDS = "\0"
"""Between the transactional ids of a request that a broker sends on behalf of several producers."""
_MOST_IDS = 100


def address_of(connection: str) -> str:
    """The client's address in a connection id ``LOCAL:PORT-REMOTE:PORT-INDEX``, or empty; an IPv6 address has no brackets there."""
    remote = connection.partition("-")[2]
    return remote.partition("-")[0].rpartition(":")[0]


def cut(text: object) -> str:
    """A value as text, at most `MOST_CHARACTERS` long."""
    return text[:MOST_CHARACTERS] if isinstance(text, str) else str(text)[:MOST_CHARACTERS]


_decode = JSONDecoder().raw_decode


def read_json(text: str, start: int, logged_at: str) -> LoggedRequest | None:
    """The request whose object begins at ``start``; None for what isn't one."""
    try:
        line, _ = _decode(text, start)
        header = line["requestHeader"]
        client = line.get("clientInformation") or {}
        connection = cut(line["connection"])
        api_key = int(header["requestApiKey"])
        return LoggedRequest(
            api_key,
            int(header["requestApiVersion"]),
            logged_at,
            cut(header.get("clientId") or ""),
            connection,
            address_of(connection),
            cut(line["principal"]),
            cut(client.get("softwareName") or ""),
            cut(client.get("softwareVersion") or ""),
            json_fields(api_key, line.get("request") or {}),
        )
    except (ValueError, OverflowError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
        return None


def json_fields(api_key: int, request: Mapping[str, Any]) -> Mapping[str, str]:
    """The allow-listed fields of a request's body, whose names are Kafka's in JSON."""
    names = FIELDS.get(api_key)
    if names is None or not request:  # it came before the level was raised
        return {}
    found = {}
    for name in names:
        if name == "protocols":
            value: Any = ",".join(protocol["name"] for protocol in request[name][:20])
        elif name == "partitionMaxBytes":
            value = next((each[name] for topic in request["topics"][:1] for each in topic["partitions"][:1]), None)
        elif name == "transactions":  # a broker's (KIP-890), for which each id counts whole
            found["transactionalId"] = BETWEEN_IDS.join(
                cut(each["transactionalId"]) for each in request.get(name, ())[:_MOST_IDS] if not each.get("verifyOnly")
            )
            continue
        elif name == "transactionalId":
            value = request.get(name, request.get("v3AndBelowTransactionalId"))
        elif name == "replicaId":  # from version 15 of Fetch on in a structure of its own (KIP-903)
            value = request.get(name, (request.get("replicaState") or {}).get(name))
        else:
            value = request.get(name)
        if value is not None:
            found[name] = str(value).lower() if isinstance(value, bool) else cut(value)
    return found


_NAME = r"[^,{}=\[\]()]*"
_TEXT_BEGIN = re.compile(r"RequestHeader\(apiKey=([A-Z_]+), apiVersion=(\d{1,5}), clientId=(.*?), correlationId=-?\d+\) -- (?=\{)")
_FROM = " from connection "
_CONNECTION = re.compile(r"(\S+);totalTime:")
_SECURITY = re.compile(r",securityProtocol:[A-Z_]+,principal:")
_LISTENER = re.compile(
    r",listener:[^,:\s]+"
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
    11: (
        rf"\{{group_id=(?P<groupId>{_NAME}),session_timeout_ms=(?P<sessionTimeoutMs>\d+),(?:rebalance_timeout_ms=(?P<rebalanceTimeoutMs>\d+),)?"
        rf"member_id={_NAME},(?:group_instance_id=(?P<groupInstanceId>{_NAME}),)?protocol_type=(?P<protocolType>{_NAME}),",
    ),
    12: (rf"\{{group_id=(?P<groupId>{_NAME}),generation_id=",),
    18: (rf"\{{client_software_name=(?P<clientSoftwareName>{_NAME}),client_software_version=(?P<clientSoftwareVersion>{_NAME})[,}}]",),
    22: (rf"\{{transactional_id=(?P<transactionalId>{_NAME}),transaction_timeout_ms=(?P<transactionTimeoutMs>\d+)",),
    **dict.fromkeys((24, 25, 26), (rf"\{{transactional_id=(?P<transactionalId>{_NAME}),producer_id=",)),
}
_COMPILED = {key: tuple(re.compile(each) for each in expressions) for key, expressions in _BODIES.items()}
_PROTOCOL = re.compile(rf"\{{name=({_NAME}),metadata=")
_MOST_HELD = 1_000
"""Requests behind a broken line that wait for its end; more than a client's names of 32 KiB can have."""


@lru_cache(maxsize=256)
def _key_of(constant: str) -> int | None:
    """Of a constant of Kafka's ``ApiKeys``: INIT_PRODUCER_ID for InitProducerId."""
    return api_key(constant.replace("_", ""))


class _End(NamedTuple):
    """What stands behind the bodies of request and response, which begins at ``start``."""

    start: int
    connection: str
    principal: str
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
    return _End(start, connection[1], principal, listener[1] or "", listener[2] or "")


def _request(text: str, start: int, end: _End, logged_at: str) -> LoggedRequest | None:
    begin = _TEXT_BEGIN.match(text, start)
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


_BEGIN = "Completed request:"
_FORWARDED = '{"isForwarded":true'
"""A request that a broker passed on to the controller (KIP-590): the broker that the client sent it to logs it too."""
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d")


def is_of_request(line: str) -> bool:
    """Whether a line is of the request logger."""
    return _BEGIN in line


class RequestLogReader:
    """Reads one broker's log.

    Kafka 2.4 to 2.7 write text, from 2.5 on with the client's software (KIP-511), and client.id and other names that a client chose as they
    came, with separators and line ends.  So a line of text counts only where it can be read in one way, and a client whose names have line
    ends can't make lines of others: what follows the beginning of a broken line is held until it is known where that line ends.

    Attributes:
        lines: that were read, of any logger.
        requests: that could be read.
        unreadable: lines of the request logger that are cut, of an unknown format, can be read in several ways, or stand where another's
            line is broken.
    """

    def __init__(self) -> None:
        self.lines = self.requests = self.unreadable = 0
        self._all_at_info = True
        self._broken = self._holding = False
        self._held: list[LoggedRequest] = []

    @property
    def at_info(self) -> bool:
        """Whether all requests so far were logged at INFO, as brokers log those of removed versions alone (KAFKA-18272)."""
        return self.requests > 0 and self._all_at_info

    def read(self, lines: Iterable[str]) -> Iterator[LoggedRequest]:
        """The requests in these lines, in their order; may be called again with the lines that follow.

        Args:
            lines: without their ends.
        """
        for line in lines:
            self.lines += 1
            if not is_of_request(line):
                if "from connection" in line:
                    for text in texts(line):
                        self._rest(text.line)
                continue
            self._all_at_info &= "INFO" in line[: line.find(_BEGIN)]
            yield from self._of(line)

    def end(self) -> Iterator[LoggedRequest]:
        """Gives what was held, once the log has ended."""
        yield from self._held
        self._held.clear()
        self._holding = False

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
            if is_json := text.line.startswith("{", start):
                request = read_json(text.line, start, logged_at) if len(line) < MAX_LINE else None
            else:
                request = self._of_text(text.line, start, logged_at)
            if request is None:
                self.unreadable += 1
                continue
            self.requests += 1
            if is_json or not self._holding:
                yield request
                continue
            self._held.append(request)
            if len(self._held) >= _MOST_HELD:
                yield from self.end()

    def _of_text(self, text: str, start: int, logged_at: str) -> LoggedRequest | None:
        """The request of a line that has its beginning at ``start``; None where that, or one before it, is broken."""
        end = _end(text)
        if end is None:
            self._broken = self._holding = True
        return None if end is None or self._broken else _request(text, start, end, logged_at)

    def _rest(self, text: str) -> None:
        """Takes a line without a beginning: where it has the end of a request, a broken line ends here, and all before was inside it."""
        if (self._broken or self._holding) and _end(text):
            self._broken = False
            self.unreadable += len(self._held)
            self.requests -= len(self._held)
            self._held.clear()
