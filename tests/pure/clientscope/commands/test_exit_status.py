"""Exit status of wrong use: 2 of every command, whatever else a command's statuses mean."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, get_args, get_origin

import pytest
from command_runs import Run

from clientscope.commands import sources
from clientscope.commands.command import Command
from clientscope.commands.registry import COMMANDS
from clientscope.config.base import option
from clientscope.errors import ClientscopeError, EnvironmentProblem, SettingsError
from clientscope.query import CLIENTS, QueryError, parse


def _required(command: Command) -> list[str]:
    return ["x" for field in command.settings.model_fields.values() if option(field).positional and field.is_required()]


def _each(command: Command) -> list[list[str]]:
    """Command lines that have one invalid value each."""
    lines = []
    for name, field in command.settings.model_fields.items():
        if sources.is_secret(field) or option(field).positional:
            continue
        if field.annotation in (int, float) or get_origin(field.annotation) is Literal:
            assert not get_args(field.annotation) or "no-such" not in get_args(field.annotation)
            lines.append([*command.words, *_required(command), sources.flag(name, field), "no-such"])
    return lines


ALL = pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command.words))
FILES = pytest.mark.parametrize(
    "command",
    [each for each in COMMANDS if not all(map(sources.is_flag_only, each.settings.model_fields.values()))],
    ids=lambda command: " ".join(command.words),
)


@ALL
def test_an_unknown_flag_and_an_invalid_value(command: Command, clientscope: Run) -> None:
    for line in ([*command.words, *_required(command), "--no-such-flag"], *_each(command)):
        status, out, err = clientscope(*line)
        assert (status, out, "Traceback" in err) == (2, "", False), line


@FILES
def test_a_wrong_file_and_a_wrong_variable(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clientscope: Run) -> None:
    words = [*command.words, *_required(command)]
    file = tmp_path / "c.toml"
    for text in ("[gatway]\n", '[kafka]\n"bootstrap.srvers" = "x:1"\n', "not TOML"):
        file.write_text(text)
        assert clientscope(*words, "--config", str(file)).refused.startswith("error: "), text
    assert clientscope(*words, "--config", str(tmp_path / "missing.toml")).refused.startswith("error: ")
    monkeypatch.setenv("CLIENTSCOPE_GATEWAY_LISTN", "x")
    assert clientscope(*words).refused.startswith("error: ")


@pytest.mark.parametrize("command", {each.error_status: each for each in COMMANDS}.values(), ids=lambda command: " ".join(command.words))
def test_what_a_command_finds_wrong_by_itself(command: Command, monkeypatch: pytest.MonkeyPatch, clientscope: Run) -> None:
    """The status depends on the kind of error, and on what the command says that its other statuses mean."""
    statuses = {}
    for error in (SettingsError("--q"), EnvironmentProblem("no broker"), _query_error(), ClientscopeError("damaged")):

        def load(*_: object, error: ClientscopeError = error) -> object:
            raise error

        monkeypatch.setattr(sources, "load", load)
        statuses[type(error)] = clientscope(*command.words, *_valid(command)).status
    other = command.error_status
    assert statuses == {SettingsError: 2, QueryError: 2, EnvironmentProblem: other, ClientscopeError: other}


def _valid(command: Command) -> list[str]:
    """Positional arguments that argparse takes."""
    fields = [field for field in command.settings.model_fields.values() if option(field).positional and field.is_required()]
    return [str(get_args(field.annotation)[0]) if get_origin(field.annotation) is Literal else "x" for field in fields]


def _query_error() -> QueryError:
    with pytest.raises(QueryError) as raised:
        parse('"unclosed', CLIENTS)
    return raised.value
