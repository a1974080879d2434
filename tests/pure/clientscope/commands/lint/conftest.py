"""Runs of ``clientscope lint``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_runs import Document, Run


@pytest.fixture
def run(clientscope: Run) -> Run:
    return lambda *words: clientscope("lint", *words)


@pytest.fixture
def lint(run: Run) -> Document:
    """The report on a file of this name and text."""

    def linted(name: str, text: str, *flags: str) -> dict[str, Any]:
        Path(name).write_text(text)
        return dict(json.loads(run(name, "--output-format", "json", *flags).out))

    return linted
