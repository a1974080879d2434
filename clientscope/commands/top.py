"""The command ``clientscope top``."""

from __future__ import annotations

from clientscope.commands.command import Command
from clientscope.config import PageSettings


class TopSettings(PageSettings):
    """Shows a live overview on this terminal: connections by software version, findings, and the health of each process."""

    section = "top"


def run(settings: TopSettings) -> int:
    """Shows the overview until ``q``.

    Raises:
        EnvironmentProblem: no serve answers, or it requires a token.
    """
    from clientscope.api.overview import Overview
    from clientscope.report.api import Api
    from clientscope.report.top import Top

    api = Api(settings)
    api.get("overview", {}, Overview)  # an error is printed here, rather than on a screen that disappears
    Top(api).run()
    return 0


COMMAND = Command(TopSettings, run)
