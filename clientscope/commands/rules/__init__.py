"""The command ``clientscope rules``, and docs/rules.md."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from clientscope.commands.command import Command
from clientscope.config import Settings
from clientscope.config.option import Option


class RulesSettings(Settings):
    """Lists the rules that judge clients' settings, or explains one."""

    section = "rules"
    code: Annotated[str, Option(positional=True, metavar="code")] = Field(
        "", description="code or name of a rule to explain, such as AN101 or acks_zero"
    )
    output: Annotated[Literal["text", "json"], Option(short="o", flag_only=True)] = Field("text", description="format")


def run(settings: RulesSettings) -> int:
    """Prints all rules, or one."""
    from clientscope.commands.rules import explaining

    return explaining.run(settings.code or None, settings.output)


COMMAND = Command(RulesSettings, run)
