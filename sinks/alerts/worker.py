"""Thread and queue of one receiver, so that a slow or dead one delays no other."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from sinks.alerts.message import Message
from sinks.alerts.retries import Schedule
from sinks.alerts.sending import SendResult

QUEUE_LIMIT = 100
"""Messages of one receiver that wait in memory; what is beyond waits in Kafka."""

Send = Callable[[Message], SendResult]

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Delivered:
    """A message that needs no more attempts: delivered (``ok``), given up (``failed``), or refused with all that may follow (``gone``)."""

    message: Message
    result: SendResult
    attempts: int


class ReceiverWorker:
    """Sends one receiver's messages.  Their results are put into ``settled``."""

    def __init__(
        self,
        name: str,
        send: Send,
        schedule: Schedule[Message],
        settled: queue.SimpleQueue[Delivered],
        attempted: Callable[[str, SendResult, int, float], None],
    ) -> None:
        """
        Args:
            attempted: called in this thread after each attempt, with the receiver, the result, the attempt's number and its seconds.
        """
        self.name = name
        self._send = send
        self._schedule = schedule
        self._settled = settled
        self._attempted = attempted
        self._changed = threading.Condition()
        self._stopping = False
        self._sending = False
        self.failing_since: float | None = None
        self.reason = ""
        self._thread = threading.Thread(target=self._run, name=f"deliver-{name}", daemon=True)

    def start(self) -> None:
        """Begins to send."""
        self._thread.start()

    def stop(self) -> None:
        """Ends after the attempt that is under way, which has a deadline; what waits is forgotten here, and known to Kafka."""
        with self._changed:
            self._stopping = True
            self._changed.notify()

    def join(self, timeout_s: float) -> None:
        """Waits for the end, if it was ever started."""
        if self._thread.is_alive():
            self._thread.join(timeout_s)

    def is_alive(self) -> bool:
        """Whether its thread runs."""
        return self._thread.is_alive()

    def offer(self, message: Message) -> bool:
        """Takes a message, if there is room."""
        with self._changed:
            if self._stopping or not self._schedule.room():
                return False
            self._schedule.add(message, time.monotonic())
            self._changed.notify()
            return True

    def length(self) -> int:
        """How many wait, the one under way among them."""
        with self._changed:
            return len(self._schedule) + self._sending

    def _run(self) -> None:
        while True:
            with self._changed:
                waiting = None if self._stopping else self._schedule.take(time.monotonic())
                self._sending = waiting is not None
                if self._stopping:
                    return
                if waiting is None:
                    due = self._schedule.next_due()
                    self._changed.wait(None if due is None else max(0.01, due - time.monotonic()))
                    continue
            started = time.monotonic()
            result = self._attempt(waiting.message)
            self._attempted(self.name, result, waiting.attempts + 1, time.monotonic() - started)
            with self._changed:
                self._sending = False
                if result.outcome == "ok":
                    self.failing_since = None
                else:
                    self.failing_since = self.failing_since or time.monotonic()
                    self.reason = result.reason
                if result.outcome == "failed" and self._schedule.failed(waiting, result, time.monotonic()):
                    continue
                if result.outcome == "gone":
                    self._schedule.clear()
            self._settled.put(Delivered(waiting.message, result, waiting.attempts + (result.outcome != "failed")))

    def _attempt(self, message: Message) -> SendResult:
        try:
            return self._send(message)
        except Exception as error:  # one message must not end all others
            _log.error("receiver %s: %s", self.name, type(error).__name__)  # its text may quote a secret
            return SendResult("failed", f"an error of clientscope's own: {type(error).__name__}")
