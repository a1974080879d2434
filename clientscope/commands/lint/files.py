"""Choice of the files to read, and of the kind of settings that each holds."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from clientscope.catalog.configs import TYPES, ClientType
from clientscope.catalog.dialects.dialect import Dialect
from clientscope.errors import SettingsError
from clientscope.settings_files import FORMATS, MAX_BYTES, read_bytes

STDIN = "-"
SUFFIXES = {**FORMATS, ".conf": "properties"}
"""What counts in a directory, and as what it is read."""

_LOG = re.compile(r"\.log(?:[._-]\d[\d._-]*)*(?:\.gz)?$", re.I)
"""How the name of a client's own log ends, rotated or not."""

_LEFT_OUT = {"node_modules", "__pycache__"}
"""Folders that hold other people's files; those whose name begins with a dot are left out too."""

_NOT_A_CLIENTS = (
    ("a broker's", {"process.roles", "broker.id", "log.dirs", "log.dir", "zookeeper.connect", "controller.quorum.voters"}),
    ("a MirrorMaker's", {"clusters"}),
    ("a connector's", {"connector.class"}),
    (
        "a Connect worker's",
        {
            "key.converter",
            "value.converter",
            "offset.storage.topic",
            "offset.storage.file.filename",
            "config.storage.topic",
            "config.storage.replication.factor",
            "offset.storage.replication.factor",
            "status.storage.replication.factor",
        },
    ),
)

_OF_APPLICATIONS = ("spring.", "quarkus.", "micronaut.", "mp.messaging.", "logging.level.")
"""Names beside which a plain ``bootstrap.servers`` is the application's own."""

_ANYBODYS = {"retries"}
"""Names that don't show that a file is a Kafka client's."""

# Beside those that `Dialect.defaults` tell apart: settings that have no default.
_OF_PRODUCERS = {"transactional.id", "key.serializer", "value.serializer", "partitioner.class"}
_OF_CONSUMERS = {"group.id", "group.instance.id", "key.deserializer", "value.deserializer", "client.rack"}


@dataclass(frozen=True)
class File:
    """One to read.

    Attributes:
        path: None for the standard input.
        named: a person named it, rather than the folder that it was found in.
    """

    path: Path | None
    shown: str
    named: bool

    def format(self, given: str) -> str:
        """What it is.

        Raises:
            SettingsError: its suffix doesn't show it, and it isn't set.
        """
        if given and self.named:
            return given
        if self.path is None:
            return "properties"
        if known := SUFFIXES.get(self.path.suffix.lower()):
            return known
        if _LOG.search(self.path.name):
            return "log"
        raise SettingsError(f"{self.shown}: unknown format", "set --format to properties, json, yaml or log")

    def content(self) -> bytes:
        """The bytes in it.

        Raises:
            SettingsError: it can't be read, or is too large to be a client's settings.
        """
        if self.path is not None:
            try:
                return read_bytes(self.path)
            except SettingsError as error:
                raise SettingsError(str(error), "give files, directories, or - for standard input") from None
        content = sys.stdin.buffer.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise SettingsError(f"{self.shown} is larger than {MAX_BYTES} bytes", "expected: a client's settings")
        return content


def find(given: Iterable[str]) -> Iterator[File]:
    """The files that are meant, each once; those of a directory in the order of their names."""
    seen: set[Path] = set()
    for text in given:
        if text == STDIN:
            yield File(None, "<stdin>", True)
            continue
        path = Path(text)
        found = ((inside, False) for inside in _within(path)) if path.is_dir() else iter([(path, True)])
        for each, named in found:
            if (identity := each.absolute()) not in seen:
                seen.add(identity)
                yield File(each, shown_path(each), named)


def _within(folder: Path) -> Iterator[Path]:
    for at, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _LEFT_OUT)
        for name in sorted(names):
            path = Path(at, name)
            if not name.startswith(".") and path.suffix.lower() in SUFFIXES and path.is_file():
                yield path


def shown_path(path: Path) -> str:
    """Relative to where the command runs, if it is beneath that."""
    try:
        return path.absolute().relative_to(Path.cwd()).as_posix()
    except ValueError:
        return path.as_posix()


def whose(names: Collection[str], dialect: Dialect) -> str:
    """Whose settings these are, if not a Kafka client's: a reason to leave the file alone; empty for a client's."""
    kafka_names = {dialect.kafka_name(name, client_type) for name in names for client_type in (ClientType.PRODUCER, ClientType.CONSUMER)}
    if "}" in names:
        return "it looks like HOCON, not like a properties file"
    if kafka_names & set(TYPES) <= {"bootstrap.servers"} and any(name.startswith(_OF_APPLICATIONS) for name in names):
        return "an application's settings, of which only those under a prefix are a client's"
    for owner, marks in _NOT_A_CLIENTS:
        if marks & set(names):
            return f"{owner} settings"
    return "" if kafka_names & set(TYPES) - _ANYBODYS else f"no setting of a Kafka client ({dialect.name}) in it"


def client_types(names: Collection[str], dialect: Dialect) -> tuple[ClientType | None, ...]:
    """Which clients the settings are for, by those that only one kind has; a shared file is for several, and None is not known."""
    if "application.id" in {dialect.kafka_name(name, ClientType.STREAMS) for name in names}:
        return (ClientType.STREAMS,)
    found = [
        client_type
        for client_type in (ClientType.PRODUCER, ClientType.CONSUMER)
        if {dialect.kafka_name(name, client_type) for name in names} & _only(dialect, client_type)
    ]
    if any(name.replace("_", ".").startswith(("share.acknowledgement", "share.acquire")) for name in names):
        return (ClientType.SHARE_CONSUMER,)
    return tuple(found) or (None,)


def _only(dialect: Dialect, client_type: ClientType) -> set[str]:
    """Kafka's names of what, of producers and consumers, only this one has."""
    other = ClientType.CONSUMER if client_type is ClientType.PRODUCER else ClientType.PRODUCER
    own = _OF_PRODUCERS if client_type is ClientType.PRODUCER else _OF_CONSUMERS
    return own | (set(dialect.defaults.get(client_type, {})) - set(dialect.defaults.get(other, {})))
