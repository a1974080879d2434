"""Corrections of settings files: names with one letter wrong, other libraries' names, and settings that repeat a default.

Only what can't change the meaning of anything else is corrected: a name that stands on its line as a whole, under which nothing else is
set. A line is taken out of properties files alone, and only where the version of the client library is known.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from clientscope.catalog.configs import ClientType
from clientscope.catalog.dialects import dialect
from clientscope.catalog.setting_names import NameState, apart, judge
from clientscope.commands.lint import shown
from clientscope.commands.lint.findings import Read
from clientscope.commands.lint.judging import Subject
from clientscope.commands.lint.located import MAX_LEVELS, Placed
from clientscope.commands.lint.prefixes import variable
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
    names = _meant(read)
    taken = Counter([*read.settings, *(each.whole for each in names.values())])
    for name, placed in read.settings.items():
        if not 0 < placed.line <= len(lines):
            continue
        line = lines[placed.line - 1]
        if meant := names.get(name):
            after = _renamed(line, placed, name, meant) if taken[meant.whole] == 1 else None
            if after is not None:
                made[placed.line] = Correction(placed.line, line, after, _safe(placed, name, meant.whole), _safe(placed, meant.whole, name))
        elif is_properties and placed.region.line == placed.region.end_line == placed.line and _repeats_default(placed, read.subjects):
            made[placed.line] = Correction(placed.line, line, None, _safe(placed, placed.name), None)
    return [made[line] for line in sorted(made)]


class _Meant(NamedTuple):
    """The name that is meant, and the client's own part of it, before and after."""

    whole: str
    before: str
    after: str


def _meant(read: Read) -> dict[str, _Meant]:
    """Names in the file → the one that is meant, where that is certain for each client whose setting it is."""
    found: dict[str, set[_Meant | None]] = {}
    for subject in read.subjects:
        names: Mapping[str, str] = subject.prefixed or {each: each for each in subject.settings}
        release = subject.dialect.release_of(subject.version)
        for own, name in names.items():
            judgement = judge(subject.dialect, release, subject.client_type, own)
            typo = judgement.state is NameState.UNKNOWN and apart(own, judgement.instead) <= 1
            alias = judgement.state is NameState.OF_OTHER_LIBRARY and apart(own, judgement.instead) == 0
            meant = None
            if judgement.instead and (typo or alias):
                before, after = own, judgement.instead
                if not name.endswith(own):  # a container's variable
                    before, after = variable(own), variable(judgement.instead)
                meant = _Meant(name.removesuffix(before) + after, before, after) if name.endswith(before) else None
            found.setdefault(name, set()).add(meant)
    return {name: each for name, meant in found.items() if len(meant) == 1 and (each := meant.pop()) is not None}


def _renamed(line: str, placed: Placed, name: str, meant: _Meant) -> str | None:
    """The line with the name that is meant; None where the name isn't there once as a whole, before its value."""
    own = len(name) - len(meant.before)
    levels = [at for at in range(own + 1) if at in (0, own) or name[at - 1] == "."][-MAX_LEVELS:]
    # Levels of YAML and JSON above the name may be on other lines.
    for at in levels:
        found = [*re.finditer(rf"(?<![\w.-]){re.escape(name[at:])}(?![\w.-])", line)]
        if len(found) == 1 and (placed.region.line > placed.line or found[0].end() < placed.region.column):
            return line[: found[0].start()] + name[at:own] + meant.after + line[found[0].end() :]
    return None


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
    return key not in _settled(client_type) and _defaults(subject.dialect.name, client_type, subject.version).get(key) == value


@lru_cache(maxsize=16)
def _defaults(dialect_name: str, client_type: ClientType, version: str) -> Mapping[str, str]:
    return dialect(dialect_name).defaults_of(client_type, version)


def _settled(client_type: ClientType) -> tuple[str, ...]:
    return (*SETTLED_BY.get(client_type, ()), "delivery.timeout.ms", "session.timeout.ms", "heartbeat.interval.ms")


def _safe(placed: Placed, name: str, other: str = "") -> str:
    value = placed.value or ""
    secret = shown.is_secret(name, value) or shown.is_secret(other or name, value)
    return f"{shown.key(name)}={shown.redacted(value, 'sensitive') if secret else shown.plain(value)}"
