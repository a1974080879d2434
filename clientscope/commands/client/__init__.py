"""The command ``clientscope client show``."""

from __future__ import annotations

from clientscope.commands.client import show
from clientscope.commands.command import CommandGroup

COMMAND = CommandGroup("client", "Shows one client, as its view on the page does.", (show.COMMAND,))
