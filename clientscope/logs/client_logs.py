"""Clients in their own logs: what Java clients, workers of Kafka Connect and librdkafka log of their settings, whatever wrote the lines.

Logs are hostile: an application logs what its users sent.  Reading a line takes time in proportion to it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from clientscope.bounded import Recent
from clientscope.catalog.configs import TYPES, ClientType, Type
from clientscope.catalog.dialects.java import JAVA
from clientscope.catalog.settings import Release

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


MAX_SETTINGS = 1_000
"""Settings of one client; Kafka Streams, which has most, logs fewer than 200."""
MAX_VALUE = 4_096
"""Characters of a value; a longer one isn't kept."""

_KEY = re.compile(r"[a-z][a-z0-9._-]{0,99}")


class LoggedSetting(NamedTuple):
    """One setting, as it was logged.

    Attributes:
        value: None for one that is not set.
        line: of the log.
        column: of the value, from 1.
    """

    value: str | None
    line: int
    column: int


@dataclass
class LoggedStart:
    """One start of a client.

    Attributes:
        dialect: name of its library's dialect.
        client_type: None for what isn't a client by itself.
        version: of the library; ``unknown`` where the log doesn't say it.
        line: where its settings begin.
        role: what it is, where it isn't a client by itself: a worker or a connector of Kafka Connect. Its defaults aren't in the catalogue.
        settings: names as written → values. Without those whose value the library hides, and without contradicted ones.
        contradicted: settings that the log has with different values: another process wrote between the lines, or a value has a line end.
        unused: names that the client was given and doesn't know, each with its line. Their values aren't logged.
        whole: all that was logged is here, so what isn't here has its default.
    """

    dialect: str
    client_type: ClientType | None
    line: int
    version: str = "unknown"
    role: str = ""
    settings: dict[str, LoggedSetting] = field(default_factory=dict)
    contradicted: set[str] = field(default_factory=set)
    unused: dict[str, int] = field(default_factory=dict)
    whole: bool = False

    def add(self, key: str, setting: LoggedSetting) -> None:
        """Takes a setting; of a contradiction nothing is known."""
        before = self.settings.get(key)
        if key in self.contradicted or len(self.settings) >= MAX_SETTINGS:
            self.contradicted.add(key) if len(self.contradicted) < MAX_SETTINGS else None
        elif before is not None and before.value != setting.value:
            del self.settings[key]
            self.contradicted.add(key)
        else:
            self.settings[key] = setting


def setting_of(line: str) -> tuple[str, str, str, int] | None:
    """The text before a setting, its name, its value, and the value's column; None for a line that isn't ``name = value``."""
    at = line.find(" =")
    if at < 1 or line[at + 2 : at + 3] not in ("", " "):
        return None
    *before, key = line[:at].replace("#011", "\t").rsplit(maxsplit=1) or [""]  # syslog writes a tab as #011
    if not _KEY.fullmatch(key):
        return None
    return "".join(before), key, line[at + 3 :], at + 4


_CLIENTS = {
    "ProducerConfig": ClientType.PRODUCER,
    "ConsumerConfig": ClientType.CONSUMER,
    "ShareConsumerConfig": ClientType.SHARE_CONSUMER,
    "AdminClientConfig": ClientType.ADMIN,
    "StreamsConfig": ClientType.STREAMS,
}
_ROLES = {
    "DistributedConfig": "Connect worker",
    "StandaloneConfig": "Connect worker",
    "WorkerConfig": "Connect worker",
    "EnrichedConnectorConfig": (_CONNECTOR := "Connect connector"),
}
_OF_CONNECTORS = ("topics", "topics.regex", "topic.creation.groups")
"""A connector and its tasks log EnrichedConnectorConfig, and a connector's has one of these. It has all of SourceConnectorConfig or
SinkConnectorConfig, and the settings of its transformations."""
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_$]{0,199}")
_JAVA_VERSION = re.compile(r"\bKafka (?:Streams )?version ?: (\d[0-9A-Za-z.+-]{0,63})")
_UNUSED = re.compile(
    r"configuration '([^']{1,8192})' was supplied but isn't a known config"
    r"|configurations '\[([^\]]{1,8192})\]' were supplied but are not used"
)
"""AbstractConfig.logUnused, up to Kafka 3.2 and since."""
_LAST = {ClientType.PRODUCER: "value.serializer", ClientType.CONSUMER: "value.deserializer"}
"""The last setting by name in every release: a message that ends before it was cut."""
_MOST_JAVA_OPEN = 100
"""Messages that have begun; of more processes that interleave, the oldest is taken as it is."""
_GAP = 20
"""Lines of others between two settings."""


