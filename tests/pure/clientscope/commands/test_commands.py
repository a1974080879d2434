"""The registry of commands, and what a command may cost the others."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from command_runs import Run
from every import every

from clientscope.commands import registry
from clientscope.config.base import Option, option

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
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


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
