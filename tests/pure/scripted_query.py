"""A query whose behaviour a test scripts."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any


class ScriptedQuery:
    """A query by what `Watched` asks of it, and what goes with it."""

    def __init__(self) -> None:
        self.query: Any = self
        self.isActive = True
        self.lastProgress: Any = None
        self.status = {"isTriggerActive": False, "message": "Waiting for data to arrive"}
        self.ticks = self.closed = 0
        self.measured = 0
        self.text = ""

    def exception(self) -> str:
        return self.text

    def tick(self) -> None:
        self.ticks += 1

    def measure(self, metrics: object) -> None:
        self.measured += 1

    def close(self) -> None:
        self.closed += 1

    def stop(self) -> None:
        self.isActive = False

    def finishes(self, phase: str = "addBatch") -> None:
        """Spark reports a batch, or a look that found nothing."""
        self.lastProgress = _report(phase)

    def fail(self, text: str, finished: bool = False) -> None:
        """It ends by itself."""
        self.isActive, self.text = False, text
        self.lastProgress = _report("addBatch") if finished else None


def _report(phase: str) -> SimpleNamespace:
    return SimpleNamespace(runId="run", timestamp="2026-01-01T00:00:00.000Z", durationMs={phase: 10}, sources=[], stateOperators=[])
