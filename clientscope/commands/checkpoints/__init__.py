"""The commands ``clientscope checkpoints list | verify | backup | reset``; none of them starts a JVM."""

from __future__ import annotations

from clientscope.commands.checkpoints import backup, reset, verify
from clientscope.commands.checkpoints import list as listing
from clientscope.commands.command import CommandGroup

COMMAND = CommandGroup(
    "checkpoints",
    "Lists, verifies and backs up the streaming job's checkpoints, and resets a query.",
    (listing.COMMAND, verify.COMMAND, backup.COMMAND, reset.COMMAND),
)
