"""Fixtures of the tests of commands."""

from __future__ import annotations

import pytest
from command_runs import Run, Said

from clientscope import cli


@pytest.fixture
def clientscope(capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*words: str) -> Said:
        try:
            status = cli.main([*words])
        except SystemExit as ended:  # argparse
            status = int(ended.code or 0)
        return Said(status, *capsys.readouterr())

    return run
