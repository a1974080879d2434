"""A look at a running cluster: each broker's request logger at DEBUG for some seconds, one broker after another."""

from __future__ import annotations

import secrets
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

from kafka.errors import KafkaError

from clientscope.cluster.api_versions import Cluster, ask
from clientscope.cluster.software import find_all
from clientscope.commands.lint.shown import plain
from clientscope.commands.xray import XraySettings
from clientscope.commands.xray.incidents import Place
from clientscope.commands.xray.inventory import Inventory, LogRead
from clientscope.commands.xray.raised import Connect, InUseError, Raised, Watchdog, journal_of, raised, restore, start_watchdog, state_dir
from clientscope.errors import ClientscopeError, EnvironmentProblem, SettingsError
from clientscope.kafka.access import KafkaAccess
from clientscope.kafka.admin import REQUEST_LOGGER, AdminClient, connected
from clientscope.local.process import spawn, stop
from clientscope.logs import files
from clientscope.logs.files import Followed, FollowedPipe, follow, open_logs
from clientscope.logs.request_log import RequestLogReader
from clientscope.readiness import nearest_release

_OWN_CLIENT_ID = f"clientscope-xray-{secrets.token_hex(8)}"
"""Of this run's own requests, which are no client's; a client can't guess it, and so can't hide by it."""
_GRACE_S = 1.0
"""Lines that a log collector still brings once the level is back."""
_STUCK_S = 20.0
"""How much longer than ``--seconds`` the watchdog lets a run that is stuck."""
_BYTES_PER_REQUEST = 960
"""Of Produce and Fetch in Kafka 4.4's JSON, by `make bench-xray`."""


@dataclass(frozen=True)
class Look:
    """What was seen of a cluster.

    Attributes:
        broker_release: the oldest release of its brokers; None where it can't be inferred.
    """

    inventory: Inventory
    logs: list[LogRead]
    errors: list[str]
    broker_release: str | None


def look_at(settings: XraySettings) -> Look:
    """Looks at each broker.

    Raises:
        EnvironmentProblem: no broker answers, or none lets us; another run looks at one; nobody agreed.
        SettingsError: no logs are given, or one can't be read.
    """
    if not settings.paths and not settings.command:
        raise SettingsError("where do the brokers' logs arrive?", "give PATH, or --command 'kubectl logs --follow --tail=0 kafka-{broker}'")
    access = KafkaAccess.of(settings)

    def connect() -> AdminClient:
        return connected(access, _OWN_CLIENT_ID)

    guard = start_watchdog(connect, settings.seconds + _STUCK_S)
    try:
        return _look(settings, access, connect, guard)
    finally:
        if not guard.end():
            print(f"error: {REQUEST_LOGGER} isn't back at its level yet; a process in the background tries on", file=sys.stderr)


def _look(settings: XraySettings, access: KafkaAccess, connect: Connect, guard: Watchdog) -> Look:
    cluster = ask(access.client_arguments())
    brokers = [answer.broker.id for answer in cluster.answers]
    _restore_what_others_left(cluster.cluster_id, brokers, connect)
    paths = files.find(settings.paths)
    _agree(settings, brokers)
    inventory, logs, errors = Inventory(), list[LogRead](), list[str]()
    left = settings.max_bytes
    for broker in brokers:
        journal = journal_of(state_dir(), cluster.cluster_id, broker)
        try:
            with closing(connect()) as admin, ExitStack() as stack:
                followed = open_all(paths, settings.command, broker, stack)
                window = Window(inventory, f"broker {broker}", followed, left)
                with raised(journal, admin, broker, guard.watch):
                    window.read(settings.seconds)
                window.read(_GRACE_S)
                logs += window.end(settings.max_bytes)
                left = window.left
        except (EnvironmentProblem, KafkaError) as error:
            hint = f"; {error.hint}" if isinstance(error, ClientscopeError) and error.hint else ""
            errors.append(plain(f"{error or type(error).__name__}{hint}", 400))
    inventory.end()
    inventory.leave_out(_OWN_CLIENT_ID)
    return Look(inventory, logs, errors, _oldest(cluster))


