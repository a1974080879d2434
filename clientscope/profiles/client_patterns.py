"""Patterns that select clients: by principal, group, client id, and the file of the settings."""

from __future__ import annotations

from dataclasses import dataclass, fields
from fnmatch import fnmatchcase
from pathlib import PurePath
from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict

from clientscope.profiles.toml_tables import Place, TomlFile, named


@dataclass(frozen=True)
class PatternSubject:
    """What a pattern may look at; None where it isn't known, which no pattern fits."""

    principal: str | None = None
    group: str | None = None
    client_id: str | None = None
    path: str | None = None


@dataclass(frozen=True)
class ClientPattern:
    """Case-sensitive patterns of `fnmatch` (``*``, ``?``, ``[seq]``).

    One matching pattern of a field is enough; if several fields have patterns, each must match.  Without any pattern, every client matches.
    """

    principal: tuple[str, ...] = ()
    group: tuple[str, ...] = ()
    client_id: tuple[str, ...] = ()
    path: tuple[str, ...] = ()

    def fits(self, client: PatternSubject) -> bool:
        """Whether this client is meant.  A path is compared with ``/`` between its parts, whatever the system."""
        for field in fields(self):
            patterns = getattr(self, field.name)
            if not patterns:
                continue
            value = getattr(client, field.name)
            if value is None:
                return False
            if field.name == "path":
                value = PurePath(value).as_posix()
            if not any(fnmatchcase(value, pattern) for pattern in patterns):
                return False
        return True


def _one_or_several(given: object) -> object:
    return [given] if isinstance(given, str) else given


def _not_empty(patterns: tuple[str, ...]) -> tuple[str, ...]:
    if not patterns or not all(patterns):
        raise ValueError("a pattern, or a list of them, is expected, as in payments-*")
    return patterns


Patterns = Annotated[tuple[str, ...], AfterValidator(_not_empty), BeforeValidator(_one_or_several)]


class ClientPatterns(BaseModel):
    """The part of a table in a file that says which clients are meant."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=False)

    principal: Patterns = ()
    group: Patterns = ()
    client_id: Patterns = ()

    def pattern(self, file: TomlFile, place: Place, hint: str) -> ClientPattern:
        """The same, to be asked.

        Args:
            place: of the table in its file; ``hint`` says what to do if it has no pattern.

        Raises:
            SettingsError: it has none.
        """
        pattern = ClientPattern(self.principal, self.group, self.client_id, getattr(self, "path", ()))
        if pattern == ClientPattern():
            raise file.error(place, f"{named(place)} has no pattern", hint)
        return pattern


class FilePatterns(ClientPatterns):
    """The same, where a file may be meant too."""

    path: Patterns = ()
