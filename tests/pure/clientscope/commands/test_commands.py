"""The registry of commands, and what a command may cost the others."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from command_runs import Run

from clientscope.commands import registry
from clientscope.commands.command import Command, CommandGroup
from clientscope.config.option import Option, option

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


@pytest.mark.parametrize("folder", ["checkpoints", "client", "findings", "history"])
def test_every_file_of_a_group_is_registered(folder: str) -> None:
    with_command = {path.stem for path in (FOLDER / folder).glob("*.py") if "COMMAND = Command(" in path.read_text()}
    (group,) = (entry for entry in registry.ENTRIES if isinstance(entry, CommandGroup) and entry.name == folder)
    assert {"_".join(command.words[1:]).replace("-", "_") for command in registry.flat(group.commands)} == with_command


def test_help_loads_nothing_heavy() -> None:
    """Of the commands: `--help` would wait for whatever any of them imports at its top."""
    code = f"import sys; from clientscope.commands.parser import parser; parser().format_help(); print({set(HEAVY)} & {{*sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


@pytest.mark.parametrize("command", registry.COMMANDS, ids=lambda command: " ".join(command.words))
def test_a_setting_has_one_option_and_a_description(command: Command) -> None:
    for name, field in command.settings.model_fields.items():
        assert field.description, name
        assert sum(isinstance(each, Option) for each in field.metadata) <= 1, name
        assert field.json_schema_extra is None, name
        given = option(field)
        assert not (given.positional and (given.secret or given.short or given.flag)), name
        assert given.positional or given.flag_only or not given.several, name


def test_two_commands_of_a_name_are_refused() -> None:
    code = "from clientscope.commands import topics, brokers; topics.COMMAND = brokers.COMMAND; from clientscope.commands import registry"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "two commands have the same name" in done.stderr


@pytest.mark.parametrize("argv", [["rules", "AN101"], ["completion", "bash"]])
def test_a_command_without_settings_in_files_reads_none(
    argv: Sequence[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clientscope: Run
) -> None:
    """A slip in clientscope.toml stops what would use it, and nothing else."""
    (tmp_path / "clientscope.toml").write_text("[gatway]\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CLIENTSCOPE_GATEWAY_LISTN", "x")
    assert clientscope(*argv).printed
    assert "unknown" in clientscope("topics").refused


@pytest.mark.parametrize("words", ["completion fish", "completion", "findings show", "rules AN999"])
def test_wrong_words_are_wrong_use(words: str, clientscope: Run) -> None:
    assert clientscope(*words.split()).refused


def test_rules_of_an_unknown_format(clientscope: Run) -> None:
    assert "--output: Input should be 'table', 'wide', 'json', 'jsonl', 'csv' or 'name'" in clientscope("rules", "-o", "xml").refused
