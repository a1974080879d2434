"""Parser of the settings that Java clients log below ``ProducerConfig values:`` (AbstractConfig.logAll, Kafka 0.10.2 to 4.4).

The message counts, not the logger: it is ``…producer.ProducerConfig`` up to 4.3, and ``…config.AbstractConfig`` since.  A message has all
settings of the release, sorted by name; passwords are ``[hidden]``.  ``Kafka version`` (AppInfoParser) follows it.

Workers of Kafka Connect and their connectors log theirs likewise, and the clients that they and Kafka Streams create log theirs as any
client does.  Other messages of this form, as of converters, tasks and ``WorkerInfo``, end the ones before them and aren't read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from clientscope.catalog.configs import TYPES, ClientType, Type
from clientscope.catalog.dialects.java import JAVA
from clientscope.catalog.logged_values import wrongly_logged
from clientscope.logs.layouts import LoggedLine, origin
from clientscope.logs.logged_client import MAX_VALUE, LoggedClient, LoggedSetting, setting_of

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
_VERSION = re.compile(r"\bKafka (?:Streams )?version ?: (\d[0-9A-Za-z.+-]{0,63})")
_LAST = {ClientType.PRODUCER: "value.serializer", ClientType.CONSUMER: "value.deserializer"}
"""The last setting by name in every release: a message that ends before it was cut."""
_MOST_OPEN = 100
"""Messages that have begun; of more processes that interleave, the oldest is taken as it is."""
_GAP = 20
"""Lines of others between two settings."""


class _Message:
    """One that has begun.

    Attributes:
        before: what stood in its first line before the name.
        process: origin of its settings; None before the first one.
        foreign: lines since its last setting that aren't settings.
    """

    def __init__(self, fields: str, before: str, client: LoggedClient) -> None:
        self.fields, self.before, self.client = fields, before, client
        self.process: str | None = None
        self.foreign = 0
        self.last = ""

    def takes(self, text: LoggedLine, process: str) -> bool:
        """Whether a setting of this process may be its."""
        if text.process != self.fields or self.foreign > _GAP:
            return False
        return self.before.startswith(process) if self.process is None else self.process == process

    def is_of(self, text: LoggedLine, start: str) -> bool:
        """Whether a line that begins so may be of its process."""
        return text.process == self.fields and start.startswith(self.before if self.process is None else self.process)


class JavaLogs:
    """Reads the logs of Java clients."""

    def __init__(self) -> None:
        self._open: list[_Message] = []

    def read(self, number: int, text: LoggedLine) -> Iterator[LoggedClient]:
        """Takes a line, and gives clients of which no more is to come."""
        line = text.line
        if (stripped := line.rstrip()).endswith(" values:") and _NAME.fullmatch(name := stripped[:-8].rpartition(" ")[2]):
            yield from self._begin(number, text, name, stripped)
        elif self._open:
            setting = setting_of(line)
            if setting is not None and self._add(number, text, *setting):
                pass
            elif "ersion" in line and (version := _VERSION.search(line)):
                yield from self._end_with(text, origin(line), version[1])
            else:
                self._pass(text, origin(line[:1_000]))
        if text.complete:
            for message in self._open:
                message.foreign += message.fields == text.process

    def end(self) -> Iterator[LoggedClient]:
        """Gives the rest, once the log has ended."""
        while self._open:
            yield from self._finished(self._open.pop(0))

    def _begin(self, number: int, text: LoggedLine, name: str, stripped: str) -> Iterator[LoggedClient]:
        before = origin(stripped[: -8 - len(name)][:1_000])
        for message in self._open:
            if message.process is not None and message.is_of(text, before):
                message.foreign = _GAP + 1
        if name not in _CLIENTS and name not in _ROLES:
            return
        if len(self._open) >= _MOST_OPEN:
            yield from self._finished(self._open.pop(0))
        client = LoggedClient("java", _CLIENTS.get(name), number, role=_ROLES.get(name, ""))
        self._open.append(_Message(text.process, before, client))

    def _add(self, number: int, text: LoggedLine, before: str, key: str, value: str, column: int) -> bool:
        process = origin(before)
        message = next((each for each in reversed(self._open) if each.takes(text, process)), None)
        if message is None:
            return False
        message.process, message.foreign, message.last = process, 0, max(message.last, key)
        if value == "[hidden]" or (message.client.role and key == "client.id" and not value):
            pass  # a worker without a client.id has one of its own
        elif len(value) <= MAX_VALUE:
            message.client.add(key, LoggedSetting(_value(key, value), number, column))
        else:
            message.client.contradicted.add(key)
        return True

    def _pass(self, text: LoggedLine, start: str) -> None:
        for message in self._open:
            if message.process is not None and message.is_of(text, start):
                message.foreign += 1

    def _end_with(self, text: LoggedLine, start: str, version: str) -> Iterator[LoggedClient]:
        """A process has one version of Kafka's jar, so it is that of all its clients before."""
        ended = [message for message in self._open if message.is_of(text, start) and message.process is not None]
        for message in ended:
            self._open.remove(message)
            if message.client.role != _CONNECTOR:
                message.client.version = version
            message.foreign += 1
            yield from self._finished(message)

    @staticmethod
    def _finished(message: _Message) -> Iterator[LoggedClient]:
        client = message.client
        _correct(client)
        followed = message.foreign > 0 and not client.contradicted
        client.whole = followed and message.last >= (_LAST.get(client.client_type, "") if client.client_type else "")
        own = _OF_CONNECTORS if client.role == _CONNECTOR else TYPES
        if any(key in own for key in (*client.settings, *client.contradicted)):
            yield client


def _correct(client: LoggedClient) -> None:
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
