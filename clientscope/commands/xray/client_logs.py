"""Settings in clients' own logs, for clients that xray has seen: joined by client.id (``--client-log``)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from clientscope.catalog.configs import TYPES
from clientscope.catalog.dialects import dialect as dialect_of
from clientscope.catalog.dialects import dialect_of as dialect_of_software
from clientscope.commands.lint.client_logs import clients, given
from clientscope.commands.xray.inventory import Inventory, Place
from clientscope.errors import SettingsError
from clientscope.logs import files


def join(inventory: Inventory, paths: Iterable[Path]) -> None:
    """Adds what clients were given, as their logs say it, to the seen clients of the same client.id and library.

    What a request showed counts before what a log says; of several starts in a log the last counts.  A log that is cut off within a
    client's settings says nothing of that client.

    Raises:
        SettingsError: a log can't be read, or has no client's settings.
    """
    for path in paths:
        logged = list(clients(files.lines(path)))
        if not logged:
            raise SettingsError(
                f"{path}: no client's settings in this log", "Java clients log them at INFO when they start, librdkafka's with debug=conf"
            )
        for client in reversed(logged):
            name = client.settings.get("client.id")
            if not client.whole or client.client_type is None or name is None or not name.value:
                continue
            library = dialect_of(client.dialect)
            for key, seen in inventory.clients.items():
                if key.client_id != name.value or dialect_of_software(key.software_name) not in (library, None):
                    continue
                for setting, found in given(client).items():
                    kafka_name = library.kafka_name(setting, client.client_type)
                    if kafka_name in TYPES and found.value is not None:
                        value = library.kafka_value(setting, kafka_name, found.value)
                        place = Place(files.shown(path), found.line)
                        if (client.client_type, kafka_name) not in seen.contradicted:
                            seen.settings.setdefault((client.client_type, kafka_name), (value, place))
