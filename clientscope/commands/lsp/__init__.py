"""The command ``clientscope lsp``: `clientscope lint` and `clientscope explain` in an editor, by the Language Server Protocol.

- `serving`: the server; the only module here that knows the library pygls.
- `documents`: an open document, read and judged as ``clientscope lint`` does.
- `diagnostics`, `hovering`, `completing`, `actions`: the answers.
- `cursor`: what the text before the cursor is a part of.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from clientscope.commands.command import Command
from clientscope.commands.lint.settings import FileSettings, RuleSettings
from clientscope.config.option import Option


class LspSettings(FileSettings, RuleSettings):
    """Serves the findings of clientscope lint, and what clientscope explain knows, to an editor over standard input and output."""

    section = "lint"  # what clientscope.toml says of lint holds in the editor too

    stdio: Annotated[bool, Option(flag_only=True)] = Field(
        False, description="use standard input and output, as always; some editors add this flag by themselves"
    )

    @classmethod
    def words(cls) -> list[str]:
        """What follows ``clientscope`` to call the command."""
        return ["lsp"]


def run(settings: LspSettings) -> int:
    """Serves until the editor ends the connection.

    Raises:
        EnvironmentProblem: the library pygls isn't installed.
        ClientscopeError: something is wrong with the settings or the rules file.
    """
    from importlib.util import find_spec

    from clientscope.errors import EnvironmentProblem

    if find_spec("pygls") is None:
        raise EnvironmentProblem("clientscope lsp needs the library pygls", "pip install 'clientscope[lsp]'")
    from clientscope.commands.lsp import serving

    return serving.run(settings)


COMMAND = Command(LspSettings, run)