@dataclass
class _Message(LoggedStart):
    """A Java client's that has begun.

    Attributes:
        fields: the process by the fields of a JSON object.
        before: what stood in its first line before the name.
        process: origin of its settings; None before the first one.
        foreign: lines since its last setting that aren't settings.
        last: its last setting by name.
    """

    fields: str = ""
    before: str = ""
    process: str | None = None
    foreign: int = 0
    last: str = ""

    def takes(self, text: LoggedLine, process: str) -> bool:
        """Whether a setting of this process may be its."""
        if text.process != self.fields or self.foreign > _GAP:
            return False
        return self.before.startswith(process) if self.process is None else self.process == process

    def is_of(self, text: LoggedLine, start: str) -> bool:
        """Whether a line that begins so may be of its process, which its first setting shows."""
        return self.process is not None and text.process == self.fields and start.startswith(self.process)


class JavaLogs:
    """Reads settings that Java clients log below ``ProducerConfig values:`` (AbstractConfig.logAll, Kafka 0.10.2 to 4.4).

    The message counts, not the logger: it is ``…producer.ProducerConfig`` up to 4.3, and ``…config.AbstractConfig`` since.  A message has
    all settings of the release, sorted by name; passwords are ``[hidden]``.  ``Kafka version`` (AppInfoParser) follows it.

    Workers of Kafka Connect and their connectors log theirs likewise, and the clients that they and Kafka Streams create log theirs as any
    client does.  Other messages of this form, as of converters, tasks and ``WorkerInfo``, end the ones before them and aren't read.
    """

    def __init__(self) -> None:
        self._open: list[_Message] = []
        self._unused: dict[str, int] = {}
        """Names that clients don't know whose settings aren't in the log; of use where those of no client are."""
        self._found = False

    def read(self, number: int, text: LoggedLine) -> Iterator[LoggedStart]:
        """Takes a line, and gives clients of which no more is to come."""
        line = text.line
        if (stripped := line.rstrip()).endswith(" values:") and _NAME.fullmatch(name := stripped[:-8].rpartition(" ")[2]):
            yield from self._begin(number, text, name, stripped)
        elif self._open and (setting := setting_of(line)) is not None and self._add(number, text, *setting):
            pass
        elif self._open and "ersion" in line and (version := _JAVA_VERSION.search(line)):
            yield from self._end_with(text, origin(line), version[1])
        else:
            if "supplied but" in line and (unused := _UNUSED.search(line)):
                self._add_unused(number, text, origin(line[: unused.start()]), unused[1] or unused[2])
            self._pass(text, origin(line[:1_000]))
        if text.complete:
            for message in self._open:
                message.foreign += message.fields == text.process

    def end(self) -> Iterator[LoggedStart]:
        """Gives the rest, once the log has ended."""
        while self._open:
            yield from self._finished(self._open.pop(0))
        if self._unused and not self._found:
            yield LoggedStart("java", None, min(self._unused.values()), unused=self._unused)

    def _begin(self, number: int, text: LoggedLine, name: str, stripped: str) -> Iterator[LoggedStart]:
        before = origin(stripped[: -8 - len(name)][:1_000])
        for message in self._open:
            if message.is_of(text, before):
                message.foreign = _GAP + 1
        if name not in _CLIENTS and name not in _ROLES:
            return
        if len(self._open) >= _MOST_JAVA_OPEN:
            yield from self._finished(self._open.pop(0))
        role = _ROLES.get(name, "")
        self._open.append(_Message("java", _CLIENTS.get(name), number, role=role, fields=text.process, before=before))

    def _add(self, number: int, text: LoggedLine, before: str, key: str, value: str, column: int) -> bool:
        process = origin(before)
        message = next((each for each in reversed(self._open) if each.takes(text, process)), None)
        if message is None:
            return False
        message.process, message.foreign, message.last = process, 0, max(message.last, key)
        if value == "[hidden]" or (message.role and key == "client.id" and not value):
            pass  # a worker without a client.id has one of its own
        elif len(value) <= MAX_VALUE:
            message.add(key, LoggedSetting(_value(key, value), number, column))
        else:
            message.contradicted.add(key)
        return True

    def _add_unused(self, number: int, text: LoggedLine, start: str, names: str) -> None:
        message = next((each for each in reversed(self._open) if each.is_of(text, start)), None)
        known = self._unused if message is None else message.unused
        if len(known) < MAX_SETTINGS:
            known |= dict.fromkeys(names.split(", "), number)

    def _pass(self, text: LoggedLine, start: str) -> None:
        for message in self._open:
            if message.is_of(text, start):
                message.foreign += 1

    def _end_with(self, text: LoggedLine, start: str, version: str) -> Iterator[LoggedStart]:
        """A process has one version of Kafka's jar, so it is that of all its clients before."""
        ended = [message for message in self._open if message.is_of(text, start)]
        for message in ended:
            self._open.remove(message)
            if message.role != _CONNECTOR:
                message.version = version
            message.foreign += 1
            yield from self._finished(message)

    def _finished(self, message: _Message) -> Iterator[LoggedStart]:
        _correct(message)
        followed = message.foreign > 0 and not message.contradicted
        message.whole = followed and message.last >= (_LAST.get(message.client_type, "") if message.client_type else "")
        own = _OF_CONNECTORS if message.role == _CONNECTOR else TYPES
        if any(key in own for key in (*message.settings, *message.contradicted)):
            self._found = True
            yield message


