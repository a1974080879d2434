"""The command ``clientscope history diff``."""

from __future__ import annotations

from clientscope.commands.command import Command
from clientscope.commands.history.asking import WhosePastSettings


class HistoryDiffSettings(WhosePastSettings):
    """Shows what changed of an application or client between two times: its newest start in the range against the newest before it.
    With the time of a start, as clientscope history starts prints it, as --from: what changed since that start. Changes that were taken
    back within the range are in clientscope history starts alone.
    """

    section = "history"
    subcommand = "diff"


def run(settings: HistoryDiffSettings) -> int:
    """Prints what changed; clients that changed in the same way are together.

    Raises:
        EnvironmentProblem: no serve answers, it requires a token, or history can't be read now.
        SettingsError: the range is invalid, it isn't given whose, or serve has no history.
    """
    from clientscope.api.history import PastDifference
    from clientscope.clock import now_ms
    from clientscope.report.api import Api
    from clientscope.report.history import differences
    from clientscope.report.history.ranges import span
    from clientscope.report.listing import Listed, show

    api, whose = Api(settings), settings.whose()

    def ask() -> Listed[PastDifference]:
        since, until = span(settings.since, settings.to, settings.last, now_ms(), is_before=True)
        answer, left_out = differences.fetch(api, whose, since, until)
        return Listed(
            answer.items,
            row=lambda one: one.model_dump(mode="json"),
            name=lambda one: one.after.client_id or "",
            table=lambda found, _wide: differences.view(found),
            cells=differences.cells,
            left_out=left_out,
        )

    show(settings, differences.FIELDS, ask, differences.COLUMNS)
    return 0


COMMAND = Command(HistoryDiffSettings, run)
