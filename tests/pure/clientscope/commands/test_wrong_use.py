"""Words that are no command, flag or argument: two lines, the nearest that is one, and exit status 2."""

from __future__ import annotations

import pytest
from command_runs import Run


@pytest.mark.parametrize(
    ("words", "error", "hint"),
    [
        ("findngs", "clientscope has no command 'findngs'", "did you mean findings? clientscope --help lists all"),
        ("--debug findngs show x", "clientscope has no command 'findngs'", "did you mean findings? clientscope --help lists all"),
        ("zzz", "clientscope has no command 'zzz'", "clientscope --help lists all"),
        ("findings lst", "clientscope findings has no command 'lst'", "did you mean list? clientscope findings --help lists all"),
        (
            "stream --bootstrap-server kafka:9092", "unknown flag --bootstrap-server",
            "did you mean --bootstrap-servers? clientscope stream --help lists all",
        ),
        ("findings --limt=3", "unknown flag --limt", "did you mean --limit? clientscope findings list --help lists all"),
        ("stream --zzz", "unknown flag --zzz", "clientscope stream --help lists all"),
        ("findings show a b", "unexpected argument 'b'", "clientscope findings show --help lists what the command takes"),
        (f"{'x' * 500}", f"clientscope has no command {'x' * 60!r}", "clientscope --help lists all"),
    ],
)  # fmt: skip
def test_two_lines_say_what_is_meant(words: str, error: str, hint: str, clientscope: Run) -> None:
    status, out, err = clientscope(*words.split())
    assert status == 2
    assert (out, err.splitlines()) == ("", [f"error: {error}", f"hint: {hint}"])


@pytest.mark.parametrize("words", ["--help", "findings --help", "stream --help", "-h", "--version"])
def test_help_is_no_wrong_use(words: str, clientscope: Run) -> None:
    assert "error" not in clientscope(*words.split()).noted


def test_a_secret_is_no_flag_that_is_suggested(clientscope: Run) -> None:
    assert "password?" not in clientscope("stream", "--kafka-sasl-passwrd", "hunter2").refused
