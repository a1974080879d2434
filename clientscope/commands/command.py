"""Entries of the registry: commands, and groups of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from clientscope.config import Settings


@dataclass(frozen=True)
class Command:
    """One command. Its name is in its settings, its help is their docstring.

    Attributes:
        settings: what it takes.
        run: gets the settings, and returns the exit status.
        long_running: a defect ends it with a traceback, since its log may be the only trace of it.
        reloads: `run` gets a function that reads the settings instead of them.
        reads_others: `run` also gets a function that reads the settings of another command, from the same environment and file.
        error_status: exit status of an error of the environment: no broker, no right. Wrong use is 2 with every command.
    """

    settings: type[Settings]
    run: Callable[..., int]
    long_running: bool = False
    reloads: bool = False
    reads_others: bool = False
    error_status: int = 1

    @property
    def words(self) -> list[str]:
        """What follows ``clientscope`` to call it."""
        return self.settings.words()


@dataclass(frozen=True)
class CommandGroup:
    """Commands below a word of their own.

    Attributes:
        text: help; status: its last line, on exit statuses.
        alone: name of the command that the group's name alone calls, if any.
    """

    name: str
    text: str
    commands: tuple[Command | CommandGroup, ...]
    status: str | None = None
    alone: str = ""
