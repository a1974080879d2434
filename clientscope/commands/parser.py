"""Argument parser of the command line, made from the registry."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Iterable
from functools import partial

from clientscope import __version__
from clientscope.commands import sources
from clientscope.commands.command import Command, CommandGroup
from clientscope.commands.registry import ENTRIES

_EPILOG = """\
Settings come from flags, from the environment (CLIENTSCOPE_…, named in each command's --help) and from a TOML file
(clientscope.toml, --config, CLIENTSCOPE_CONFIG), in this order of precedence. An unknown key is an error.

Try it:            clientscope demo
On your cluster:   clientscope topics, then gateway, stream and serve; see docs/install.md

Exit status: 0 done; 1 not done (no broker, no right, or what a command's --help says);
2 wrong use: a flag, a setting, a file of settings or a search is wrong; 130 ended by Ctrl-C.
"""


def parser() -> argparse.ArgumentParser:
    """A parser of all commands; what it parses has the chosen one in ``_command``."""
    made = argparse.ArgumentParser(
        prog="clientscope",
        description="Shows which clients connect to your Kafka, in which versions, and how they are configured.",
        epilog=_EPILOG,
        formatter_class=sources.HelpFormatter,
        allow_abbrev=False,
    )
    made.add_argument("--version", action="version", version=f"clientscope {__version__}")
    made.add_argument("--debug", action="store_true", help="also print the traceback of an error")
    _add_all(made.add_subparsers(metavar="COMMAND", required=True), ENTRIES)
    return made


def _add_all(commands: argparse._SubParsersAction[argparse.ArgumentParser], entries: Iterable[Command | CommandGroup]) -> None:
    add = partial(commands.add_parser, allow_abbrev=False, formatter_class=sources.HelpFormatter)
    for entry in entries:
        if isinstance(entry, Command):
            text = inspect.getdoc(entry.settings) or ""
            below = add(entry.words[-1], help=text, description=text)
            sources.add_flags(below, entry.settings)
            below.set_defaults(_command=entry)
        else:
            group = add(entry.name, help=entry.text, description=entry.text, epilog=entry.status)
            _add_all(group.add_subparsers(metavar="WHAT", required=True), entry.commands)
