"""``clientscope gateway``. Its settings are in `clientscope.config.processes`, since the gateway's modules read them."""

from __future__ import annotations

from collections.abc import Callable

from clientscope.commands.command import Command
from clientscope.config import GatewaySettings


def run(load: Callable[[], GatewaySettings]) -> int:
    """Runs the gateway until it is stopped; ``load`` reads its settings, and anew at SIGHUP."""
    from clientscope import core_dumps
    from clientscope.gateway import server

    core_dumps.forbid()
    server.run(load)
    return 0


COMMAND = Command(GatewaySettings, run, long_running=True, reloads=True)