def _correct(client: LoggedStart) -> None:
    """Replaces what the release logs before the client changes it by what the client uses; an empty client.id by nothing."""
    if client.client_type is None:
        return
    release = JAVA.release_of(client.version)
    values = {key: setting.value for key, setting in client.settings.items()}
    defaults = JAVA.defaults_of(client.client_type, client.version)
    wrong = {key for key in wrongly_logged(client.client_type, release) if key in values and values[key] == defaults.get(key, "")}
    used = {"client.id": None, **JAVA.settle(client.client_type, values, values.keys() - wrong, release)}
    for key in wrong & used.keys():
        client.settings[key] = client.settings[key]._replace(value=used[key])


def _value(key: str, text: str) -> str | None:
    """A value as a file would have it: ``[a, b]`` is a list, ``class a.b.C`` a class, and ``null`` nothing."""
    if text == "null":
        return None
    inner = text
    if TYPES.get(key) is Type.LIST or key in ("partition.assignment.strategy", "metric.reporters"):
        inner = ",".join(part.strip().removeprefix("class ") for part in text.removeprefix("[").removesuffix("]").split(","))
    return inner.removeprefix("class ") if TYPES.get(key) in (Type.CLASS, Type.LIST) else inner


_CONF_BEGIN = "Client configuration:"
_INSTANCE = re.compile(r"(?:^|[| ])([^| ]{0,512}#(producer|consumer)-\d{1,9})\|")
_VERSION = re.compile(r"\blibrdkafka v(\d[0-9A-Za-z.+-]{0,63})")
_ADDRESS = re.compile(r"0x[0-9a-f]+|\(nil\)")
_MOST_LIBRDKAFKA_OPEN = 100


