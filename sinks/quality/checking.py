"""Validation of what is new in history's tables, in the process that has imported Great Expectations (`sinks.quality.process`)."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from traceback import extract_tb

import numpy as np

from sinks.quality import samples
from sinks.quality.docs import DataDocs
from sinks.quality.process import Looked, Validated
from sinks.quality.suites import SUITES
from sinks.quality.validation import Validator

MOST_ROWS = 20_000
"""Rows of a sample."""

MOST_READ = 100_000
"""Rows that are read for a sample: of a backlog the newest."""

DATA_DOCS = "data-docs"
"""The folder of the Data Docs, beside history's tables."""


class SampleChecks:
    """Samples, validates, and writes Data Docs.  Not for two threads at a time.

    Args:
        history: the folder of the tables. Data Docs are written where that is on this machine.
        clock: seconds since the epoch.
    """

    def __init__(self, history: str, clock: Callable[[], float] = time.time) -> None:
        self._history, self._clock = history, clock
        self._docs = None if "://" in history else DataDocs(Path(history) / DATA_DOCS)
        self._hours: dict[str, samples.LastHour] = defaultdict(samples.LastHour)
        self._validators: dict[str, Validator] = {}
        self._chance = np.random.default_rng()

    def look(self, versions: Mapping[str, int]) -> Looked:
        """Validates samples of the rows that were appended since; never raises for what is in a table.

        Args:
            versions: by topic, where to begin in its table.
        """
        looked: Looked = {"validated": [], "next_versions": {}, "peak_bytes": 0}
        for topic, version in versions.items():
            begun = time.monotonic()
            validated: Validated = {"topic": topic, "rows": 0, "seconds": 0.0, "outcomes": [], "error": ""}
            try:
                files, looked["next_versions"][topic] = samples.since(self._table(topic), version)
                self._validate(topic, files, validated)
            except Exception as error:
                place = extract_tb(error.__traceback__)[-1]
                validated["error"] = f"{type(error).__name__} at {Path(place.filename).name}:{place.lineno}"
            validated["seconds"] = time.monotonic() - begun
            if validated["rows"] or validated["error"]:
                looked["validated"].append(validated)
        return looked

    def _table(self, topic: str) -> str:
        return f"{self._history}/{SUITES[topic].table}"

    def _validate(self, topic: str, names: Sequence[str], validated: Validated) -> None:
        found = samples.sample(topic, self._table(topic), names, MOST_READ, MOST_ROWS, self._chance)
        if found is None:
            return
        validated["rows"] = len(found.facts)
        validator = self._validators.get(topic) or self._validators.setdefault(topic, Validator(SUITES[topic]))
        validated["outcomes"], result = validator.validate(found.facts, self._hours[topic].ratio(found.newest_ms, found.rows))
        if self._docs is not None:
            self._docs.add(validator.gx_suite, result, all(success for _, success, _ in validated["outcomes"]), self._clock())
        if len(validated["outcomes"]) < len(result.results):
            raise RuntimeError("not every expectation could be judged")
