"""``clientscope serve``. Its settings are in `clientscope.config.processes`, since the page's modules read them."""

from __future__ import annotations

from clientscope.commands.command import Command
from clientscope.config import ServeSettings


def run(settings: ServeSettings) -> int:
    """Serves the page until it is stopped."""
    from clientscope import core_dumps
    from sinks.dashboard import server

    core_dumps.forbid()
    server.run(settings)
    return 0


COMMAND = Command(ServeSettings, run, long_running=True)
