"""The ``clientscope`` command line: finds the command, runs it, and turns errors into an exit status."""

from __future__ import annotations

import logging
import os
import re
import sys
import traceback
from collections.abc import Sequence
from functools import partial

from clientscope.commands import sources, wrong_use
from clientscope.commands.command import Command, CommandGroup
from clientscope.commands.parser import parser
from clientscope.commands.registry import ENTRIES
from clientscope.errors import ClientscopeError, EnvironmentProblem, SettingsError
from clientscope.query import QueryError

WRONG_USE = 2
_WRONG = (SettingsError, QueryError)
"""What was typed or configured is wrong; all else that can be fixed is wrong with what is around: `Command.error_status`."""

_ALONE = {entry.name: entry.alone for entry in ENTRIES if isinstance(entry, CommandGroup) and entry.alone}


def _with_default(argv: Sequence[str]) -> list[str]:
    """``clientscope findings`` alone lists, ``deliver`` delivers: argparse itself would take flags before ``show`` and forget them."""
    words = list(argv)
    if words[:1] and words[0] in _ALONE and (len(words) == 1 or (words[1].startswith("-") and words[1] not in ("-h", "--help"))):
        words.insert(1, _ALONE[words[0]])
    return words


_NEGATED = re.compile(r"-(\(|[A-Za-z_]{2,}:)")
"""A negated term of a search, such as ``-owner:payments``: argparse would take it for the flag ``-o``."""


def _as_arguments(words: Sequence[str]) -> list[str]:
    """A space before each negated term, and before a descending field after ``--sort``, so that argparse takes it for an argument."""
    return [
        f" {word}" if _NEGATED.match(word) or (before == "--sort" and word.startswith("-")) else word
        for before, word in zip(("", *words), words, strict=False)
    ]


def _as_given(value: object) -> object:
    """What `_as_arguments` changed, as it was given."""
    if isinstance(value, list):
        return [_as_given(each) for each in value]
    return value[1:] if isinstance(value, str) and value.startswith(" ") and _NEGATED.match(value, 1) else value


EXTRAS = {
    "pyspark": "stream",
    "py4j": "stream",
    "pandas": "stream",
    "great_expectations": "stream",
    "fastapi": "serve",
    "starlette": "serve",
    "deltalake": "serve",
    "apprise": "deliver",
    "urllib3": "deliver",
    "aiokafka": "demo",
    "confluent_kafka": "demo",
}
"""Modules that a plain installation lacks, and the extra that brings each (pyproject.toml)."""


def _missing_extra(command: Command, module: str) -> EnvironmentProblem:
    text = f"clientscope {' '.join(command.words)} needs {module}, which isn't installed"
    return EnvironmentProblem(text, f"pip install 'clientscope[{EXTRAS[module]}]'")


def show(error: ClientscopeError) -> None:
    """Prints what is wrong, and what to do."""
    print(f"error: {error}", file=sys.stderr)
    if error.hint:
        print(f"hint: {error.hint}", file=sys.stderr)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command.

    Returns:
        Its exit status: the command's own, 0 if all went well; 2 if an argument, a setting, or a search is wrong; `Command.error_status`
        if a broker, a file, or a right is missing.
    """
    words = _with_default(sys.argv[1:] if argv is None else argv)
    try:
        wrong_use.check_command(words, ENTRIES)
        known, unknown = parser().parse_known_args(_as_arguments(words))
        flags = {name: _as_given(value) for name, value in vars(known).items()}
        command: Command = known._command
        if unknown:
            raise wrong_use.of_arguments([str(_as_given(word)) for word in unknown], command)
    except SettingsError as error:
        show(error)
        return WRONG_USE
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # a terminal of few characters
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s", stream=sys.stderr)
    # A broker that restarts, or is not up yet: our own processes report it, in one line.
    logging.getLogger("kafka").setLevel(logging.CRITICAL)
    try:
        load = partial(sources.load, command.settings, flags)
        if command.reads_others:
            return command.run(load(), partial(sources.load, flags={"config": flags.get("config")}))
        return command.run(load if command.reloads else load())
    except ClientscopeError as error:
        show(error)
        if flags["debug"]:
            traceback.print_exc()
        return WRONG_USE if isinstance(error, _WRONG) else command.error_status
    except BrokenPipeError:  # `| head` has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and error.name and error.name.split(".")[0] in EXTRAS:
            show(_missing_extra(command, error.name.split(".")[0]))
            return command.error_status
        if flags["debug"] or command.long_running:
            raise
        print(f"error: {type(error).__name__}: {error}", file=sys.stderr)
        print("hint: this is a bug in clientscope; please report it with the output of clientscope --debug COMMAND", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