def _restore_what_others_left(cluster_id: str, brokers: Sequence[int], connect: Connect) -> None:
    for broker in brokers:
        try:
            found: Raised | None = restore(journal_of(state_dir(), cluster_id, broker), connect)
        except InUseError:
            continue
        if found:
            print(f"{REQUEST_LOGGER} of broker {broker} is back at {found.level}: an earlier run was killed", file=sys.stderr)


def _agree(settings: XraySettings, brokers: Sequence[int]) -> None:
    seconds = f"{settings.seconds:g} s"
    which = f"broker {brokers[0]}" if len(brokers) == 1 else f"{len(brokers)} brokers, one after another, on each"
    print(
        f"Sets {REQUEST_LOGGER} to DEBUG on {which} for {seconds}, and back. Each request writes some {_BYTES_PER_REQUEST} bytes to the "
        f"broker's log: {_BYTES_PER_REQUEST * 10_000 * settings.seconds / 1e6:,.0f} MB at 10,000 requests a second. Stops earlier after "
        f"{settings.max_bytes / 1e6:,.0f} MB (--max-bytes).",
        file=sys.stderr,
    )
    if settings.yes:
        return
    if not sys.stdin.isatty():
        raise SettingsError("no terminal to ask on", "--yes goes ahead without asking")
    print("Go ahead? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise EnvironmentProblem("nothing was changed", "answer y, or give --yes")


def _oldest(cluster: Cluster) -> str | None:
    versions = [each.software.version for each in find_all(cluster.answers, {}, {})]
    if not versions or None in versions:
        return None
    lowest = [version.partition("–")[0] for version in versions if version]
    return nearest_release(min(lowest, key=lambda text: [int(part) for part in text.split(".")[:2]]))


class Window:
    """What is read while one broker logs.

    Attributes:
        left: bytes that may still be read.
    """

    def __init__(self, inventory: Inventory, name: str, followed: list[Followed], left: int) -> None:
        self._inventory = inventory
        self._readers = {each: RequestLogReader() for each in followed}
        self._sizes = dict.fromkeys(followed, 0)
        self._name = name
        self.left = left

    def read(self, seconds: float) -> None:
        """Adds the requests that come within so many seconds, or until no byte may be read any more."""
        lines = follow(list(self._readers), time.monotonic() + seconds)
        for each, line in lines:
            if self.left <= 0:
                return
            self.left -= len(line) + 1
            self._sizes[each] += len(line) + 1
            reader = self._readers[each]
            for request in reader.read((line,)):
                self._inventory.add(request, Place(self._name, reader.lines))

    def end(self, max_bytes: int) -> Iterator[LogRead]:
        """Adds what was held, and says what was read of each log."""
        for each, reader in self._readers.items():
            for request in reader.end():
                self._inventory.add(request, Place(self._name, reader.lines))
            stopped = f"reading stopped after --max-bytes {max_bytes:,}" if self.left <= 0 else ""
            name = f"{self._name}: {each.name}"
            yield LogRead(name, self._sizes[each], reader.requests, reader.unreadable, stopped, reader.at_info)


def open_all(paths: list[Path | None], command: str, broker: int, stack: ExitStack) -> list[Followed]:
    """Begins to follow files, standard input (None), and the command's output.

    Args:
        command: its words, without a shell; ``{broker}`` is replaced. Empty for none.

    Raises:
        SettingsError: a file can't be read, or the command can't be started.
    """
    followed = open_logs(paths, stack)
    if command:
        words = [word.replace("{broker}", str(broker)) for word in shlex.split(command)]
        try:
            child = spawn(words, stdout=subprocess.PIPE)
        except OSError as error:
            raise SettingsError(f"--command: {error.strerror}: {words[0]}", "give a program and its arguments, as in a shell") from None
        stack.callback(stop, child, 5.0)
        assert child.stdout is not None
        followed.append(FollowedPipe(shlex.join(words), child.stdout.fileno()))
    return followed
