"""A file before it is judged: its settings, the clients that they are for, and what its comments ignore.

Settings under a prefix are of clients that Kafka Connect, Kafka Streams, Spring Boot, Quarkus or Micronaut create. They are only a part of
a client's settings: the framework has defaults of its own, and adds settings from elsewhere. So such a client is judged by what is there,
and never by a default.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

from clientscope.catalog.configs import TYPES, ClientType
from clientscope.catalog.dialects.dialect import Dialect
from clientscope.catalog.settings import libraries
from clientscope.commands.lint import FileSettings, credentials, findings, judging, places, shown
from clientscope.commands.lint.findings import FileReport, Read
from clientscope.commands.lint.places import Placed
from clientscope.errors import SettingsError
from clientscope.settings_files import FORMATS, MAX_BYTES, read_bytes

_PRODUCER, _CONSUMER, _ADMIN, _STREAMS = ClientType.PRODUCER, ClientType.CONSUMER, ClientType.ADMIN, ClientType.STREAMS

_KINDS = {"producer": _PRODUCER, "consumer": _CONSUMER, "admin": _ADMIN}
_STRIMZI = (
    r"(?:(?:spec\.)?config\.|spec\.(?:clusters\[\d+\]|target|mirrors\[\d+\]\.source)\.config\."
    r"|spec\.mirrors\[\d+\]\.(?:source|heartbeat|checkpoint)Connector\.config\.(?:(?:source|target)\.)?)"
)
"""Up to the kind of client: MirrorMaker's connectors have clients at both of their clusters."""

_PREFIXES: tuple[tuple[str, ClientType], ...] = (
    # Connect: of a connector (KIP-458); of its workers, as in Kafka Streams.
    (r"producer\.override\.", _PRODUCER),
    (r"consumer\.override\.", _CONSUMER),
    (r"admin\.override\.", _ADMIN),
    (r"(?:main|restore|global)\.consumer\.", _CONSUMER),
    (r"producer\.", _PRODUCER),
    (r"consumer\.", _CONSUMER),
    (r"admin\.", _ADMIN),
    (r"spring\.kafka\.producer\.properties\.", _PRODUCER),
    (r"spring\.kafka\.consumer\.properties\.", _CONSUMER),
    (r"spring\.kafka\.admin\.properties\.", _ADMIN),
    (r"spring\.kafka\.streams\.properties\.", _STREAMS),
    # Quarkus and SmallRye: a channel's, perhaps after a profile.
    (r"(?:%[\w-]+\.)?mp\.messaging\.outgoing\.[\w-]+\.", _PRODUCER),
    (r"(?:%[\w-]+\.)?mp\.messaging\.incoming\.[\w-]+\.", _CONSUMER),
    (r"(?:%[\w-]+\.)?kafka-streams\.", _STREAMS),
    # Micronaut: a client's, by its name.
    (r"kafka\.producers\.[\w-]+\.", _PRODUCER),
    (r"kafka\.consumers\.[\w-]+\.", _CONSUMER),
    (r"kafka\.streams\.[\w-]+\.", _STREAMS),
    # Strimzi's KafkaConnect, KafkaConnector and KafkaMirrorMaker2, and a connector as Connect's REST API takes it.
    *((rf"{_STRIMZI}{kind}\.(?:override\.)?", client_type) for kind, client_type in _KINDS.items()),
    # Strimzi's KafkaBridge.
    (r"spec\.producer\.config\.", _PRODUCER),
    (r"spec\.consumer\.config\.", _CONSUMER),
)
_DOCUMENT = r"(?:\[\d+\]\.)?"
"""Before a name of a later document of YAML."""
_ANY = tuple((re.compile(rf"({_DOCUMENT}{prefix})(.+)"), client_type) for prefix, client_type in _PREFIXES)
_OF_APPLICATIONS_TOO = re.compile(
    rf"{_DOCUMENT}(?:(?:(?:main|restore|global|config|spec\.config)\.)?(?:producer|consumer|admin)\."
    r"|(?:%[\w-]+\.)?(?:mp\.messaging|kafka-streams)\..*|kafka\.(?:producers|consumers|streams)\..*)"
)
"""Prefixes of applications' and frameworks' own names, too: what is below is a client's where one of Kafka's settings is among it."""
_VARIABLE = re.compile(
    r"((?:[\w\[\]-]+\.)*(?:CONNECT_(PRODUCER|CONSUMER|ADMIN)|SPRING_KAFKA_(PRODUCER|CONSUMER|ADMIN|STREAMS)_PROPERTIES)_)([A-Z][A-Z0-9_]*)"
)
"""A variable of a container of Connect or of a Spring Boot application, also among those of Compose or of a Helm chart; ``_`` stands for a
dot."""
_KAFKAS_VARIABLE = re.compile(r"((?:[\w\[\]-]+\.)*)KAFKA_([A-Z][A-Z0-9_]*)")
_OF_BROKERS = frozenset({
    "ADVERTISED_LISTENERS", "BROKER_ID", "CONTROLLER_LISTENER_NAMES", "CONTROLLER_QUORUM_VOTERS", "INTER_BROKER_LISTENER_NAME",
    "LISTENERS", "LOG_DIRS", "NODE_ID", "PROCESS_ROLES", "ZOOKEEPER_CONNECT",
})  # fmt: skip
"""Variables, behind ``KAFKA_``, that only a broker's container has."""
_OTHERWISE_USED = frozenset({"batch.size"})
"""Names that applications' own variables have for something else, such as a number of records."""
_MOST_CLUSTERS = 100
_SPRINGS_COMMON = "spring.kafka.properties."
_COMMON = re.compile(rf"({_DOCUMENT})spring\.kafka\.properties\.(.+)")
_SPRINGS_OWN = re.compile(_DOCUMENT + r"spring\.kafka\.(?:(?!properties\.)[\w-]+\.)*(?!properties\.)[\w-]+")

