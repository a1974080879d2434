"""``clientscope readiness`` run as a user runs it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from clientscope import cli


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Exit status, standard output and standard error, for the upgrade to 4.0.0."""
    status = cli.main(["readiness", "--target", "4.0.0", *words])
    said = capsys.readouterr()
    return status, said.out, said.err


def listed(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    """The groups as JSON, the worst first."""
    status, out, _ = run(capsys, *words, "-o", "json", "--fail-on", "never")
    assert status == 0
    found: list[dict[str, Any]] = json.loads(out)
    return found
