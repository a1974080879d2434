"""The commands ``clientscope import client-logs``, ``clientscope import jmx`` and ``clientscope import pcap``.

- `java_logs`, `librdkafka_logs`: texts → the settings that a client logged.
- `importing`: each client judged by the rules, as ``clientscope lint`` judges a file.
- `joining`: which live client a logged one is; `live_clients`: the live ones, by clientscope's topics; `sidecar`: ``--follow``.
- `jmx_metrics`, `jmx_rows`: brokers' metrics → connections by software, and requests by version.
- `pcap_inventory`: captured requests → the inventory of ``clientscope xray``.
"""

from __future__ import annotations

from clientscope.commands.command import CommandGroup
from clientscope.commands.imports import client_logs, jmx, pcap

COMMAND = CommandGroup(
    "import",
    "Reads what clients left elsewhere: settings in their own logs, traces in brokers' metrics, and captured traffic.",
    (client_logs.COMMAND, jmx.COMMAND, pcap.COMMAND),
)