NOT_JUDGED = "is under a name of Spring Boot's own, and isn't judged: only spring.kafka.producer.properties.… and its like are"


@dataclass(frozen=True)
class PrefixGroup:
    """The settings under one prefix.

    Attributes:
        names: Kafka's name → the name in the file.
    """

    client_type: ClientType
    names: Mapping[str, str]


class Prefixed(NamedTuple):
    """A name with a prefix; ``key`` is Kafka's name, or what is in its place."""

    prefix: str
    client_type: ClientType
    key: str


def of(name: str) -> Prefixed | None:
    """What a prefix says of a name; None where it has none that selects a client."""
    if variable := _VARIABLE.fullmatch(name):
        kind = ClientType((variable[2] or variable[3]).lower())
        return Prefixed(variable[1], kind, variable[4].lower().replace("_", "."))
    for pattern, client_type in _ANY:
        if match := pattern.fullmatch(name):
            return Prefixed(match[1], client_type, _unbracketed(match[2]))
    return None


def prefix_groups(names: Mapping[str, object]) -> list[PrefixGroup]:
    """One for each prefix of a Kafka client's settings, in the file's order; Spring's common ones are in each of Spring's."""
    found: dict[tuple[str, ClientType], dict[str, str]] = {}
    for name in names:
        if within := of(name):
            found.setdefault((within.prefix, within.client_type), {})[within.key] = name
    mirrors = _mirrored(names.get("clusters"))
    for name in names if mirrors else ():
        if mirrors and (match := mirrors.fullmatch(name)):
            found.setdefault((match[1], _KINDS[match[2]]), {})[match[3]] = name
    for document, common in _springs_common(names).items():
        of_spring = [key for key in found if key[0].startswith(f"{document}spring.")]
        for key in of_spring:
            found[key] = {**common, **found[key]}
        if not of_spring:
            found[f"{document}{_SPRINGS_COMMON}", _ADMIN] = common
    made = [
        PrefixGroup(client_type, own)
        for (prefix, client_type), own in found.items()
        if own.keys() & TYPES.keys() or not _OF_APPLICATIONS_TOO.fullmatch(prefix)
    ]
    return [*made, *_of_containers(names)]


