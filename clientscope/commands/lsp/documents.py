"""An open document, read and judged as ``clientscope lint`` reads and judges a file."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from functools import cached_property
from pathlib import Path

from clientscope.catalog.dialects import dialect as dialect_of
from clientscope.commands.lint import files, linting, reading
from clientscope.commands.lint.findings import FileReport, Read
from clientscope.commands.lint.judging import Subject
from clientscope.commands.lint.located import LINE_END, Placed
from clientscope.commands.lsp import LspSettings
from clientscope.errors import ClientscopeError
from clientscope.settings_files import MAX_BYTES

_LANGUAGES = {"properties": "properties", "java-properties": "properties", "jproperties": "properties", "yaml": "yaml", "json": "json"}
"""What editors call the formats, for a document whose name has no suffix that says it."""


class Document:
    """One version of a document.

    Attributes:
        path: None for one that isn't a file.
        format: ``properties``, ``json`` or ``yaml``; empty for any other, which isn't looked at.
        content: as it would be on the disk.
    """

    def __init__(self, settings: LspSettings, name: str, path: Path | None, language: str, text: str) -> None:
        """
        Args:
            name: for a document that isn't a file.
            language: as the editor calls it.
        """
        self._settings = settings
        self._name = name
        self.path = path
        self.format = (files.SUFFIXES.get(path.suffix.lower()) if path else None) or _LANGUAGES.get(language, "")
        # An editor may send half of a surrogate pair.
        self.content = text.encode("utf-8", "replace")

    @property
    def too_large(self) -> bool:
        """Whether it is larger than any client's settings, and so isn't read."""
        return len(self.content) > MAX_BYTES

    @cached_property
    def lines(self) -> list[str]:
        """Without their ends."""
        return LINE_END.split(self.content.decode())

    @cached_property
    def version(self) -> str:
        """The client library's."""
        return reading.version(self.path, self._settings, dialect_of(self._settings.dialect))

    @cached_property
    def read(self) -> Read | None:
        """Its settings; None where it isn't a client's, not whole, or too large."""
        return self._readable(self.content)

    def without(self, line: int) -> Read | None:
        """The same without one line (from 0), which is being written."""
        lines = [text if number != line else "" for number, text in enumerate(self.lines)]
        return self._readable("\n".join(lines).encode())

    def report(self) -> FileReport | None:
        """What ``clientscope lint`` reports on it, run where this process runs; None where it isn't a client's.

        Raises:
            ClientscopeError: it isn't of its format, or something is wrong with the rules file or owners.toml.
        """
        if not self._is_looked_at:
            return None
        try:
            read = self._read(self.content)
        except ClientscopeError:
            if self.format == "properties":
                raise
            return None  # YAML and JSON of every kind are open in an editor, and half of it is being written
        if isinstance(read, FileReport):
            return None
        return linting.report_on([read], self._settings, today()).files[0]

    @property
    def _is_looked_at(self) -> bool:
        return bool(self.format) and not self.too_large

    def _readable(self, content: bytes) -> Read | None:
        try:
            found = self._read(content) if self._is_looked_at else None
        except ClientscopeError:
            return None
        return found if isinstance(found, Read) else None

    def _read(self, content: bytes) -> Read | FileReport:
        name = files.shown_path(self.path) if self.path else self._name
        return reading.read(reading.Content(self.path, name, content, self.format), self._settings, dialect_of(self._settings.dialect))


def today() -> date:
    """In UTC, for suppressions that end."""
    return datetime.now(UTC).date()


def owners(read: Read, name: str) -> Iterator[tuple[Subject, str]]:
    """The clients that a setting of a file is for, and their own name of it."""
    for subject in read.subjects:
        if subject.prefixed is None:
            if name in subject.settings:
                yield subject, name
        else:
            yield from ((subject, own) for own, written in subject.prefixed.items() if written == name)


def at_line(read: Read, line: int) -> Placed | None:
    """The setting whose name is on a line (from 0)."""
    return next((placed for placed in read.settings.values() if placed.line == line + 1), None)
