"""The command ``clientscope checkpoints backup``."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field

from clientscope.commands.command import Command
from clientscope.config import Settings
from clientscope.config.base import CheckpointDir
from clientscope.config.option import Option
from clientscope.stores.store_path import AnyPath, any_path


class CheckpointsBackupSettings(Settings):
    """Copies all checkpoints while no job runs, and verifies the copy."""

    section = "checkpoints"
    subcommand = "backup"
    checkpoint_dir: CheckpointDir
    dir: Annotated[AnyPath, BeforeValidator(any_path), Option(positional=True)] = Field(description="destination: a new or empty directory")


def run(settings: CheckpointsBackupSettings) -> int:
    """Copies all checkpoints.

    Raises:
        ClientscopeError: a job runs, the destination is unusable, or the copy is damaged.
    """
    from clientscope.commands.checkpoints.table import size
    from clientscope.errors import ClientscopeError
    from clientscope.stores.trees import size_bytes
    from streaming.checkpoints.backup import backup

    found = backup(settings.checkpoint_dir, settings.dir)
    for problem in found:
        print(f"{problem.query}: {problem.what}; {problem.hint}")
    if found:
        raise ClientscopeError(f"{settings.dir} is as damaged as its original", "see above; an older backup may be whole")
    print(f"{settings.dir}: {size(size_bytes(settings.dir))}, verified")
    return 0


COMMAND = Command(CheckpointsBackupSettings, run)