def _mirrored(clusters: object) -> re.Pattern[str] | None:
    """Names of clients in a MirrorMaker's properties, by its ``clusters``: ``A.producer.acks``, ``A->B.consumer.fetch.min.bytes``."""
    aliases = [re.escape(alias.strip()) for alias in clusters.split(",")[:_MOST_CLUSTERS]] if isinstance(clusters, str) else []
    one = "|".join(filter(None, aliases))
    return re.compile(rf"((?:{one})(?:->(?:{one}))?\.(producer|consumer|admin)\.)(.+)") if one else None


def _springs_common(names: Mapping[str, object]) -> dict[str, dict[str, str]]:
    """Document → Kafka's name → the name in the file."""
    found: dict[str, dict[str, str]] = {}
    for name in names:
        if match := _COMMON.fullmatch(name):
            found.setdefault(match[1], {})[_unbracketed(match[2])] = name
    return found


def _unbracketed(key: str) -> str:
    """Spring's ``[linger.ms]`` is one name of a map."""
    return key[1:-1] if key.startswith("[") and key.endswith("]") else key


def _of_containers(names: Mapping[str, object]) -> list[PrefixGroup]:
    """Variables such as ``KAFKA_MAX_POLL_RECORDS``, each container's for the kinds of client that have them, and not a broker's.

    An application gives such variables what names it likes, so only those are read that are exactly a setting's.
    """
    containers: dict[str, dict[str, str]] = {}
    for name in names:
        if match := _KAFKAS_VARIABLE.fullmatch(name):
            containers.setdefault(match[1], {})[match[2]] = name
    made = []
    for variables in containers.values():
        if _OF_BROKERS & variables.keys() or any(variable.startswith("CFG_") for variable in variables):
            continue
        keys = {variable.lower().replace("_", "."): name for variable, name in variables.items()}
        own = {key: name for key, name in keys.items() if key in TYPES and key not in _OTHERWISE_USED}
        kinds = [kind for kind in (_PRODUCER, _CONSUMER) if any(_kinds(key) == {kind} for key in own)]
        for kind in kinds or [_ADMIN]:
            if there := {key: name for key, name in own.items() if kind in _kinds(key)}:
                made.append(PrefixGroup(kind, there))
    return made


@cache
def _kinds(key: str) -> frozenset[ClientType]:
    """Of producers, consumers and admin clients, those that have the setting."""
    setting = libraries()["java"].setting(key)
    return frozenset(kind for kind in _KINDS.values() if setting and kind.value in setting.kinds)


def springs_own(names: Mapping[str, object]) -> list[str]:
    """Names in Spring Boot's own spelling of a setting, such as ``spring.kafka.producer.batch-size``."""
    return [name for name in names if _SPRINGS_OWN.fullmatch(name) and ".properties." not in name]


def read(name: str, content: bytes, file_format: str, settings: FileSettings, dialect: Dialect) -> Read | FileReport:
    """What is to be judged; the report of a file that isn't a client's, with the reason.

    Args:
        name: of the file, for reports.
        file_format: ``properties``, ``json``, ``yaml`` or ``text``.

    Raises:
        SettingsError: the content isn't of its format, or is too much, and has no credential either.
    """
    principal = settings.principal or None
    if file_format == "text":
        return _of_text(name, content, dialect, principal, "no format that is known explains its settings") or FileReport(
            name, skipped="no format that is known explains its settings, and no credential is in it"
        )
    try:
        placed = places.read(shown.plain(name), content, file_format)
    except SettingsError as error:
        if found := _of_text(name, content, dialect, principal, str(error)):
            return found
        raise
    counted = {each.name: each for each in placed}
    subjects, reason = _subjects(counted, settings, dialect)
    loose, of_loose = credentials.subjects(_loose(placed, subjects, content), dialect, principal)
    if not subjects and not of_loose:
        return FileReport(name, skipped=reason)
    ignored, without = findings.read_comments(content, file_format)
    notes = *_repeated(placed), *_of_springs_own(counted), *_of_other_library(counted, subjects, dialect), *without
    if not subjects:
        notes = (1, f"{credentials.ALONE}: {reason}"), *notes
    return Read(name, counted | loose, (*subjects, *of_loose), notes, principal=principal, ignored=tuple(ignored))


