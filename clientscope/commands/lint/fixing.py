"""Corrections of settings files: names with one letter wrong, other libraries' names, and settings that repeat a default.

Only what can't change the meaning of anything else is corrected: a name that stands on its line as a whole, under which nothing else is
set. A line is taken out of properties files alone, and only where the version of the client library is known.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from clientscope.catalog.configs import ClientType
from clientscope.catalog.setting_names import NameState, apart, judge
from clientscope.commands.lint import shown
from clientscope.commands.lint.findings import Read
from clientscope.commands.lint.judging import Subject
from clientscope.commands.lint.located import Placed
from clientscope.errors import SettingsError
from udfs.rules.engine.vocabulary import SETTLED_BY

_LINES = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")


class Correction(NamedTuple):
    """One line of a file.

    Attributes:
        line: from 1.
        before, after: as the file has the line, without its end; ``after`` is None for a line that is taken out.
        safe_before, safe_after: the same as they may be shown, without a secret.
    """

    line: int
    before: str
    after: str | None
    safe_before: str
    safe_after: str | None


def corrections(read: Read, content: bytes, is_properties: bool) -> list[Correction]:
    """What can be corrected in a file.

    Args:
        content: of the file, as it was when it was read.
    """
    lines = _lines(content)
    made: dict[int, Correction] = {}
    names = {}
    for name, placed in read.settings.items():
        if instead := _instead(name, read):
            names[name] = instead
        elif is_properties and _repeats_default(placed, read.subjects) and (line := _whole(lines, placed)) is not None:
            made[placed.line] = Correction(placed.line, line, None, _safe(placed, placed.name), None)
    for name, instead in names.items():
        placed = read.settings[name]
        if instead in read.settings or [*names.values()].count(instead) > 1 or not 0 < placed.line <= len(lines):
            continue
        line = lines[placed.line - 1]
        whole = re.compile(rf"(?<![\w.-]){re.escape(name)}(?![\w.-])")
        found = [*whole.finditer(line)]
        if len(found) == 1:
            after = line[: found[0].start()] + instead + line[found[0].end() :]
            made[placed.line] = Correction(placed.line, line, after, _safe(placed, name, instead), _safe(placed, instead, name))
    return [made[line] for line in sorted(made)]


def diff(path: str, made: Iterable[Correction]) -> Iterator[str]:
    """The corrections as a unified diff without context, in which a secret is only a placeholder."""
    yield f"--- {shown.plain(path)}"
    yield f"+++ {shown.plain(path)}"
    taken = 0
    for each in made:
        kept = each.after is not None
        yield f"@@ -{each.line} +{each.line - taken - (not kept)}{'' if kept else ',0'} @@"
        yield f"-{each.safe_before}"
        if kept:
            yield f"+{each.safe_after}"
        taken += not kept


def write(path: Path, content: bytes, made: Iterable[Correction]) -> None:
    """Replaces the file at once, with its mode.

    Raises:
        SettingsError: the file has changed since it was read, or can't be written.
    """
    lines = [match[0] for match in _LINES.finditer(content.decode("latin-1"))]
    for each in made:
        end = lines[each.line - 1][len(each.before) :]
        lines[each.line - 1] = "" if each.after is None else each.after + end
    try:
        if path.read_bytes() != content:
            raise SettingsError(f"{shown.plain(str(path))} has changed since it was read", "run the command again")
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
            file.write("".join(lines).encode("latin-1"))
        Path(file.name).chmod(path.stat().st_mode & 0o7777)
        os.replace(file.name, path.resolve())  # noqa: PTH105  # through a symbolic link, which stays
    except OSError as error:
        raise SettingsError(f"{shown.plain(str(path))} can't be written: {error.strerror}") from None


def _lines(content: bytes) -> list[str]:
    """Without their ends. Bytes are read as Latin-1, which keeps each of them."""
    return [match[0].rstrip("\r\n") for match in _LINES.finditer(content.decode("latin-1"))]


def _instead(name: str, read: Read) -> str:
    """The name that is meant, for each client whose setting it is; empty where that isn't certain."""
    found = set()
    for subject in read.subjects:
        names: Mapping[str, str] = subject.prefixed or {each: each for each in subject.settings}
        for own, written in names.items():
            if written == name:
                judgement = judge(subject.dialect, subject.dialect.release_of(subject.version), subject.client_type, own)
                typo = judgement.state is NameState.UNKNOWN and apart(own, judgement.instead) == 1
                alias = judgement.state is NameState.OF_OTHER_LIBRARY and apart(own, judgement.instead) == 0
                found.add(name.removesuffix(own) + judgement.instead if judgement.instead and (typo or alias) else "")
    return found.pop() if len(found) == 1 else ""


def _repeats_default(placed: Placed, subjects: tuple[Subject, ...]) -> bool:
    """Whether the setting is what the only client of the file has by default, and no other setting depends on who set it."""
    if len(subjects) != 1 or subjects[0].prefixed is not None or placed.value is None:
        return False
    (subject,) = subjects
    client_type = subject.client_type
    if client_type is None or not subject.dialect.release_of(subject.version):
        return False
    key = subject.dialect.kafka_name(placed.name, client_type)
    value = subject.dialect.kafka_value(placed.name, key, placed.value)
    return key not in _settled(client_type) and subject.dialect.defaults_of(client_type, subject.version).get(key) == value


def _settled(client_type: ClientType) -> tuple[str, ...]:
    return (*SETTLED_BY.get(client_type, ()), "delivery.timeout.ms", "session.timeout.ms", "heartbeat.interval.ms")


def _whole(lines: list[str], placed: Placed) -> str | None:
    """The line of a setting that has no other line."""
    on_one = placed.region.line == placed.region.end_line == placed.line <= len(lines)
    return lines[placed.line - 1] if on_one else None


def _safe(placed: Placed, name: str, other: str = "") -> str:
    value = placed.value or ""
    secret = shown.is_secret(name, value) or shown.is_secret(other or name, value)
    return f"{shown.key(name)}={shown.redacted(value, 'sensitive') if secret else shown.plain(value)}"
