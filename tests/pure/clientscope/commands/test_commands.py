"""The registry of commands, and what a command may cost the others."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, get_args, get_origin

import pytest
from command_runs import Run
from every import every
from golden import asked, is_golden, session
from programs import python

from clientscope.commands import registry, sources
from clientscope.commands.command import Command
from clientscope.commands.registry import COMMANDS
from clientscope.config.base import Option, option
from clientscope.errors import ClientscopeError, EnvironmentProblem, SettingsError
from clientscope.query import CLIENTS, QueryError, parse

FOLDER = Path(registry.__file__).parent
SUPPORT = {"wrong_use", "__init__", "command", "parser", "registry", "sources"}
HEAVY = (
    "aiokafka",
    "confluent_kafka",
    "deltalake",
    "fastapi",
    "kafka",
    "numpy",
    "pandas",
    "pyarrow",
    "pyspark",
    "rich",
    "uvicorn",
)


def test_every_file_is_registered() -> None:
    files = {path.stem for path in FOLDER.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()}
    assert files - SUPPORT == set(registry.MODULES)
    assert len(registry.MODULES) == len(set(registry.MODULES))


def test_help_loads_nothing_heavy() -> None:
    """Of the commands: `--help` would wait for whatever any of them imports at its top."""
    code = f"import sys; from clientscope.commands.parser import parser; parser().format_help(); print({set(HEAVY)} & {{*sys.modules}})"
    assert python("-c", code).stdout == "set()\n"


def test_a_setting_has_one_option_and_a_description() -> None:
    for command in every(registry.COMMANDS):
        for name, field in command.settings.model_fields.items():
            where = (*command.words, name)
            assert field.description, where
            assert sum(isinstance(each, Option) for each in field.metadata) <= 1, where
            assert field.json_schema_extra is None, where
            given = option(field)
            assert not (given.positional and (given.secret or given.short or given.flag)), where
            assert given.positional or given.flag_only or not given.several, where


def test_two_commands_of_a_name_are_refused() -> None:
    code = "from clientscope.commands import topics, brokers; topics.COMMAND = brokers.COMMAND; from clientscope.commands import registry"
    assert "two commands have the same name" in python("-c", code, status=1).stderr


@pytest.mark.parametrize("argv", [["rules", "AN101"], ["completion", "bash"]])
def test_a_command_without_settings_in_files_reads_none(argv: Sequence[str], monkeypatch: pytest.MonkeyPatch, clientscope: Run) -> None:
    """A slip in clientscope.toml stops what would use it, and nothing else."""
    Path("clientscope.toml").write_text("[gatway]\n")
    monkeypatch.setenv("CLIENTSCOPE_GATEWAY_LISTN", "x")
    assert clientscope(*argv).printed
    assert "unknown" in clientscope("topics").refused


@pytest.mark.parametrize("words", [[], ["findings"], *(each.words for each in COMMANDS)], ids=" ".join)
def test_help_is_as_wide_as_the_terminal(words: list[str], monkeypatch: pytest.MonkeyPatch, clientscope: Run) -> None:
    for columns in (80, 120):
        monkeypatch.setenv("COLUMNS", str(columns))
        assert max(map(len, clientscope(*words, "--help").printed.splitlines())) <= columns


@pytest.mark.parametrize("words", ["rules AN201", "explain compression.type"])
def test_explanation_is_as_wide_as_the_terminal(words: str, monkeypatch: pytest.MonkeyPatch, clientscope: Run) -> None:
    widths = {}
    for columns in (60, 80, 120, 200):
        monkeypatch.setenv("COLUMNS", str(columns))
        lines = clientscope(*words.split()).printed.splitlines()
        widths[columns] = max(len(line) for line in lines if "://" not in line)
    assert all(width <= min(columns, 120) for columns, width in widths.items())
    assert widths[60] < widths[80] < widths[120] == widths[200]


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


def test_two_lines_say_what_is_meant(clientscope: Run) -> None:
    assert is_golden(session(clientscope, asked(__file__, "wrong_use.txt")), __file__, "wrong_use.txt")


@pytest.mark.parametrize("words", ["--help", "findings --help", "stream --help", "-h", "--version"])
def test_help_is_no_wrong_use(words: str, clientscope: Run) -> None:
    assert "error" not in clientscope(*words.split()).noted


def test_a_secret_is_no_flag_that_is_suggested(clientscope: Run) -> None:
    assert "password?" not in clientscope("stream", "--kafka-sasl-passwrd", "hunter2").refused
