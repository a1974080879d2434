"""The command ``clientscope checkpoints verify``."""

from __future__ import annotations

from clientscope.commands.command import Command
from clientscope.config import Settings
from clientscope.config.base import CheckpointDir


class CheckpointsVerifySettings(Settings):
    """Checks that checkpoints are complete and undamaged; needs no broker."""

    section = "checkpoints"
    subcommand = "verify"
    checkpoint_dir: CheckpointDir


def run(settings: CheckpointsVerifySettings) -> int:
    """Prints a line for each problem; 1 if there is one."""
    from streaming.checkpoints import lock
    from streaming.checkpoints.verify import unknown_formats, verify

    for unknown in unknown_formats(settings.checkpoint_dir):
        print(f"{unknown}; what is in it was not verified")
    found = verify(settings.checkpoint_dir)
    for problem in found:
        print(f"{problem.query}: {problem.what}; {problem.hint}")
    if found and (running := lock.holder(settings.checkpoint_dir)):
        print(f"{running} is writing here; verify again, or stop it first")
    if not found:
        print("all checkpoints are whole")
    return 1 if found else 0


COMMAND = Command(CheckpointsVerifySettings, run)
