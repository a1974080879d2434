"""The command ``clientscope rules``."""

from __future__ import annotations

from pydantic import Field

from clientscope.commands.command import Command
from clientscope.config import ListingSettings
from clientscope.config.base import SearchTerms


class RulesSettings(ListingSettings):
    """Lists the rules that judge clients' settings, or explains one."""

    section = "rules"
    search: SearchTerms = Field(
        (),
        description="code or name of a rule to explain, such as AN101 or acks_zero, or terms to list by:\n"
        "'severity:>=high' risk:loss type:producer key:acks",
    )


def run(settings: RulesSettings) -> int:
    """Prints all rules, those that the search finds, or one.

    Raises:
        SettingsError: there is no such rule, or the search is invalid.
    """
    from clientscope.commands.rules import explaining

    return explaining.run(settings)


COMMAND = Command(RulesSettings, run)
