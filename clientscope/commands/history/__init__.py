"""The commands ``clientscope history maintain | erase``."""

from __future__ import annotations

from clientscope.commands.command import CommandGroup
from clientscope.commands.history import erase, maintain

COMMAND = CommandGroup(
    "history",
    "Maintains the streaming job's history, which is in Delta tables, and erases a client or a principal from it.",
    (maintain.COMMAND, erase.COMMAND),
)
