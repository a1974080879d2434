"""Words that are no command, flag or argument: two lines, the nearest that is one, and exit status 2."""

from __future__ import annotations

import pytest
from command_runs import Run
from golden import is_golden, session

WRONG = [
    "findngs", "--debug findngs show x", "zzz", "findings lst", "stream --bootstrap-server kafka:9092", "findings --limt=3", "stream --zzz",
    "findings show a b", "x" * 500,
]  # fmt: skip


def test_two_lines_say_what_is_meant(clientscope: Run) -> None:
    assert is_golden(session(clientscope, WRONG), __file__, "wrong_use.txt")


@pytest.mark.parametrize("words", ["--help", "findings --help", "stream --help", "-h", "--version"])
def test_help_is_no_wrong_use(words: str, clientscope: Run) -> None:
    assert "error" not in clientscope(*words.split()).noted


def test_a_secret_is_no_flag_that_is_suggested(clientscope: Run) -> None:
    assert "password?" not in clientscope("stream", "--kafka-sasl-passwrd", "hunter2").refused
