"""The commands ``clientscope findings list | show | who-has | close | reopen``."""

from __future__ import annotations

from clientscope.commands.command import CommandGroup
from clientscope.commands.findings import close, reopen, show, who_has
from clientscope.commands.findings import list as listing

COMMAND = CommandGroup(
    "findings",
    "Lists findings (the default), shows one, finds who pushed a secret, and records decisions about them.",
    (listing.COMMAND, show.COMMAND, who_has.COMMAND, close.COMMAND, reopen.COMMAND),
    status="Exit status: 0 done; 1 not done: nothing was decided, or Kafka has not acknowledged it; 2 wrong use.",
    alone="list",
)
