"""The commands ``clientscope import client-logs`` and ``clientscope import jmx``.

- `java_logs`, `librdkafka_logs`: texts → the settings that a client logged.
- `importing`: each client judged by the rules, as ``clientscope lint`` judges a file.
- `joining`: which live client a logged one is; `live_clients`: the live ones, by clientscope's topics; `sidecar`: ``--follow``.
- `jmx_metrics`, `jmx_rows`: brokers' metrics → connections by software, and requests by version.
"""

from __future__ import annotations

from clientscope.commands.command import CommandGroup
from clientscope.commands.imports import client_logs, jmx

COMMAND = CommandGroup(
    "import",
    "Reads what clients left elsewhere: settings in their own logs, and traces in brokers' metrics.",
    (client_logs.COMMAND, jmx.COMMAND),
)
