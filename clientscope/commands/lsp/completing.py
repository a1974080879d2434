"""Completion: the names of settings that a client has, and the words that a setting takes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from clientscope.catalog import settings as catalogue
from clientscope.catalog.configs import ClientType, Type
from clientscope.catalog.dialects.dialect import Dialect
from clientscope.catalog.setting_names import kinds_of
from clientscope.catalog.settings import Facts, Release
from clientscope.commands.lint import prefixes
from clientscope.commands.lint.findings import Read
from clientscope.commands.lsp.cursor import WrittenPart


class Offer(NamedTuple):
    """What may be written at a cursor.

    Attributes:
        text: in place of what there is of the name or value.
        about: in a few words; ``documentation`` is a sentence, or empty.
    """

    text: str
    about: str
    documentation: str = ""
    deprecated: bool = False


class _Client(NamedTuple):
    """Whose settings are at a cursor.

    Attributes:
        prefix: what stands before the client's own names; empty for none.
        written: what there is of the name, without it.
    """

    client_types: tuple[ClientType | None, ...]
    prefix: str
    written: str

    def name(self, own: str) -> str:
        """A setting's name as the file has it; variables of containers have their own spelling."""
        return self.prefix + (prefixes.variable(own) if self.prefix.endswith("_") else own)


def offers(cursor: WrittenPart, read: Read | None, dialect: Dialect, version: str) -> list[Offer]:
    """What may be written there, in the order of the names.

    Args:
        read: the rest of the file; None where it isn't a client's, or can't be read.
        version: the client library's.
    """
    client = _client(cursor, read, dialect)
    if client is None:
        return []
    release = dialect.release_of(version)
    if cursor.value is None:
        return list(_names(cursor, client, read, dialect, release))
    return list(_values(cursor.value, client, dialect, release))


def _client(cursor: WrittenPart, read: Read | None, dialect: Dialect) -> _Client | None:
    """By the prefix, as the whole name has it, or by the file; None where nothing shows that it is a client's."""
    name = cursor.parents + cursor.name
    # A prefix by itself is none yet: a letter behind it makes it one.
    if dialect.name == "java" and (within := prefixes.of(f"{name}X")):
        return _Client((within.client_type,), within.prefix, within.key[:-1])
    own = tuple(subject.client_type for subject in read.subjects if subject.prefixed is None) if read else ()
    if not own and cursor.is_yaml:
        return None  # YAML is written for everything
    return _Client(own or (None,), "", name)


def _names(cursor: WrittenPart, client: _Client, read: Read | None, dialect: Dialect, release: Release) -> Iterator[Offer]:
    there = read.settings if read else {}
    for own, facts, documentation in _known(dialect.name, client.client_types, release):
        name = client.name(own)
        # Levels of YAML above stay as they are.
        if name.startswith(cursor.parents) and name not in there:
            yield Offer(name[len(cursor.parents) :], _about(facts), documentation, facts.deprecated)


def _values(value: str, client: _Client, dialect: Dialect, release: Release) -> Iterator[Offer]:
    facts = next((facts for name, facts, _ in _known(dialect.name, client.client_types, release) if name == client.written), None)
    if facts is None:
        return
    words = [*facts.allowed.words] if facts.allowed else []
    if facts.type == Type.BOOLEAN:
        words = ["true", "false"]
    before = value[: value.rfind(",") + 1] if facts.allowed and facts.allowed.form == "list" else ""
    if facts.default and facts.default not in words:
        words.append(facts.default)
    for word in words:
        # A word with a colon stands for all that begin so.
        yield Offer(before + (word[: word.index(":") + 1] if ":" in word and facts.allowed else word), _of_default(word, facts))


@lru_cache(maxsize=64)
def _known(library_name: str, client_types: tuple[ClientType | None, ...], release: Release) -> list[tuple[str, Facts, str]]:
    """Each setting that a client of these types has in a release, what holds of it, and a sentence about it."""
    library = catalogue.libraries()[library_name]
    kinds = dict.fromkeys(kind for client_type in client_types for kind in kinds_of(client_type))
    made = []
    for name in sorted(library.names):
        setting = library.setting(name)
        facts = next((facts for kind in kinds if setting and (facts := setting.now(kind, release))), None)
        if setting and facts and not name.startswith("internal."):
            made.append((name, facts, setting.documentation))
    return made


def _about(facts: Facts) -> str:
    default = "" if facts.default is None else f", default {facts.default or 'empty'}"
    return f"{Type(facts.type).name.lower()}{default}{', deprecated' if facts.deprecated else ''}"


def _of_default(word: str, facts: Facts) -> str:
    return "default" if word == facts.default else ""