def _of_text(name: str, content: bytes, dialect: Dialect, principal: str | None, why: str) -> Read | None:
    """A file of which no format explains the settings; None if it has no credential.

    Raises:
        SettingsError: it is no text.
    """
    if b"\0" in content:
        raise SettingsError(f"{shown.plain(name)} is not a text file", "give files with settings, or logs")
    found, subjects = credentials.subjects(credentials.in_lines(_lines(content)), dialect, principal)
    return Read(name, found, subjects, ((1, f"{credentials.ALONE}: {why}"),), principal=principal) if found else None


def _loose(placed: Sequence[Placed], subjects: Sequence[judging.Subject], content: bytes) -> Iterator[Placed]:
    """The credentials that are no setting of one of the clients: of other settings, and of lines without one, such as comments."""
    judged = {name for subject in subjects for name in (subject.settings if subject.prefixed is None else subject.prefixed.values())}
    yield from (each for each in placed if each.name not in judged and credentials.is_credential(each))
    within = {line for each in placed for line in range(each.line, each.region.end_line + 1)}
    yield from (each for each in credentials.in_lines(_lines(content)) if each.line not in within)


def _lines(content: bytes) -> list[str]:
    return places.LINE_END.split(content.decode("utf-8", "replace"))


def _subjects(counted: Mapping[str, Placed], settings: FileSettings, dialect: Dialect) -> tuple[tuple[judging.Subject, ...], str]:
    """The clients whose settings are in a file; if there are none, the reason."""
    values = {name: each.value for name, each in counted.items() if each.value is not None}
    principal, version = settings.principal or None, settings.software_version
    groups = prefix_groups(values) if dialect.name == "java" else []
    under_prefix = {name for group in groups for name in group.names.values()}
    # What is in a list, or in a later document of YAML, is no client's own setting; nor is a template's ``{% if … %}``.
    own = {name: value for name, value in values.items() if name not in under_prefix and "[" not in name and not name.startswith("{")}
    reason = whose(own, dialect)
    types: tuple[ClientType | None, ...] = ()
    if not reason:
        types = (ClientType(settings.client_type),) if settings.client_type else client_types(own, dialect)
    elif not groups and springs_own(own):
        reason = f"{springs_own(own)[0]} {NOT_JUDGED}"
    subjects = [judging.Subject(own, dialect, version, each, principal) for each in types]
    for group in groups:
        inside = {kafka_name: values[name] for kafka_name, name in group.names.items()}
        subjects.append(judging.Subject(inside, dialect, version, group.client_type, principal, group.names))
    return tuple(subjects), reason


def _of_springs_own(counted: Mapping[str, Placed]) -> Iterable[tuple[int, str]]:
    for name in springs_own(counted)[:1]:
        yield counted[name].line, f"{shown.key(name)} {NOT_JUDGED}"


def _of_other_library(counted: Mapping[str, Placed], subjects: Sequence[judging.Subject], dialect: Dialect) -> Iterable[tuple[int, str]]:
    """A file whose names another library knows all, and the one that it is judged by doesn't."""
    names = {name: None for subject in subjects if subject.prefixed is None for name in subject.settings}
    unknown = [name for name in names if libraries()[dialect.name].setting(name) is None]
    for other in libraries().values() if unknown else ():
        if all(other.setting(name) is not None for name in names):
            yield counted[unknown[0]].line, f"every setting of this file is one of {other.name}: --dialect {other.name} judges it as that"
            return


def _repeated(placed: Sequence[Placed]) -> Iterable[tuple[int, str]]:
    """A name that is there twice: the last one counts."""
    last = {each.name: each for each in placed}
    for each in placed:
        if each is not last[each.name] and not each.shared:
            yield each.line, f"{shown.key(each.name)} is there again in line {last[each.name].line}, which counts"


# Choice of the files to read, and of the kind of settings that each holds.

STDIN = "-"
SUFFIXES = {**FORMATS, ".conf": "properties", **dict.fromkeys((".toml", ".ini", ".cfg", ".env", ".tf", ".tfvars"), "text")}
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
        """What it is; ``text`` where its suffix doesn't show it, and it isn't set."""
        if given and self.named:
            return given
        if self.path is None:
            return "properties"
        if known := SUFFIXES.get(self.path.suffix.lower()):
            return known
        if _LOG.search(self.path.name):
            return "log"
        return "text"

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
