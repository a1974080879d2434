"""The command ``clientscope completion``."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from clientscope.commands.command import Command
from clientscope.config import Settings
from clientscope.config.base import Option


class CompletionSettings(Settings):
    """Prints a script that completes clientscope's commands and flags in a shell, as in:
    clientscope completion bash > ~/.local/share/bash-completion/completions/clientscope"""

    section = "completion"
    shell: Annotated[Literal["bash", "zsh", "tcsh"], Option(positional=True)] = Field(description="bash, zsh or tcsh")


def run(settings: CompletionSettings) -> int:
    """Prints the script."""
    import shtab

    from clientscope.commands.parser import parser

    print(shtab.complete(parser(), settings.shell))
    return 0


COMMAND = Command(CompletionSettings, run)
