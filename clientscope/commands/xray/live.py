"""A look at a running cluster: each broker's request logger at DEBUG for some seconds, one after another, or all at INFO for days."""

from __future__ import annotations

import secrets
import shlex
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext, suppress
from pathlib import Path

from kafka.errors import KafkaError

from clientscope.catalog.dialects.java import JAVA
from clientscope.cluster.api_versions import ask
from clientscope.cluster.software import find_all
from clientscope.commands.lint.shown import plain
from clientscope.commands.xray import XraySettings
from clientscope.commands.xray.inventory import Inventory, LogRead, LogReader, Look
from clientscope.commands.xray.raised import (
    Connect,
    InUseError,
    Watchdog,
    journal_of,
    raise_again,
    raised,
    restore,
    start_watchdog,
)
from clientscope.errors import ClientscopeError, EnvironmentProblem, SettingsError
from clientscope.kafka.access import KafkaAccess
from clientscope.kafka.admin import REQUEST_LOGGER, AdminClient, connected, send_deprecated
from clientscope.local.process import spawn, stop
from clientscope.logs import files
from clientscope.logs.files import Followed, FollowedFile, FollowedPipe, follow
from clientscope.readiness.judging import oldest_release

_OWN_CLIENT_ID = f"clientscope-xray-{secrets.token_hex(8)}"
"""Of this run's own requests, which are no client's; a client can't guess it, and so can't hide by it."""
_GRACE_S = 1.0
"""Lines that a log collector still brings once the level is back."""
_MOST_DEBUG_S = 600.0
_OWN_COMES_S = 15.0
"""How long a line of our own request may take at INFO."""
_AGAIN_S = 60.0
"""How often levels are looked at in the days of INFO: a broker that restarts has its configured one."""
_STUCK_S = 20.0
"""How much longer than ``--seconds`` the watchdog lets a run that is stuck."""
_BYTES_PER_REQUEST = 960
"""Of Produce and Fetch in Kafka 4.4's JSON, by `make bench-xray`."""


def look_at(settings: XraySettings) -> Look:
    """Looks at each broker.

    Raises:
        EnvironmentProblem: no broker answers, or none lets us; another run looks at one; nobody agreed.
        SettingsError: no logs are given, or one can't be read.
    """
    if settings.level == "debug" and settings.seconds > _MOST_DEBUG_S:
        raise SettingsError(f"--seconds: at most {_MOST_DEBUG_S:g} at DEBUG", "--level info logs almost nothing, and may last for days")
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
    versions = [each.software_version or "" for each in find_all(cluster.answers, {}, {})]
    _restore_what_others_left(cluster.cluster_id, brokers, connect)
    paths = files.find(settings.paths)
    if info := settings.level == "info":
        _refuse_info(settings.broker_release, versions)
    _agree(settings, brokers)

    def level_raised(broker: int) -> AbstractContextManager[None]:
        return raised(journal_of(cluster.cluster_id, broker), connect, broker, guard.watch, settings.level.upper())

    look = Look(Inventory(), broker_release=oldest_release(versions))
    left = settings.max_bytes
    for together in [brokers] if info else [[broker] for broker in brokers]:
        with ExitStack() as stack:
            name = "" if info else f"broker {together[0]}"
            window = Window(look.inventory, name, open_all(paths, settings.command, together, stack), left)
            # What was seen until days of watching are interrupted is their result.
            until_interrupted = suppress(KeyboardInterrupt) if info else nullcontext()
            with _noting(look.errors), ExitStack() as levels, until_interrupted:
                for broker in together:
                    levels.enter_context(level_raised(broker))
                if info:
                    _watch(settings, together, connect, window, look)
                else:
                    window.read(settings.seconds)
            window.read(_GRACE_S)
            look.logs.extend(window.end(settings.max_bytes))
            left = window.left
    look.inventory.end()
    look.inventory.leave_out(_OWN_CLIENT_ID)
    return look


@contextmanager
def _noting(errors: list[str]) -> Iterator[None]:
    try:
        yield
    except (EnvironmentProblem, KafkaError) as error:
        hint = f"; {error.hint}" if isinstance(error, ClientscopeError) and error.hint else ""
        errors.append(plain(f"{error or type(error).__name__}{hint}", 400))


def _watch(settings: XraySettings, brokers: Sequence[int], connect: Connect, window: Window, look: Look) -> None:
    """Reads what brokers log at INFO until the time is over."""
    with closing(connect()) as admin:
        for broker in brokers:
            send_deprecated(admin, broker)
    end = time.monotonic() + settings.seconds
    window.read(min(settings.seconds, _OWN_COMES_S))
    _expect_own(look, len(brokers))
    while window.left > 0 and (left := end - time.monotonic()) > 0:
        window.read(min(left, _AGAIN_S))
        for broker in brokers:
            with suppress(EnvironmentProblem, KafkaError):  # it is down, and asked again in a minute
                if raise_again(connect, broker, "INFO"):
                    print(f"broker {broker} was restarted: {REQUEST_LOGGER} is at INFO again", file=sys.stderr)


