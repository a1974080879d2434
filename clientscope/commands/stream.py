"""``clientscope stream``. Its settings are in `clientscope.config.processes`, since the job's modules read them."""

from __future__ import annotations

from clientscope.commands.command import Command
from clientscope.config import StreamSettings


def run(settings: StreamSettings) -> int:
    """Runs the job until it is stopped."""
    from clientscope import core_dumps
    from streaming import job

    core_dumps.forbid()
    job.run(settings)
    return 0


COMMAND = Command(StreamSettings, run, long_running=True)
