"""``clientscope readiness`` run as a user runs it, for the upgrade to 4.0.0."""

from __future__ import annotations

import json

import pytest
from command_runs import Listed, Run


@pytest.fixture(autouse=True)
def no_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table is as wide as it needs to be, whatever the terminal is that the tests run in."""
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture
def run(clientscope: Run) -> Run:
    return lambda *words: clientscope("readiness", "--target", "4.0.0", *words)


@pytest.fixture
def listed(run: Run) -> Listed:
    return lambda *words: list(json.loads(run(*words, "-o", "json", "--fail-on", "never").printed))