class LibrdkafkaLogs:
    """Reads settings that librdkafka, and what is built on it, logs below ``Client configuration:`` with ``debug=conf``.

    It has the settings that were set, with ``[redacted]`` for secrets and addresses for callbacks (rd_kafka_anyconf_dump_dbg), so what
    isn't there has its default.
    """

    def __init__(self) -> None:
        self._open: dict[tuple[str, str], LoggedStart] = {}
        self._versions: Recent[tuple[str, str], str] = Recent(_MOST_LIBRDKAFKA_OPEN)

    def read(self, number: int, text: LoggedLine) -> Iterator[LoggedStart]:
        """Takes a line, and gives clients of which no more is to come."""
        line = text.line
        if "#producer-" not in line and "#consumer-" not in line:
            return
        found = _INSTANCE.search(line)
        if found is None:
            return
        instance = (text.process, found[1])
        body = line[found.end() :]
        if "CONF|" not in line[: found.start() + 1]:
            if version := _VERSION.search(body):
                self._versions[instance] = version[1]
            if instance in self._open:
                yield self._finished(instance, True)
        elif body.rstrip().endswith(_CONF_BEGIN):
            if instance in self._open:
                yield self._finished(instance, True)
            elif len(self._open) >= _MOST_LIBRDKAFKA_OPEN:
                yield self._finished(next(iter(self._open)), False)
            self._open[instance] = LoggedStart("librdkafka", ClientType(found[2]), number)
        elif (client := self._open.get(instance)) and (setting := setting_of(body)):
            _, key, value, column = setting
            self._add(client, key, LoggedSetting(value, number, found.end() + column))

    def end(self) -> Iterator[LoggedStart]:
        """Gives the rest, once the log has ended."""
        for instance in list(self._open):
            yield self._finished(instance, False)

    @staticmethod
    def _add(client: LoggedStart, key: str, setting: LoggedSetting) -> None:
        value = setting.value or ""
        if key == "client.software.version":
            client.version = value[:64]
        elif not key.startswith("client.software.") and value != "[redacted]" and not _ADDRESS.fullmatch(value) and len(value) <= MAX_VALUE:
            client.add(key, setting)

    def _finished(self, instance: tuple[str, str], followed: bool) -> LoggedStart:
        client = self._open.pop(instance)
        client.whole = followed and not client.contradicted
        if client.version == "unknown":
            client.version = self._versions.get(instance, "unknown")
        return client


# Settings that a Java client logs with another value than it uses, up to the release that corrects it.
#
# Read from KafkaProducer, KafkaConsumer, ProducerConfig, ConsumerConfig and KafkaAdminClient of Kafka 0.10.2 to 4.3. What a client uses
# instead, its dialect's `settle` says; of an empty client.id only that the library chooses one.


_WRONGLY_LOGGED: tuple[tuple[ClientType, Release | None, frozenset[str]], ...] = (
    (ClientType.PRODUCER, (2, 5), frozenset({"acks", "client.id", "enable.idempotence", "retries"})),  # KAFKA-8928
    (ClientType.CONSUMER, (2, 6), frozenset({"client.id"})),  # KAFKA-9344
    # The issue names it too; its correction reached the log only with ConsumerConfig.maybeOverrideEnableAutoCommit(Map).
    (ClientType.CONSUMER, (3, 7), frozenset({"enable.auto.commit"})),
    (ClientType.ADMIN, None, frozenset({"client.id"})),  # KafkaAdminClient.generateClientId
)
"""Settings that a type of client logs before it has changed them, and the first release that logs them as they are; None for none."""


def wrongly_logged(client_type: ClientType, release: Release) -> frozenset[str]:
    """Settings of which a log of this client doesn't say what is used.

    Args:
        release: empty for one that isn't known, which counts as the newest.
    """
    rows = ((corrected_in, keys) for of, corrected_in, keys in _WRONGLY_LOGGED if of is client_type)
    return frozenset().union(*(keys for corrected_in, keys in rows if corrected_in is None or () < release < corrected_in))
