"""Parser of the settings that librdkafka logs below ``Client configuration:`` with ``debug=conf`` (rd_kafka_anyconf_dump_dbg).

It has the settings that were set, with ``[redacted]`` for secrets and addresses for callbacks, so what isn't there has its default.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from clientscope.catalog.configs import ClientType
from clientscope.logs.layouts import LoggedLine
from clientscope.logs.logged_client import MAX_VALUE, LoggedClient, LoggedSetting, setting_of

_BEGIN = "Client configuration:"
_INSTANCE = re.compile(r"(?:^|[| ])([^| ]{0,512}#(producer|consumer)-\d{1,9})\|")
_VERSION = re.compile(r"\blibrdkafka v(\d[0-9A-Za-z.+-]{0,63})")
_ADDRESS = re.compile(r"0x[0-9a-f]+|\(nil\)")
_MOST_OPEN = 100


class LibrdkafkaLogs:
    """Reads the logs of librdkafka and of what is built on it."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, str], LoggedClient] = {}
        self._versions: dict[tuple[str, str], str] = {}

    def read(self, number: int, text: LoggedLine) -> Iterator[LoggedClient]:
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
                self._note(instance, version[1])
            if instance in self._open:
                yield self._finished(instance, True)
        elif body.rstrip().endswith(_BEGIN):
            if instance in self._open:
                yield self._finished(instance, True)
            elif len(self._open) >= _MOST_OPEN:
                yield self._finished(next(iter(self._open)), False)
            self._open[instance] = LoggedClient("librdkafka", ClientType(found[2]), number)
        elif (client := self._open.get(instance)) and (setting := setting_of(body)):
            _, key, value, column = setting
            self._add(client, key, LoggedSetting(value, number, found.end() + column))

    def end(self) -> Iterator[LoggedClient]:
        """Gives the rest, once the log has ended."""
        for instance in list(self._open):
            yield self._finished(instance, False)

    def _note(self, instance: tuple[str, str], version: str) -> None:
        if len(self._versions) >= _MOST_OPEN:
            del self._versions[next(iter(self._versions))]
        self._versions[instance] = version

    @staticmethod
    def _add(client: LoggedClient, key: str, setting: LoggedSetting) -> None:
        value = setting.value or ""
        if key == "client.software.version":
            client.version = value[:64]
        elif not key.startswith("client.software.") and value != "[redacted]" and not _ADDRESS.fullmatch(value) and len(value) <= MAX_VALUE:
            client.add(key, setting)

    def _finished(self, instance: tuple[str, str], followed: bool) -> LoggedClient:
        client = self._open.pop(instance)
        client.whole = followed and not client.contradicted
        if client.version == "unknown":
            client.version = self._versions.get(instance, "unknown")
        return client
