"""The commands ``clientscope history clients | starts | diff | maintain | erase``."""

from __future__ import annotations

from clientscope.commands.command import CommandGroup
from clientscope.commands.history import clients, diff, erase, maintain, starts

COMMAND = CommandGroup(
    "history",
    "Shows who was connected and what changed in a range of time, and maintains the streaming job's history, which is in Delta tables.",
    (clients.COMMAND, starts.COMMAND, diff.COMMAND, maintain.COMMAND, erase.COMMAND),
)
