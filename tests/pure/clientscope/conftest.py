"""Fixtures of the tests of commands."""

from __future__ import annotations

import pytest
from command_runs import Command, Said

from clientscope import cli


@pytest.fixture
def clientscope(capsys: pytest.CaptureFixture[str]) -> Command:
    return lambda *words: Said(cli.main([*words]), *capsys.readouterr())
