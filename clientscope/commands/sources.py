"""Settings from flags, environment and one TOML file, in that order of precedence; an unknown key is an error."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import textwrap
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin

from pydantic import AfterValidator, ValidationError
from pydantic.fields import FieldInfo

from clientscope.commands.registry import COMMANDS
from clientscope.config import Settings
from clientscope.config.base import option
from clientscope.config_types import Networks
from clientscope.errors import SettingsError
from clientscope.secret_files import require_private

ENV_PREFIX = "CLIENTSCOPE_"
DEFAULT_FILE = "clientscope.toml"
_OTHER_VARIABLES = {
    "CLIENTSCOPE_CONFIG",
    "CLIENTSCOPE_JARS",
}

AnySettings = TypeVar("AnySettings", bound=Settings)


def _place(cls: type[Settings], name: str, field: FieldInfo) -> tuple[str, str]:
    """The TOML table and key of a field."""
    return option(field).section or cls.section, option(field).key or name


def flag(name: str, field: FieldInfo) -> str:
    """The command-line flag of a field; of a positional, its placeholder in the help."""
    if option(field).positional:
        return option(field).metavar or name.upper()
    return "--" + (option(field).flag or name).replace("_", "-")


def is_secret(field: FieldInfo) -> bool:
    """Whether a setting is never given by a flag, which every user of the machine could read."""
    return option(field).secret


def is_flag_only(field: FieldInfo) -> bool:
    """Whether a setting is of one invocation: given on the command line, never by the environment or a file."""
    return option(field).flag_only or option(field).positional


def _needs_no_file(cls: type[Settings]) -> bool:
    """Whether a command reads neither the environment nor a file, so that an error there doesn't stop it."""
    return all(map(is_flag_only, cls.model_fields.values()))


def variable(cls: type[Settings], name: str, field: FieldInfo) -> str:
    """The environment variable of a field."""
    section, key = _place(cls, name, field)
    return ENV_PREFIX + re.sub(r"[.-]", "_", f"{section}_{key}".upper())


def columns() -> int:
    """Columns of the terminal, up to 120; and 120 in a pipe."""
    return min(shutil.get_terminal_size((120, 0)).columns, 120)


class HelpFormatter(argparse.HelpFormatter):
    """Formatter for a parser that `add_flags` fills: a setting's meaning in a line, its default and variable in the next."""

    def __init__(self, prog: str) -> None:
        width = columns()
        # The longest variable is 68 characters.
        super().__init__(prog, max_help_position=38 if width > 105 else 12, width=width)

    def add_usage(self, usage: str | None, actions: Iterable[argparse.Action], groups: Iterable[Any], prefix: str | None = None) -> None:
        """Names no flag but -h; all follow one by one."""
        super().add_usage(usage, [each for each in actions if not each.option_strings or each.dest == "help"], groups, prefix)

    def _split_lines(self, text: str, width: int) -> list[str]:
        return [part for line in text.splitlines() for part in wrapped(line, width) or [""]]

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "".join(f"{indent}{line}\n" for line in self._split_lines(text, width))


