"""A file before it is judged: its settings, the clients that they are for, and what its comments ignore.

Clients that frameworks create have only some of their settings in a file (`catalog.frameworks`), so they are judged by what is there, and
never by a default.
"""

from __future__ import annotations

import codecs
import os
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from clientscope.catalog import frameworks
from clientscope.catalog.configs import TYPES, ClientType
from clientscope.catalog.dialects import dialect as dialect_of
from clientscope.catalog.dialects.dialect import Dialect
from clientscope.catalog.setting_names import is_plugins
from clientscope.catalog.settings import libraries
from clientscope.commands.lint import LintSettings, credentials, findings, judging, places, shown
from clientscope.commands.lint.findings import Read
from clientscope.commands.lint.placed import LINE_END, Placed, Region
from clientscope.errors import SettingsError
from clientscope.settings_files import FORMATS, MAX_BYTES

_WITHIN_TEXT = {".py": "python", ".xml": "xml"}
"""Text that may have settings, and as what it is read."""


def read(name: str, content: bytes, file_format: str, settings: LintSettings) -> Read:
    """What is to be judged; of a file that isn't a client's the reason why it is skipped.

    Args:
        name: of the file, for reports.
        file_format: ``properties``, ``json``, ``yaml`` or ``text``.

    Raises:
        SettingsError: the content isn't of its format, or is too much, and has no credential either.
    """
    content = _in_utf8(content)
    try:
        if file_format in ("properties", "text") and b"\0" in content:  # JSON and YAML may be UTF-16
            raise SettingsError(  # noqa: TRY301  # what is found in its lines comes first
                f"{shown.plain(name)} is not a text file in UTF-8", "give files with settings, or logs; save it as UTF-8"
            )
        read_as = next((each for suffix, each in _WITHIN_TEXT.items() if name.endswith(suffix)), "text")
        placed = places.read(shown.plain(name), content, read_as if file_format == "text" else file_format)
        if file_format == "properties" and any(
            each.name.endswith("{") or each.name.startswith(("[[", "<")) or each.value == "{" for each in placed
        ):
            file_format = "text"  # HOCON, a pipeline of Logstash, Telegraf's TOML, the XML of an App.config
            placed = places.read(shown.plain(name), content, file_format)
    except SettingsError as error:
        if found := of_text(name, _lines(content), str(error)):
            return found
        raise
    subjects, reason = _subjects({each.name: each for each in placed}, settings, own=file_format != "text")
    if file_format == "text":
        if not subjects:
            return of_text(name, _lines(content), reason) or Read(name, skipped=f"{reason}, and no credential is in it")
        placed = [each for each in placed if each.name in _judged(subjects)]  # what else is there is searched line by line
    loose = [*credentials.subjects(_loose(placed, subjects, content))]
    if not subjects and not loose:
        return Read(name, skipped=reason)
    ignored, without = findings.read_comments(name, content, file_format)
    notes = *_repeated(placed), *_of_other_libraries(subjects, settings), *_manifests(placed), *without
    if not subjects:
        notes = (1, f"{credentials.ALONE}: {reason}"), *notes
    return Read(name, [*subjects, *loose], notes, ignored=tuple(ignored))


