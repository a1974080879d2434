"""Implementation of ``clientscope import client-logs --follow``: publishes each client some seconds after it has logged its settings."""

from __future__ import annotations

import signal
import sys
import threading
import time
from contextlib import ExitStack
from types import FrameType
from zoneinfo import ZoneInfo

from kafka.errors import KafkaError

from clientscope.clock import now_ms
from clientscope.commands.imports.client_logs import ImportClientLogsSettings
from clientscope.commands.imports.importing import ClientsInLog, publish
from clientscope.commands.imports.joining import CLOCKS_MS, CONNECTS_WITHIN_MS, RecordedClient
from clientscope.commands.imports.live_clients import LiveClientReader
from clientscope.commands.imports.logged_client import LoggedClient
from clientscope.commands.imports.logged_starts import LoggedStarts
from clientscope.commands.imports.publishing import Publishing, why
from clientscope.errors import EnvironmentProblem, SettingsError
from clientscope.logs import files
from clientscope.logs.following import Followed, come, open_logs
from clientscope.logs.times import written_ms

ROUND_S = 3.0
"""How often those that have come are looked for among the live clients, and published."""
_LOOK_S = 0.1
_CONNECTED_AFTER_S = (CONNECTS_WITHIN_MS + CLOCKS_MS) / 1000
_REMEMBER_MS = 10 * 60_000


def run(settings: ImportClientLogsSettings) -> int:
    """Reads and publishes until SIGTERM or SIGINT, or until standard input ends and nothing else is read; the command's exit status.

    Raises:
        SettingsError: ``--publish`` is missing, or a log can't be read or followed.
        EnvironmentProblem: see `Publishing`.
    """
    if not settings.publish:
        raise SettingsError("--follow shows no findings", "add --publish: the job judges the clients that it publishes")
    paths = files.find(settings.paths)
    if packed := next((path for path in paths if path is not None and path.suffix == ".gz"), None):
        raise SettingsError(f"{packed}: a compressed log doesn't grow", "give the log that is being written")
    ended = threading.Event()

    def end(number: int, frame: FrameType | None) -> None:
        ended.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    with ExitStack() as stack:
        followed = open_logs(paths, stack, from_start=True)
        sidecar = Sidecar(settings, Publishing(settings), stack)
        print(f"clientscope import client-logs: ready, {len(followed)} followed", file=sys.stderr, flush=True)
        logs = {each: ClientsInLog() for each in followed}
        due = time.monotonic() + ROUND_S
        while not ended.is_set():
            for each, line in come(followed):
                for client in logs[each].read(line):
                    sidecar.add(each, client)
                if ended.is_set() or time.monotonic() >= due:
                    sidecar.settle()
                    due = time.monotonic() + ROUND_S
                if ended.is_set():
                    break
            if all(each.ended for each in followed):
                break
            if time.monotonic() >= due:
                sidecar.settle()
                due = time.monotonic() + ROUND_S
            ended.wait(_LOOK_S)
        sidecar.settle(at_once=True)
    return 0


class Sidecar:
    """Clients that have logged their settings and aren't published yet."""

    def __init__(self, settings: ImportClientLogsSettings, publishing: Publishing, stack: ExitStack) -> None:
        """
        Args:
            stack: ends the reader of the live clients.
        """
        self._settings, self._publishing, self._stack = settings, publishing, stack
        self._zone = ZoneInfo(settings.time_zone)
        self._starts = LoggedStarts()
        self._pending: dict[str, float] = {}
        self._live: LiveClientReader | None = None
        self._said = ""
        self._left_out = 0

    def add(self, log: Followed, client: LoggedClient) -> None:
        """Takes a client."""
        if client.role:
            return
        added = publish(client, log.name, self._settings, self._publishing.clients, self._starts, now_ms())
        if added is None or not added.taken:
            return
        started_ms = written_ms(client.written, self._zone)
        age_s = 0.0 if started_ms is None else (now_ms() - started_ms) / 1000
        self._pending[added.context.client_key] = time.monotonic() + min(_CONNECTED_AFTER_S, max(0.0, _CONNECTED_AFTER_S - age_s))

    def settle(self, at_once: bool = False) -> None:
        """Publishes those that are certainly live clients, and the others once they have had the time to connect.

        Args:
            at_once: all of them.
        """
        if not self._pending:
            self._starts.forget(now_ms() - _REMEMBER_MS)
            return
        found = {key: client for key, client in self._joined().items() if key in self._pending}
        now = time.monotonic()
        late = [key for key, due in self._pending.items() if key not in found and (at_once or due <= now)]
        ready = [*self._publishing.belong(found).values(), *late]
        if not ready:
            return
        for key in (*found, *late):
            del self._pending[key]
        joined = f", {len(found):,} of them as clients that are connected" if found else ""
        for failure in self._publishing.write(self._publishing.clients.take(ready), joined):
            self._pending |= dict.fromkeys(self._publishing.clients.records.keys() - self._pending.keys(), now)
            print(f"error: {failure}", file=sys.stderr, flush=True)
        if (left_out := self._publishing.clients.left_out) > self._left_out:
            print(f"error: {left_out - self._left_out:,} clients are not published, since too many wait", file=sys.stderr, flush=True)
            self._left_out = left_out

    def _joined(self) -> dict[str, RecordedClient]:
        try:
            if self._live is None:
                self._live = self._stack.enter_context(self._publishing.live_clients(lambda client_id: True))
            found = self._starts.joined(self._live.refresh())
        except (KafkaError, TimeoutError, EnvironmentProblem) as error:
            if (said := why(error)) != self._said:
                print(f"none as a client that is connected, since {said}", file=sys.stderr, flush=True)
            self._said = said
            return {}
        self._said = ""
        return found
