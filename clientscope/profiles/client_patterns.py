"""Patterns that select clients: by principal, group, client id, and the file of the settings."""

from __future__ import annotations

from dataclasses import dataclass
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


def _one_or_several(given: object) -> object:
    return [given] if isinstance(given, str) else given


def _not_empty(patterns: tuple[str, ...]) -> tuple[str, ...]:
    if not patterns or not all(patterns):
        raise ValueError("a pattern, or a list of them, is expected, as in payments-*")
    return patterns


Patterns = Annotated[tuple[str, ...], AfterValidator(_not_empty), BeforeValidator(_one_or_several)]


class ClientPattern(BaseModel):
    """Case-sensitive patterns of `fnmatch` (``*``, ``?``, ``[seq]``); tables of a file that say which clients are meant have them.

    One matching pattern of a field is enough; if several fields have patterns, each must match.  Without any pattern, every client matches.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=False)

    principal: Patterns = ()
    group: Patterns = ()
    client_id: Patterns = ()

    def fits(self, client: PatternSubject) -> bool:
        """Whether this client is meant."""
        return _fits(self.principal, client.principal) and _fits(self.group, client.group) and _fits(self.client_id, client.client_id)

    def require_some(self, file: TomlFile, place: Place, hint: str) -> None:
        """
        Args:
            place: of the table in its file; ``hint`` says what to do if it has no pattern.

        Raises:
            SettingsError: it has none.
        """
        if self.model_fields_set.isdisjoint(FilePattern.model_fields):
            raise file.error(place, f"{named(place)} has no pattern", hint)


class FilePattern(ClientPattern):
    """The same, where a file may be meant too.  Its path is compared with ``/`` between its parts, whatever the system."""

    path: Patterns = ()

    def fits(self, client: PatternSubject) -> bool:
        """Whether this client, or this file, is meant."""
        return super().fits(client) and _fits(self.path, None if client.path is None else PurePath(client.path).as_posix())


def _fits(patterns: tuple[str, ...], value: str | None) -> bool:
    return not patterns or (value is not None and any(fnmatchcase(value, pattern) for pattern in patterns))
