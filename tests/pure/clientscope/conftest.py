"""Fixtures of the tests of commands."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from command_runs import Run, Said

from clientscope import cli

_parser = cache(cli.parser)


@pytest.fixture
def clientscope(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """Runs a command in the test's own folder, with the one parser of this process: to make one takes longer than most commands.

    ``push`` silences the client's log, which other files' tests read in the same process: its level is put back.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cli, "parser", _parser)
    log = logging.getLogger("clientscope.client")
    before = log.level

    def run(*words: str) -> Said:
        try:
            status = cli.main([*words])
        except SystemExit as ended:  # argparse
            status = int(ended.code or 0)
        return Said(status, *capsys.readouterr())

    yield run
    log.setLevel(before)
