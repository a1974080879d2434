"""The command ``clientscope history starts``."""

from __future__ import annotations

from clientscope.commands.command import Command
from clientscope.commands.history.asking import WhosePastSettings


class HistoryStartsSettings(WhosePastSettings):
    """Lists the starts of an application or client in a range of time, and the settings that changed; -o wide adds all that each pushed.
    A start is a configuration that a client pushed, never what was seen of its requests.
    """

    section = "history"
    subcommand = "starts"


def run(settings: HistoryStartsSettings) -> int:
    """Prints the starts, the newest first.

    Raises:
        EnvironmentProblem: no serve answers, it requires a token, or history can't be read now.
        SettingsError: the range is invalid, it isn't given whose, or serve has no history.
    """
    from clientscope.api.history import PastStart
    from clientscope.clock import now_ms
    from clientscope.report.api import Api
    from clientscope.report.history import starts
    from clientscope.report.history.ranges import span
    from clientscope.report.listing import Listed, show

    api, whose = Api(settings), settings.whose()

    def ask() -> Listed[PastStart]:
        since, until = span(settings.since, settings.to, settings.last, now_ms())
        answer, left_out = starts.fetch(api, whose, since, until, 0 if settings.sort else settings.limit)
        return Listed(
            answer.items,
            row=starts.row,
            name=lambda start: start.client_id or "",
            table=starts.view,
            cells=starts.cells,
            left_out=left_out,
        )

    show(settings, starts.FIELDS, ask, starts.COLUMNS)
    return 0


COMMAND = Command(HistoryStartsSettings, run)
