"""Implementation of ``clientscope push``: pushes the settings in a file for a client that can't push itself."""

from __future__ import annotations

import logging
import re
import signal
import sys
import time
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from clientscope.catalog.configs import ClientType
from clientscope.catalog.dialects import dialect as dialect_of
from clientscope.client import dry_run
from clientscope.client.connection_settings import connection_settings
from clientscope.client.push import PushOutcome, push
from clientscope.client.settings import collect_dialect, push_enabled, split_keys
from clientscope.client.settings_file import parse
from clientscope.commands.push import PushSettings
from clientscope.errors import ClientscopeError, EnvironmentProblem, SettingsError
from clientscope.settings_files import read_bytes

POLL_S = 2.0
"""How often a watched file is read.  However it is replaced, and through however many links (a mounted ConfigMap), its content counts."""
RETRY_POLLS = 30
"""After how many of them a push is tried again that failed for the network, or where no broker took it."""

_PROVIDED = re.compile(r"\$\{[^}]*:[^}]*\}")
"""What a ConfigProvider (KIP-297) would fill in, as Kafka's ConfigTransformer finds it."""
_FOR_THE_CONNECTION = ("bootstrap.servers", "client.id", "sasl.", "security.", "ssl.")


def run(settings: PushSettings, sleep: Callable[[float], None] = time.sleep) -> int:
    """Pushes once, or with ``--watch`` until it is stopped; the command's exit status.

    Raises:
        ClientscopeError: what is wrong with the settings, or why nothing was pushed.
    """
    logging.getLogger("clientscope.client").setLevel(logging.CRITICAL)  # its messages are printed here, in a line
    if settings.properties is None:
        raise SettingsError("--properties is missing", "name the file with the client's settings, as in --properties client.properties")
    command = _Command(settings, settings.properties)
    if not settings.watch:
        command.once(read_bytes(settings.properties))
        return 0
    # By default a container's first process takes no notice of it.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        while True:
            command.poll()
            sleep(POLL_S)
    except KeyboardInterrupt:
        return 0


class _Command:
    """One run: a client instance, and what a watch has to remember."""

    def __init__(self, settings: PushSettings, path: Path) -> None:
        self._settings = settings
        self._path = path
        self._dialect = dialect_of(settings.dialect)
        self._client_instance_id = uuid.uuid4()
        self._started = False
        self._before: bytes | None = None
        self._dealt_with: bytes | None = None
        self._polls_to_wait = 0
        self._said = ""

    def poll(self) -> None:
        """Pushes if the content is new.  An error is reported once, and then retried until it is over.

        A file that is still being written may look whole, so a change is taken when two readings in a row have found it.
        """
        first, self._started = not self._started, True
        self._polls_to_wait -= 1
        try:
            content = read_bytes(self._path)
            changed, self._before = content != self._before, content
            if changed and not first:
                self._polls_to_wait = 0
            elif content != self._dealt_with and self._polls_to_wait <= 0:
                self._dealt_with = content
                self.once(content)
                self._said = ""
        except ClientscopeError as error:
            if isinstance(error, EnvironmentProblem):
                self._dealt_with, self._polls_to_wait = None, RETRY_POLLS
            if str(error) != self._said:
                self._said = str(error)
                _print_error(f"error: {error}")
                if error.hint:
                    _print_error(f"hint: {error.hint}")

    def once(self, content: bytes) -> None:
        """Pushes what the file says, or shows it, and says so in a line.

        Raises:
            EnvironmentProblem: there may be a later time at which it can be pushed.
            ClientscopeError: no push is possible until something is changed.
        """
        values = parse(self._path, content, self._settings.format)
        if not push_enabled(values):
            print(f"not pushed, as {self._path} says enable.config.push=false", flush=True)
            return
        client_type = self._client_type(values)
        if client_type not in self._dialect.defaults:
            known = ", ".join(each.value for each in self._dialect.defaults)
            raise SettingsError(f"{self._dialect.name} has no {client_type.value} client", f"--client-type may be {known}")
        collected = collect_dialect(
            self._dialect.name, client_type, values, split_keys(self._settings.allowed_keys) or None, self._settings.software_version
        )
        name, version = self._settings.software_name or self._dialect.software[0], self._settings.software_version
        who = f"{client_type.value}, {name} {version}"
        if self._settings.dry_run:
            dry_run.show(who, collected)
            return
        held_back = f"; held back as sensitive: {', '.join(map(ascii, collected.sensitive))}" if collected.sensitive else ""
        if not collected.entries:
            raise ClientscopeError(f"nothing to push from {self._path}{held_back}", "--dry-run shows why")
        connection = self._connection(values)
        result = push(
            collected,
            connection,
            name,
            version,
            client_instance_id=self._client_instance_id,
            timeout_s=self._settings.timeout_ms / 1000,
        )
        match result.outcome:
            case PushOutcome.PUSHED:
                count = f"{len(collected.entries)} setting{'s' * (len(collected.entries) != 1)}"
                print(f"pushed {count} of {self._path} ({who}, client instance {result.client_instance_id}){held_back}", flush=True)
            case PushOutcome.NOT_ADVERTISED:
                raise EnvironmentProblem(
                    f"no broker here supports PushConfig: {result.detail}",
                    "bootstrap.servers must lead to a gateway: clientscope gateway, in front of each broker",
                )
            case PushOutcome.REFUSED:
                raise ClientscopeError(f"the push was refused: {result.detail}{held_back}", "--dry-run shows what is pushed")
            case _:
                raise EnvironmentProblem(f"not pushed: {result.detail}", "check the addresses and the security settings in the file")

    def _client_type(self, values: Mapping[str, Any]) -> ClientType:
        if self._settings.client_type:
            return ClientType(self._settings.client_type)
        for client_type, key in ((ClientType.STREAMS, "application.id"), (ClientType.CONSUMER, "group.id")):
            if any(self._dialect.kafka_name(name, client_type) == key for name in values):
                return client_type
        return ClientType.PRODUCER

    def _connection(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """kafka-python's arguments.

        Raises:
            ClientscopeError: there is no address, or something that can't be taken over.
        """
        keys = {setting: self._dialect.kafka_name(setting, ClientType.ADMIN) for setting in values}
        if not self._settings.bootstrap_servers and "bootstrap.servers" not in keys.values():
            raise SettingsError(f"{self._path} has no bootstrap.servers", "set it there, or give --bootstrap-servers HOST:PORT")
        for setting, value in values.items():
            if keys.get(setting, "").startswith(_FOR_THE_CONNECTION) and isinstance(value, str) and _PROVIDED.search(value):
                _print_error(f"warning: {setting!a} has a ${{…}} for one of Kafka's config providers to fill in; it is used as written")
        arguments = connection_settings(self._dialect.name, values)
        if self._settings.bootstrap_servers:
            arguments["bootstrap_servers"] = self._settings.bootstrap_servers
        return arguments


def _print_error(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
