"""The commands ``clientscope deliver run | dead list | dead replay``."""

from __future__ import annotations

from clientscope.commands.command import CommandGroup
from clientscope.commands.deliver import dead_list, dead_replay
from clientscope.commands.deliver import run as running

COMMAND = CommandGroup(
    "deliver",
    "Delivers findings to Alertmanager, webhooks, Slack, mail and others (the default), and repeats deliveries that were given up.",
    (
        running.COMMAND,
        CommandGroup(
            "dead", "Lists messages whose delivery was given up, and delivers them again.", (dead_list.COMMAND, dead_replay.COMMAND)
        ),
    ),
    status="Exit status: 0 done; 1 not done, or a receiver rejected its --test; 2 wrong use.",
    alone="run",
)
