"""``clientscope``: from words to a command, and from errors to an exit status."""

from __future__ import annotations

import argparse
import logging
import os
import sys
import traceback
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from clientscope import __version__, config, config_sources
from clientscope.commands import COMMANDS, GROUPS, LONG_RUNNING, RELOADING, Group
from clientscope.errors import ClientscopeError

_EPILOG = """\
Settings come from flags, from the environment (CLIENTSCOPE_…, named in each command's --help) and from a TOML file
(clientscope.toml, --config, CLIENTSCOPE_CONFIG), in this order of precedence. An unknown key is an error.

Try it:              clientscope demo
A cluster of yours:  clientscope topics, then gateway, stream and serve; see README.md
"""


_COMPLETION_TEXT = """Prints what makes a shell complete clientscope's commands and flags, as in:
clientscope completion bash > ~/.local/share/bash-completion/completions/clientscope"""
_RULES_TEXT = "What is judged of clients' settings: lists the rules, or explains one."


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="clientscope",
        description="Which clients connect to your Kafka, in which versions, configured how.",
        epilog=_EPILOG,
        formatter_class=config_sources.help_formatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"clientscope {__version__}")
    parser.add_argument("--debug", action="store_true", help="with an error, where it came from, too")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for cls, function in COMMANDS:
        _add(commands, cls, function)
    for group in GROUPS:
        _add_group(commands, group)
    jars = commands.add_parser("jars", help="Downloads the jars that the broker and Spark need.", allow_abbrev=False)
    jars.add_argument("--lock", action="store_true", help="resolve ivy.xml anew and write jars.sha256 (for developers)")
    jars.set_defaults(_cls=None, _function=_jars)
    rules = commands.add_parser("rules", help=_RULES_TEXT, description=_RULES_TEXT, allow_abbrev=False)
    rules.add_argument("code", nargs="?", help="a rule to explain: its code or name, such as AN101 or acks_zero")
    rules.add_argument("-o", "--output", choices=("text", "json"), default="text", help="how it is told (default: %(default)s)")
    rules.set_defaults(_cls=None, _function=_rules)
    completion = commands.add_parser("completion", help=_COMPLETION_TEXT, description=_COMPLETION_TEXT, allow_abbrev=False)
    completion.add_argument("shell", choices=("bash", "zsh", "tcsh"))
    completion.set_defaults(_cls=None, _function=_completion)
    bundle = commands.add_parser("bundle", help="Writes what spark-submit needs to run the job on a cluster.", allow_abbrev=False)
    bundle.add_argument("folder", type=Path, help="where; made if it isn't there")
    bundle.set_defaults(_cls=None, _function=_bundle)
    return parser


def _add_group(commands: argparse._SubParsersAction[argparse.ArgumentParser], group: Group) -> None:
    parser = commands.add_parser(group.name, help=group.text, description=group.text, epilog=group.status, allow_abbrev=False)
    below = parser.add_subparsers(metavar="WHAT", required=True)
    for cls, function in group.commands:
        _add(below, cls, function)
    for each in group.groups:
        _add_group(below, each)


def _add(commands: argparse._SubParsersAction[argparse.ArgumentParser], cls: type[config.Settings], function: object) -> None:
    text = (cls.__doc__ or "").strip()
    name = config_sources.words(cls)[-1]
    command = commands.add_parser(name, help=text, description=text, allow_abbrev=False, formatter_class=config_sources.help_formatter)
    config_sources.add_flags(command, cls)
    command.set_defaults(_cls=cls, _function=function)


def _completion(flags: dict[str, Any]) -> int:
    import shtab

    print(shtab.complete(_parser(), flags["shell"]))
    return 0


def _bundle(flags: dict[str, Any]) -> int:
    from clientscope.local import jars
    from streaming import bundle

    bundle.write(flags["folder"], jars.jars("spark", print))
    print(f"wrote {flags['folder']}; docs/cluster.md says how spark-submit takes it")
    return 0


def _rules(flags: dict[str, Any]) -> int:
    from sinks.rules import command

    return command.run(flags["code"], flags["output"])


def _jars(flags: dict[str, Any]) -> int:
    from clientscope.local import jars

    if flags["lock"]:
        print(f"locked {jars.lock(print)} jars in {jars.LOCK}")
    for configuration in jars.CONFIGURATIONS:
        print(f"{configuration}: {len(jars.jars(configuration, print))} jars in {jars.home() / configuration}")
    return 0


_ALONE = {group.name: group.alone for group in GROUPS if group.alone}


def _with_list(argv: Sequence[str]) -> list[str]:
    """``clientscope findings`` alone lists, ``deliver`` delivers: argparse itself would take flags before ``show`` and forget them."""
    words = list(argv)
    if words[:1] and words[0] in _ALONE and (len(words) == 1 or (words[1].startswith("-") and words[1] not in ("-h", "--help"))):
        words.insert(1, _ALONE[words[0]])
    return words


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; returns its exit status: 0, `Settings.error_status` for an error that a person can mend, 2 for wrong use."""
    flags = vars(_parser().parse_args(_with_list(sys.argv[1:] if argv is None else argv)))
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s", stream=sys.stderr)
    # A broker that restarts, or isn't there yet, is our own processes' business to report, in a line of theirs.
    logging.getLogger("kafka").setLevel(logging.CRITICAL)
    try:
        if flags["_cls"] is None:
            return int(flags["_function"](flags))
        load = partial(config_sources.load, flags["_cls"], flags)
        arguments = [load(), load] if flags["_cls"] in RELOADING else [load()]
        return int(flags["_function"](*arguments))
    except ClientscopeError as error:
        print(f"error: {error}", file=sys.stderr)
        if error.hint:
            print(f"hint: {error.hint}", file=sys.stderr)
        if flags["debug"]:
            traceback.print_exc()
        return int(getattr(flags["_cls"], "error_status", 1))
    except BrokenPipeError:  # `| head` has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        if flags["debug"] or flags["_cls"] in LONG_RUNNING:
            raise
        print(f"error: {type(error).__name__}: {error}", file=sys.stderr)
        print("hint: a fault of clientscope's own; clientscope --debug COMMAND says where: please report that", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
