"""Commands as a user runs them, in the test's own process."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from clientscope.commands import sources
from clientscope.commands.sources import AnySettings


class Said(NamedTuple):
    """What a command ended with."""

    status: int
    out: str
    err: str

    def _of(self, status: int, text: str) -> str:
        assert self.status == status, self
        return text

    @property
    def printed(self) -> str:
        """Standard output of a command that succeeded."""
        return self._of(0, self.out)

    @property
    def noted(self) -> str:
        """Standard error of a command that succeeded."""
        return self._of(0, self.err)

    @property
    def failed(self) -> str:
        """Standard error of a command that ended with status 1."""
        return self._of(1, self.err)

    @property
    def refused(self) -> str:
        """Standard error of a command that was used wrongly."""
        return self._of(2, self.err)


Run = Callable[..., Said]
"""Runs a command with these words."""

Document = Callable[..., dict[str, Any]]
"""Runs a command whose output is one JSON object."""

Listed = Callable[..., list[dict[str, Any]]]
"""Runs a command whose output is a list in JSON."""


def document(run: Run, *words: str) -> dict[str, Any]:
    """The JSON object that a command prints which ends well and says nothing else."""
    said = run(*words, "--output-format", "json")
    assert (said.status, said.err) == (0, "")
    return dict(json.loads(said.out))


def settings_of(cls: type[AnySettings], argv: Sequence[str]) -> AnySettings:
    """What a command's arguments come to, without the command."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    sources.add_flags(parser, cls)
    return sources.load(cls, vars(parser.parse_args(argv)))