def _expect_own(look: Look, brokers: int) -> None:
    """Each broker was sent a request of a removed version: where its line doesn't come, nobody else's would."""
    came = sum(client.requests for key, client in look.inventory.clients.items() if key.client_id == _OWN_CLIENT_ID)
    if came < brokers:
        raise EnvironmentProblem(
            f"{came} of {brokers} brokers logged a request of a removed version at INFO, as far as these logs show",
            "give the logs of all brokers, with the lines of kafka.request.logger; Kafka logs them from 3.9.1 on",
        )


def _refuse_info(given: str, versions: Iterable[str]) -> None:
    for version in versions:
        release = given or version or "3.9"
        lowest, highest = map(JAVA.numbers_of, (release, release.rpartition("–")[2]))
        if lowest >= (4,) or highest[:2] < (3, 9) or lowest == (3, 9, 0):
            raise SettingsError(
                f"--level info: Kafka {release} logs nothing at INFO; 3.9.1 and later 3.9 log what 4.0 removed",
                "--level debug --seconds 10 shows who is connected",
            )


def _restore_what_others_left(cluster_id: str, brokers: Sequence[int], connect: Connect) -> None:
    for broker in brokers:
        try:
            level = restore(journal_of(cluster_id, broker), connect)
        except InUseError:
            continue
        if level:
            print(f"{REQUEST_LOGGER} of broker {broker} is back at {level}: an earlier run was killed", file=sys.stderr)


def _agree(settings: XraySettings, brokers: Sequence[int]) -> None:
    seconds = f"{settings.seconds:g} s"
    of_several, volume = "at once", "Only requests of versions that Kafka 4.0 removed are logged."
    if settings.level == "debug":
        of_several = "one after another, on each"
        size = _BYTES_PER_REQUEST * 10_000 * settings.seconds / 1e6
        volume = f"Each request writes some {_BYTES_PER_REQUEST} bytes to the broker's log: {size:,.0f} MB at 10,000 requests a second."
    which = f"broker {brokers[0]}" if len(brokers) == 1 else f"{len(brokers)} brokers, {of_several}"
    stops = f"Stops earlier after {settings.max_bytes / 1e6:,.0f} MB (--max-bytes)."
    print(f"Sets {REQUEST_LOGGER} to {settings.level.upper()} on {which} for {seconds}, and back. {volume} {stops}", file=sys.stderr)
    if settings.yes:
        return
    if not sys.stdin.isatty():
        raise SettingsError("no terminal to ask on", "--yes goes ahead without asking")
    print("Go ahead? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise EnvironmentProblem("nothing was changed", "answer y, or give --yes")


class Window:
    """What is read while brokers log.

    Args:
        name: the broker; empty where several log at once, and each log counts by its own name.

    Attributes:
        left: bytes that may still be read.
    """

    def __init__(self, inventory: Inventory, name: str, followed: list[Followed], left: int) -> None:
        self._logs = {each: LogReader(inventory, name or each.name) for each in followed}
        self._name = name
        self.left = left

    def read(self, seconds: float) -> None:
        """Adds the requests that come within so many seconds, or until no byte may be read any more."""
        for each, line in follow(list(self._logs), time.monotonic() + seconds):
            if self.left <= 0:
                return
            self.left -= len(line) + 1
            self._logs[each].take(line)

    def end(self, max_bytes: int) -> Iterator[LogRead]:
        """Adds what was held, and says what was read of each log."""
        for each, log in self._logs.items():
            stopped = f"reading stopped after --max-bytes {max_bytes:,}" if self.left <= 0 else "it has ended" if each.ended else ""
            name = f"{self._name}: {each.name}" if self._name else each.name
            yield log.ended(name, stopped)


def open_all(paths: list[Path | None], command: str, brokers: Sequence[int], stack: ExitStack) -> list[Followed]:
    """Begins to follow files, standard input (None), and the output of the command for each broker.

    Args:
        command: its words, without a shell; ``{broker}`` is replaced. Empty for none.

    Raises:
        SettingsError: a file can't be read, or the command can't be started.
    """
    followed: list[Followed] = [
        FollowedPipe(files.shown(None), sys.stdin.fileno()) if path is None else FollowedFile(path, stack) for path in paths
    ]
    for broker in brokers if command else ():
        words = [word.replace("{broker}", str(broker)) for word in shlex.split(command)]
        try:
            child = spawn(words, stdout=subprocess.PIPE)
        except OSError as error:
            raise SettingsError(f"--command: {error.strerror}: {words[0]}", "give a program and its arguments, as in a shell") from None
        stack.callback(stop, child, 5.0)
        assert child.stdout is not None
        followed.append(FollowedPipe(shlex.join(words), child.stdout.fileno()))
    return followed