def _in_utf8(content: bytes) -> bytes:
    """Text with a mark of UTF-16 or UTF-32, as PowerShell's ``>`` writes it, in UTF-8."""
    for encoding, *marks in (("utf-32", codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE), ("utf-16", codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        if content.startswith(tuple(marks)):
            return content.decode(encoding, "replace").encode()
    return content


def of_text(name: str, lines: Iterable[str], why: str) -> Read | None:
    """A file of which no format explains the settings; None if it has no credential."""
    found = credentials.in_lines(lines)
    return Read(name, [*credentials.subjects(found)], ((1, f"{credentials.ALONE}: {why}"),)) if found else None


def _loose(placed: Sequence[Placed], subjects: Sequence[judging.Subject], content: bytes) -> Iterator[Placed]:
    """The credentials that are no setting of one of the clients: of other settings, and of what is none, such as comments."""
    judged = _judged(subjects)
    placed = [each for each in placed if each.name in judged or not credentials.is_text(each)]
    found = [each for each in placed if each.name not in judged and credentials.is_credential(each)]
    yield from found
    settled = {each.region for each in found}
    on_line: dict[int, list[Region]] = {}
    for each in placed:
        # What is wholly looked at; a list of objects hides nothing.
        if each.region in settled or each.name in judged or not (each.value is None or credentials.is_command(each)):
            for line in range(each.region.line, each.region.end_line + 1):
                on_line.setdefault(line, []).append(each.region)
    for each in credentials.in_lines(_lines(content)):
        if not any(_overlap(each.region, region) for region in on_line.get(each.line, ())):
            yield each


def _overlap(one: Region, other: Region) -> bool:
    return one[:2] < other[2:] and other[:2] < one[2:]


def _judged(subjects: Sequence[judging.Subject]) -> set[str]:
    """The names in the file of all settings of clients."""
    return {each.name for subject in subjects for each in subject.places.values()}


def _lines(content: bytes) -> list[str]:
    """Without NUL, which a crash leaves in a file, and UTF-16 has beside each letter."""
    return LINE_END.split(content.replace(b"\0", b"").decode("utf-8", "replace"))


def _subjects(counted: Mapping[str, Placed], settings: LintSettings, own: bool) -> tuple[list[judging.Subject], str]:
    """The clients whose settings are in a file; if there are none, the reason.

    Args:
        own: the file may be of one client, and not only have those of a framework.
    """
    values = {name: each.value for name, each in counted.items() if each.value is not None}
    version = settings.software_version
    library = settings.dialect or _library(values)
    created = [
        each for each in frameworks.clients(values) if each.framework.library == library or (not settings.dialect and library == "java")
    ]
    under_prefix = {name for each in created for name in each.names.values()}
    # What is in a list, or in a later document of YAML, is no client's own setting; nor is a template's ``{% if … %}``.
    whole = {name: counted[name] for name in values if name not in under_prefix and "[" not in name and not name.startswith("{")}
    dialect = dialect_of(library)
    reason = whose(whole, dialect) if own else "no format that is known explains its settings"
    types: tuple[ClientType | None, ...] = ()
    if not reason:
        types = (ClientType(settings.client_type),) if settings.client_type else client_types(whole, dialect)
    subjects = [judging.Subject(whole, dialect, version, each) for each in types]
    for client in created:
        inside = {key: counted[name] for key, name in client.names.items()}
        theirs = dialect_of(client.framework.library)
        subjects.append(judging.Subject(inside, theirs, version, client.client_type, complete=False, created=client))
    return subjects, reason


def _library(names: Collection[str]) -> str:
    """The library that knows the most of a file's names; Java's where that isn't most of them, or it is one of those."""
    known = {library: sum(name in each.names for name in names) for library, each in libraries().items()}
    most = max(["java", *known], key=lambda library: known[library])
    telling = sum(not is_plugins(name) for name in names)  # settings of serializers are the same beside each library's
    return most if known[most] > 1 and 2 * known[most] >= telling else "java"


def _of_other_libraries(subjects: Sequence[judging.Subject], settings: LintSettings) -> Iterator[tuple[int, str]]:
    """Which library a file's names have told."""
    for subject in subjects[:1]:
        if not settings.dialect and subject.complete and subject.dialect.name != "java":
            yield 1, f"judged as {subject.dialect.name}'s, by its names; --dialect chooses another library"


def _manifests(placed: Sequence[Placed]) -> Iterator[tuple[int, str]]:
    for each in places.secrets(placed):
        yield each.line, "a manifest of kind Secret: keep it out of Git, or encrypt it"


def _repeated(placed: Sequence[Placed]) -> Iterable[tuple[int, str]]:
    """A name that is there twice: the last one counts."""
    last = {each.name: each for each in placed}
    for each in placed:
        if each is not last[each.name] and not each.shared:
            yield each.line, f"{shown.key(each.name, each.bare)} is there again in line {last[each.name].line}, which counts"


# Choice of the files to read, and of the kind of settings that each holds.

STDIN = "-"
MOST_SEARCHED = 64 << 20
"""Bytes of a file that is searched for credentials: some ten seconds."""
SUFFIXES = {
    **FORMATS,
    ".conf": "properties",
    ".config": "properties",
    **dict.fromkeys((".toml", ".ini", ".cfg", ".env", ".tf", ".tfvars", ".xml"), "text"),
}
"""What counts in a directory, and as what it is read.  Source of programs doesn't: much in it looks like a credential."""

_LOG = re.compile(r"\.log(?:[._-]\d[\d._-]*)*(?:\.gz)?$", re.I)
"""How the name of a client's own log ends, rotated or not."""

_SOURCE = {".py", ".java", ".kt", ".scala", ".groovy", ".go", ".js", ".ts", ".cs", ".rs", ".rb", ".php", ".sh"}

_ENVIRONMENT = re.compile(r"\.env(?:\.[\w.-]+)?")
"""Compose's file of variables, and those of its stages (``.env.prod``)."""

_LEFT_OUT = {"node_modules", "__pycache__"}
"""Folders that hold other people's files; those whose name begins with a dot are left out too, and such files but for `_ENVIRONMENT`."""

_NOT_A_CLIENTS = (
    ("a broker's", {"process.roles", "broker.id", "log.dirs", "log.dir", "zookeeper.connect", "controller.quorum.voters"}),
    ("a MirrorMaker's", {"clusters"}),
    ("a connector's", {"connector.class"}),
    ("a ksqlDB server's", {"ksql.service.id"}),
    ("a cluster link's", {"link.mode"}),
    ("a REST Proxy's", {"client.bootstrap.servers", "client.sasl.jaas.config", "client.security.protocol"}),
    ("Cruise Control's", {"metric.sampler.class", "capacity.config.file"}),
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
        """The bytes in it; of a larger one a byte more than `MAX_BYTES`.

        Raises:
            SettingsError: it can't be read, or is a pipe with a name, which may never end.
        """
        if self.path is None:
            return sys.stdin.buffer.read(MAX_BYTES + 1)
        self.require_end()
        try:
            with self.path.open("rb") as file:
                return file.read(MAX_BYTES + 1)
        except OSError as error:
            raise SettingsError(f"{self.path}: {error.strerror}", "give files, directories, or - for standard input") from None

    def require_end(self) -> None:
        """
        Raises:
            SettingsError: it is a pipe with a name, or the like; a shell's ``<(…)`` is below /dev.
        """
        if not self.named or self.path is None or self.path.is_file() or not self.path.exists():
            return
        if self.path.parts[:2] != ("/", "dev"):
            raise SettingsError(f"{self.path} is no file", "give what it holds by standard input: … | clientscope lint -")

    def large(self, begins: bytes) -> Read:
        """What is too large to be a client's settings: its credentials alone, line by line.

        Raises:
            SettingsError: it is much larger, or no text and has none.
        """
        refusal = SettingsError(f"{self.shown} is larger than {MAX_BYTES} bytes", "expected: a client's settings")
        if self.path is None or self.path.stat().st_size > MOST_SEARCHED:
            raise refusal
        why = f"it is larger than {MAX_BYTES} bytes"
        with self.path.open(encoding="utf-8", errors="replace") as file:  # all may be one line
            found = of_text(self.shown, (line.rstrip("\n") for line in file), why)
        if found is None and b"\0" in begins:
            raise refusal
        return found or Read(self.shown, skipped=f"{why}, and no credential is in it")


def find(given: Iterable[str], passed_over: list[str]) -> Iterator[File]:
    """The files that are meant, each once; those of a directory in the order of their names.

    Args:
        passed_over: gets the names of logs and source files in directories.
    """
    seen: set[Path] = set()
    for text in given:
        if text == STDIN:
            yield File(None, "<stdin>", True)
            continue
        path = Path(text)
        found = ((inside, False) for inside in _within(path, passed_over)) if path.is_dir() else iter([(path, True)])
        for each, named in found:
            if (identity := each.absolute()) not in seen:
                seen.add(identity)
                yield File(each, shown_path(each), named)


def _within(folder: Path, passed_over: list[str]) -> Iterator[Path]:
    for at, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _LEFT_OUT)
        for name in sorted(names):
            path = Path(at, name)
            is_settings = not name.startswith(".") and path.suffix.lower() in SUFFIXES
            if (is_settings or _ENVIRONMENT.fullmatch(name)) and path.is_file():
                yield path
            elif _LOG.search(name) or path.suffix.lower() in _SOURCE:
                passed_over.append(name)


def shown_path(path: Path) -> str:
    """Relative to where the command runs, if it is beneath that."""
    try:
        return path.absolute().relative_to(Path.cwd()).as_posix()
    except ValueError:
        return path.as_posix()


def whose(names: Collection[str], dialect: Dialect) -> str:
    """Whose settings these are, if not a Kafka client's: a reason to leave the file alone; empty for a client's."""
    kafka_names = {dialect.kafka_name(name, client_type) for name in names for client_type in (ClientType.PRODUCER, ClientType.CONSUMER)}
    if kafka_names & set(TYPES) <= {"bootstrap.servers"} and any(name.startswith(_OF_APPLICATIONS) for name in names):
        return "an application's settings, of which only those under a prefix are a client's"
    for owner, marks in _NOT_A_CLIENTS:
        if marks & set(names):
            return f"{owner} settings"
    return "" if kafka_names & set(TYPES) - _ANYBODYS else f"no setting of a Kafka client ({dialect.name}) in it"


def client_types(names: Collection[str], dialect: Dialect) -> tuple[ClientType | None, ...]:
    """Which clients the settings are for, by those that only one kind has; a shared file is for several, and None is not known."""
    if "application.id" in names:
        return (ClientType.STREAMS,)
    if any(name.replace("_", ".").startswith(("share.acknowledgement", "share.acquire")) for name in names):
        return (ClientType.SHARE_CONSUMER,)
    return tuple(frameworks.types_shown(dialect.name, names)) or (None,)
