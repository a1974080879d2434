"""Main program of ``clientscope deliver``: delivers while it is its turn, is on standby otherwise, and reports its status."""

from __future__ import annotations

import logging
import socket
import time
from contextlib import suppress

from kafka.errors import KafkaError

from clientscope import __version__
from clientscope.clock import now_ms
from clientscope.kafka.access import Kafka
from clientscope.local.process import StopRequest
from clientscope.report.text import counted
from clientscope.status.record import Condition, ProcessStatus
from sinks.alerts.active import Active
from sinks.alerts.metrics import DeliverMetrics, Figures
from sinks.alerts.receivers import Receivers
from sinks.alerts.turn import DeliveryTurn

_STEP_S = 0.25
_STUCK_S = 120.0
_PATIENCE_S = 10.0

_log = logging.getLogger(__name__)


class Delivery:
    """`run` is for one thread; the others ask how it is."""

    def __init__(self, kafka: Kafka, receivers: Receivers, external_url: str = "") -> None:
        self._kafka = kafka
        self._receivers = receivers
        self._external_url = external_url
        self.metrics = DeliverMetrics(receiver.name for receiver in receivers.every)
        self.metrics.show(lambda: self._figures)
        self._active: Active | None = None
        self._term = 0
        self._figures = Figures()
        self._problems: list[str] = []
        self._newest_ms: int | None = None
        self._state: Condition = "starting"
        self._trouble = ""
        self._announced = ""
        self._started_ms = now_ms()
        self._ticked = time.monotonic()

    def run(self, stop: StopRequest) -> None:
        """Until it is asked to stop.  While Kafka is away, what was handed out is still sent, and written down later."""
        turn: DeliveryTurn | None = None
        try:
            while not stop.wait(_STEP_S):
                self._ticked = time.monotonic()
                try:
                    if turn is None or not turn.is_alive():
                        turn = DeliveryTurn(self._kafka)
                        self._term = turn.term
                    self._step(turn)
                    self._trouble = ""
                except (KafkaError, OSError) as error:  # TimeoutError is one
                    self._failed(error)
                self._look()
        finally:
            self._state = "stopped"
            self._end_turn()
            if turn is not None:
                turn.close()

    def ready(self) -> str:
        """Why it isn't ready; empty where it is: delivering, or standing by."""
        return {"starting": "it hasn't read the findings yet", "stopped": "it stops"}.get(self._state, "")

    def health(self) -> str:
        """What is wrong with the process itself; empty for nothing."""
        active = self._active
        if time.monotonic() - self._ticked > _STUCK_S:
            return "its main thread is stuck"
        if active is not None and self._state == "ok" and not active.is_well():
            return "a receiver's thread has ended"
        return ""

    def status(self, told_ms: int, interval_ms: int) -> ProcessStatus:
        """The process's status for ``clientscope.status``, as of its last step.

        Args:
            told_ms: now.
            interval_ms: time between two such records.
        """
        problems = [self._trouble, *self._problems] if self._trouble else list(self._problems)
        condition: Condition = self._state
        if condition == "ok" and problems:
            condition = "warn"
        figures = self._figures
        numbers: dict[str, int | float] = {
            "active": int(figures.active),
            "findings": figures.findings,
            "queued_messages": sum(one.queue for one in figures.receivers),
            "undelivered_findings": sum(one.undelivered for one in figures.receivers),
            "oldest_undelivered_seconds": round(max((one.oldest_s for one in figures.receivers), default=0.0), 1),
        }
        return ProcessStatus(
            kind="deliver",
            id=socket.gethostname(),
            condition=condition,
            reason="; ".join(problems)[:900],
            version=__version__,
            started_ms=self._started_ms,
            told_ms=told_ms,
            interval_ms=interval_ms,
            last_record_ms=self._newest_ms,
            figures=numbers,
        )

    def _step(self, turn: DeliveryTurn) -> None:
        whose = turn.whose()
        if whose != "ours" or turn.term != self._term:
            self._end_turn()
            self._term = turn.term
            turn.release()
            if whose == "another's":
                self._state = "ok"
                self._say("standing by, another copy delivers")
            return
        if self._active is None:
            active = Active(self._kafka, self._receivers, self._external_url, self.metrics)
            try:
                active.start()
            except BaseException:
                active.stop()
                active.close(0)
                raise
            self._active = active
            self._state = "ok"
            self._say(f"ready, {counted(len(self._receivers.every), 'receiver')}")
        self._active.step()

    def _end_turn(self) -> None:
        active, self._active = self._active, None
        if active is not None:
            active.stop()
            with suppress(KafkaError):
                active.close(_PATIENCE_S)

    def _failed(self, error: Exception) -> None:
        trouble = f"Kafka: {type(error).__name__}"
        if trouble != self._trouble:
            _log.warning("Kafka is away or refuses (%s); trying again", type(error).__name__)
        self._trouble = trouble

    def _look(self) -> None:
        """So that other threads read what is whole."""
        active = self._active
        self._figures = Figures() if active is None else active.figures()
        self._problems = [] if active is None else active.problems()
        self._newest_ms = self._newest_ms if active is None else active.newest_ms()

    def _say(self, text: str) -> None:
        if text != self._announced:
            print(f"clientscope deliver: {text}", flush=True)
            self._announced = text
