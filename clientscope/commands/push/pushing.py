"""Implementation of ``clientscope push``: pushes the settings in a file for a client that can't push itself."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kafka.errors import KafkaConnectionError

from clientscope.catalog.configs import ClientType
from clientscope.catalog.dialects import dialect as dialect_of
from clientscope.client.own_connection import DeclaredClient
from clientscope.client.settings import push_enabled
from clientscope.commands.lint import places
from clientscope.commands.lint.shown import plain
from clientscope.commands.push import PushSettings
from clientscope.errors import EnvironmentProblem, SettingsError
from clientscope.kafka.access import KafkaAccess, require_listener
from clientscope.report.text import counted
from clientscope.settings_files import FORMATS, read_bytes


def run(settings: PushSettings) -> int:
    """Pushes what the file says, or shows it; the command's exit status.

    Raises:
        ClientscopeError: what is wrong with the settings, or why nothing was pushed.
    """
    logging.getLogger("clientscope.client").setLevel(logging.CRITICAL)  # its messages are printed here, in a line
    path = settings.properties
    if path is None:
        raise SettingsError("--properties is missing", "name the file with the client's settings, as in --properties client.properties")
    values = read(path, settings.format)
    if not push_enabled(values):
        print(f"not pushed, as {path} says enable.config.push=false")
        return 0
    software = (settings.software_name, settings.software_version)
    client = DeclaredClient(values, settings.dialect, settings.client_type, None, software, settings.allowed_keys or None)
    who = f"{client.client_type}, {' '.join(client.software)}"
    held_back = client.collected.sensitive
    if settings.dry_run:
        print(f"would be pushed as {who}:")
        for entry in client.collected.entries:
            print(f"  {entry.key} = {plain(entry.value)}{' (default)' if entry.is_default else ''}")
        for key in held_back:
            print(f"held back as sensitive: {plain(key)}")
        return 0
    connection = _connection(settings, values)
    try:
        if client.collected.entries:  # else the push is wrong use, wherever it goes
            # An application's push waits for a gateway that isn't up yet; nobody waits here.
            require_listener(connection["bootstrap_servers"])
    except KafkaConnectionError as error:
        raise EnvironmentProblem(f"not pushed: {error.args[0]}", "start the gateway, or check the addresses") from None
    instance_id = client.push(connection, settings.timeout_ms / 1000)
    ending = f"; held back as sensitive: {', '.join(map(ascii, held_back))}" if held_back else ""
    print(f"pushed {counted(len(client.collected.entries), 'setting')} of {path} ({who}, client instance {instance_id}){ending}")
    return 0


def read(path: Path, file_format: str) -> dict[str, str]:
    """A file's settings by name, levels joined by dots.

    Args:
        file_format: empty goes by the suffix.

    Raises:
        SettingsError: the format isn't known, or the content isn't of it, or it has no setting.
    """
    content, chosen = read_bytes(path), file_format or FORMATS.get(path.suffix.lower())
    if chosen is None:
        raise SettingsError(f"{path}: unknown format", "set --format to properties, json or yaml")
    placed = places.read(str(path), content, chosen)
    if tagged := next((each for each in placed if each.value and each.value.startswith("<!")), None):
        raise SettingsError(f"{path}: line {tagged.line} has a tag of YAML, which something else fills in", "give the file that it makes")
    values = {each.name: each.value for each in placed if each.value is not None}
    if not values:
        raise SettingsError(f"{path} holds no settings", "expected: names and values, such as client.id")
    return values


def _connection(settings: PushSettings, values: Mapping[str, str]) -> dict[str, Any]:
    """kafka-python's arguments, by the file's addresses and the settings in ``[kafka]``.

    Raises:
        SettingsError: there is no address; or the file's client needs to be let in, and there is nothing here to do so.
    """
    library = dialect_of(settings.dialect)
    said = {library.kafka_name(name, ClientType.ADMIN): value for name, value in values.items()}
    protocol = said.get("security.protocol", "PLAINTEXT").strip().upper()
    if protocol != "PLAINTEXT" and settings.kafka_security_protocol == "PLAINTEXT":
        raise SettingsError(
            f"{settings.properties} says security.protocol={protocol[:40]!a}, and its security settings are not used to connect",
            "set --kafka-security-protocol and what belongs to it, as in clientscope push --help",
        )
    servers = settings.bootstrap_servers or said.get("bootstrap.servers")
    if not servers:
        raise SettingsError(f"{settings.properties} has no bootstrap.servers", "set it there, or give --bootstrap-servers HOST:PORT")
    # Java and librdkafka allow a scheme in front.
    bootstrap = [re.sub(r"^\w+://", "", address.strip()) for address in servers.split(",") if address.strip()]
    return {**KafkaAccess.of(settings).client_arguments(), "bootstrap_servers": bootstrap}
