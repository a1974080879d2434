"""Commands, flags and arguments that don't exist: an error that names the nearest that does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from clientscope.commands import sources
from clientscope.commands.command import Command, CommandGroup
from clientscope.errors import SettingsError

_SHOWN = 60


def check_command(words: Sequence[str], entries: Iterable[Command | CommandGroup]) -> None:
    """Checks that a command line begins with a command, as far as it has one.

    Raises:
        SettingsError: it begins with another word.
    """
    known, before = _by_name(entries), ["clientscope"]
    for word in words:
        if word.startswith("-"):
            if len(before) > 1 or word in ("-h", "--help"):
                return
            continue  # a flag of clientscope itself
        if word not in known:
            raise SettingsError(f"{' '.join(before)} has no command {word[:_SHOWN]!r}", _hint(word, known, f"{' '.join(before)} --help"))
        entry = known[word]
        if isinstance(entry, Command):
            return
        known, before = _by_name(entry.commands), [*before, word]


def of_arguments(unknown: Sequence[str], command: Command) -> SettingsError:
    """The error about arguments that a command doesn't take."""
    first, listed = unknown[0], f"clientscope {' '.join(command.words)} --help"
    if command.settings.reads_secret:
        return SettingsError(
            "an unexpected argument, which may be a secret", "the value is read from standard input, or typed on a terminal"
        )
    if not first.startswith("-"):
        return SettingsError(f"unexpected argument {first[:_SHOWN]!r}", f"{listed} lists what the command takes")
    name = first.partition("=")[0]
    flags = {sources.flag(name, field) for name, field in command.settings.model_fields.items() if not sources.is_secret(field)}
    return SettingsError(f"unknown flag {name[:_SHOWN]}", _hint(name, flags, listed))


def _by_name(entries: Iterable[Command | CommandGroup]) -> dict[str, Command | CommandGroup]:
    return {entry.words[-1] if isinstance(entry, Command) else entry.name: entry for entry in entries}


def _hint(word: str, known: Iterable[str], listed: str) -> str:
    near = get_close_matches(word, list(known), 1)
    return f"did you mean {near[0]}? {listed} lists all" if near else f"{listed} lists all"
