"""``clientscope readiness`` run as a user runs it, for the upgrade to 4.0.0."""

from __future__ import annotations

import json

import pytest
from command_runs import Command, Listed


@pytest.fixture
def run(clientscope: Command) -> Command:
    return lambda *words: clientscope("readiness", "--target", "4.0.0", *words)


@pytest.fixture
def listed(run: Command) -> Listed:
    return lambda *words: list(json.loads(run(*words, "-o", "json", "--fail-on", "never").printed))
