"""A file before it is judged: its settings, the clients that they are for, their library's version, and what its comments ignore."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from clientscope.catalog.configs import ClientType
from clientscope.catalog.dialects.dialect import Dialect
from clientscope.catalog.settings import libraries
from clientscope.commands.lint import comments, files, judging, places, prefixes, shown
from clientscope.commands.lint.findings import FileReport, Read
from clientscope.commands.lint.located import Placed
from clientscope.commands.lint.settings import FileSettings


def read(name: str, content: bytes, file_format: str, settings: FileSettings, dialect: Dialect) -> Read | FileReport:
    """What is to be judged; the report of a file that isn't a client's, with the reason.

    Args:
        name: of the file, for reports.
        file_format: ``properties``, ``json`` or ``yaml``.

    Raises:
        SettingsError: the content isn't of its format, or is too much.
    """
    placed = places.read(shown.plain(name), content, file_format)
    counted = {each.name: each for each in placed}
    subjects, reason = _subjects(counted, settings, dialect)
    if not subjects:
        return FileReport(name, skipped=reason)
    ignored, without = comments.read(content, file_format)
    notes = *_repeated(placed), *_of_springs_own(counted), *_of_other_library(counted, subjects, dialect), *without
    return Read(name, counted, subjects, notes, principal=settings.principal or None, ignored=tuple(ignored))


def _subjects(counted: Mapping[str, Placed], settings: FileSettings, dialect: Dialect) -> tuple[tuple[judging.Subject, ...], str]:
    """The clients whose settings are in a file; if there are none, the reason."""
    values = {name: each.value for name, each in counted.items() if each.value is not None}
    principal, version = settings.principal or None, settings.software_version
    groups = prefixes.groups(values) if dialect.name == "java" else []
    under_prefix = {name for group in groups for name in group.names.values()}
    # What is in a list, or in a later document of YAML, is no client's own setting; nor is a template's ``{% if … %}``.
    own = {name: value for name, value in values.items() if name not in under_prefix and "[" not in name and not name.startswith("{")}
    reason = files.whose(own, dialect)
    types: tuple[ClientType | None, ...] = ()
    if not reason:
        types = (ClientType(settings.client_type),) if settings.client_type else files.client_types(own, dialect)
    elif not groups and prefixes.springs_own(own):
        reason = f"{prefixes.springs_own(own)[0]} {prefixes.NOT_JUDGED}"
    subjects = [judging.Subject(own, dialect, version, each, principal) for each in types]
    for group in groups:
        inside = {kafka_name: values[name] for kafka_name, name in group.names.items()}
        subjects.append(judging.Subject(inside, dialect, version, group.client_type, principal, group.names))
    return tuple(subjects), reason


def _of_springs_own(counted: Mapping[str, Placed]) -> Iterable[tuple[int, str]]:
    for name in prefixes.springs_own(counted)[:1]:
        yield counted[name].line, f"{shown.key(name)} {prefixes.NOT_JUDGED}"


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
