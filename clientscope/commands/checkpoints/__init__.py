"""The commands ``clientscope checkpoints list | reset``; none of them starts a JVM."""

from __future__ import annotations

from clientscope.commands.checkpoints import list as listing
from clientscope.commands.checkpoints import reset
from clientscope.commands.command import CommandGroup

COMMAND = CommandGroup(
    "checkpoints",
    "Lists how far the streaming job's queries have read, and resets one.",
    (listing.COMMAND, reset.COMMAND),
)
