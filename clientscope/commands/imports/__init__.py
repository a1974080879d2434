"""The command ``clientscope import client-logs``.

- `layouts`: a line of a log → its process and its text.
- `java_logs`, `librdkafka_logs`: texts → the settings that a client logged.
- `log_files`: files, read by lines of a bounded length.
- `importing`: each client judged by the rules, as ``clientscope lint`` judges a file.
"""

from __future__ import annotations

from clientscope.commands.command import CommandGroup
from clientscope.commands.imports import client_logs

COMMAND = CommandGroup(
    "import",
    "Reads what clients left elsewhere: the settings in their own logs.",
    (client_logs.COMMAND,),
)
