"""Registry of all commands, in the order of ``clientscope --help``. To add one: one file beside this one, one line below."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module

from clientscope.commands.command import Command, CommandGroup

MODULES = (
    "demo",
    "doctor",
    "topics",
    "gateway",
    "connections",
    "clients",
    "client",
    "api_versions",
    "brokers",
    "push",
    "lint",
    "xray",
    "readiness",
    "stream",
    "serve",
    "broker",
    "findings",
    "deliver",
    "checkpoints",
    "history",
    "jars",
    "rules",
    "explain",
    "completion",
)
"""Modules of this package. Each has a ``COMMAND``, a `Command` or a `CommandGroup`."""


def _load(module: str) -> Command | CommandGroup:
    entry = import_module(f"{__package__}.{module}").COMMAND
    if not isinstance(entry, Command | CommandGroup):
        raise TypeError(f"{module}.COMMAND is neither a Command nor a CommandGroup")
    return entry


def flat(entries: Iterable[Command | CommandGroup]) -> Iterator[Command]:
    """All commands, those of groups included."""
    for entry in entries:
        if isinstance(entry, Command):
            yield entry
        else:
            yield from flat(entry.commands)


ENTRIES: tuple[Command | CommandGroup, ...] = tuple(map(_load, MODULES))

COMMANDS: tuple[Command, ...] = tuple(flat(ENTRIES))

if len({tuple(command.words) for command in COMMANDS}) < len(COMMANDS):
    raise ValueError("two commands have the same name")