def wrapped(line: str, width: int) -> list[str]:
    """A line in several, which begin below its first word."""
    indent = " " * (len(line) - len(line.lstrip()))
    return textwrap.wrap(line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def add_flags(parser: argparse.ArgumentParser, cls: type[Settings]) -> None:
    """Adds a flag for each field, with its meaning, default and environment variable in the help."""
    if not _needs_no_file(cls):
        parser.add_argument(
            "--config", metavar="FILE", help=f"TOML file with settings\n[default {DEFAULT_FILE} if it exists, CLIENTSCOPE_CONFIG]"
        )
    secrets = [name for name, field in cls.model_fields.items() if is_secret(field)]
    if secrets:
        named = ", ".join(variable(cls, name, cls.model_fields[name]) for name in secrets)
        parser.epilog = f"Not available as flags, only in the environment or in a TOML file that only its owner can read: {named}."
    for name, field in cls.model_fields.items():
        if is_secret(field):
            continue
        if option(field).positional:
            _add_positional(parser, name, field)
            continue
        default = "" if field.default in (None, "", {}) else f"default {field.default}, "
        origin = "" if is_flag_only(field) else f"\n[{default}{variable(cls, name, field)}]"
        text = f"{field.description}{origin}".replace("%", "%%")
        if field.annotation is bool:
            parser.add_argument(flag(name, field), dest=name, action="store_const", const=True, help=text)
        else:
            short = [f"-{option(field).short}"] if option(field).short else []
            action = "append" if option(field).several else "store"
            parser.add_argument(*short, flag(name, field), dest=name, metavar=_metavar(field), action=action, help=text)


def _add_positional(parser: argparse.ArgumentParser, name: str, field: FieldInfo) -> None:
    one, several = (None, "+") if field.is_required() else ("?", "*")
    nargs = several if option(field).several else one
    choices = get_args(field.annotation) if get_origin(field.annotation) is Literal else None
    parser.add_argument(name, metavar=flag(name, field), help=field.description, nargs=nargs, choices=choices)


def _metavar(field: FieldInfo) -> str:
    if option(field).metavar:
        return option(field).metavar
    if any(isinstance(part, AfterValidator) for part in field.metadata):  # the only strings that are checked
        return "NETWORKS" if get_args(Networks)[1] in field.metadata else "HOST:PORT"
    if get_origin(field.annotation) is Literal:
        return "|".join(filter(None, get_args(field.annotation)))
    kinds: dict[Any, str] = {int: "N", float: "SECONDS", Path: "PATH", Path | None: "PATH"}
    return kinds.get(field.annotation, "TEXT")


def load(cls: type[AnySettings], flags: Mapping[str, Any], environ: Mapping[str, str] | None = None) -> AnySettings:
    """One command's settings: flags over environment over file over defaults.

    Args:
        flags: argparse's namespace as a mapping; None means that the flag was not given.
        environ: the environment; the process' own by default.

    Raises:
        SettingsError: an unknown key or variable, an invalid value, an unreadable file; names the place.
    """
    environ = {} if _needs_no_file(cls) else os.environ if environ is None else environ
    default = DEFAULT_FILE if Path(DEFAULT_FILE).is_file() and not _needs_no_file(cls) else None
    path = flags.get("config") or environ.get("CLIENTSCOPE_CONFIG") or default
    tables = _read_toml(Path(path)) if path else {}
    _refuse_unknown_variables(environ)
    values: dict[str, Any] = {}
    origin: dict[str, str] = {}
    for name, field in cls.model_fields.items():
        section, key = _place(cls, name, field)
        places: dict[str, Any] = {}
        if not is_flag_only(field):
            places[f"{path}, [{section}] {key}"] = of_file = tables.get(section, {}).get(key)
            if of_file is not None and is_secret(field):
                require_private(Path(str(path)), f"[{section}] {key} is in")
            places[variable(cls, name, field)] = environ.get(variable(cls, name, field))
        for place, value in {**places, flag(name, field): flags.get(name)}.items():
            if value is not None:
                values[name], origin[name] = value, place
    try:
        return cls(**values)
    except ValidationError as error:
        first = error.errors()[0]
        where = origin.get(str(first["loc"][0]), str(first["loc"][0]))
        message = first["msg"].removeprefix("Value error, ")
        raise SettingsError(f"{where}: {message}", f"see: clientscope {' '.join(cls.words())} --help") from None


def _known() -> Iterator[tuple[type[Settings], str, FieldInfo]]:
    """The settings of all commands that the environment and a file may have."""
    for command in COMMANDS:
        for name, field in command.settings.model_fields.items():
            if not is_flag_only(field):
                yield command.settings, name, field


def _read_toml(path: Path) -> dict[str, Any]:
    from clientscope.profiles.toml_tables import TomlFile

    file = TomlFile(path, "--config and CLIENTSCOPE_CONFIG must name a readable TOML file")
    known: dict[str, set[str]] = defaultdict(set)
    for setting in _known():
        section, key = _place(*setting)
        known[section].add(key)
    for section, table in file.tables.items():
        if section not in known or not isinstance(table, dict):
            raise file.error((section,), f"unknown table [{section}]", f"known: {', '.join(sorted(known))}")
        for key in table:
            if key not in known[section]:
                raise file.error((section, key), f"unknown key {key} in [{section}]", f"known: {', '.join(sorted(known[section]))}")
    return file.tables


def _refuse_unknown_variables(environ: Mapping[str, str]) -> None:
    known = {variable(*setting) for setting in _known()} | _OTHER_VARIABLES
    for name in sorted(environ):
        if name.startswith(ENV_PREFIX) and name not in known:
            raise SettingsError(f"unknown environment variable {name}", "list the known variables: clientscope COMMAND --help")
