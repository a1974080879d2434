"""The command ``clientscope import client-logs``.

- `java_logs`, `librdkafka_logs`: texts → the settings that a client logged.
- `importing`: each client judged by the rules, as ``clientscope lint`` judges a file.
- `joining`: which live client a logged one is; `live_clients`: the live ones, by clientscope's topics; `sidecar`: ``--follow``.
"""

from __future__ import annotations

from clientscope.commands.command import CommandGroup
from clientscope.commands.imports import client_logs

COMMAND = CommandGroup(
    "import",
    "Reads what clients left elsewhere: settings in their own logs.",
    (client_logs.COMMAND,),
)
