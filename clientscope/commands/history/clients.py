"""The command ``clientscope history clients``."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from clientscope.commands.command import Command
from clientscope.commands.history.asking import PastSettings
from clientscope.config.option import Option


class HistoryClientsSettings(PastSettings):
    """Lists the clients that were connected in a range of time, by default in the last 24 hours."""

    section = "history"
    subcommand = "clients"
    search: Annotated[tuple[str, ...], Option(positional=True, several=True, metavar="TERM")] = Field(
        (), description="terms of the page's search (docs/page.md): application:orders software:librdkafka 'version:<2.6' broker:1"
    )


def run(settings: HistoryClientsSettings) -> int:
    """Prints the clients that the search finds.

    Raises:
        EnvironmentProblem: no serve answers, it requires a token, or history can't be read now.
        SettingsError: the range or the search is invalid, or serve has no history.
    """
    from clientscope.api.history import PastClient
    from clientscope.clock import now_ms
    from clientscope.report.api import Api
    from clientscope.report.history import clients
    from clientscope.report.history.ranges import span
    from clientscope.report.listing import Listed, show

    api = Api(settings)

    def ask() -> Listed[PastClient]:
        since, until = span(settings.since, settings.to, settings.last, now_ms())
        answer, left_out = clients.fetch(api, " ".join(settings.search), since, until)
        return Listed(
            answer.items,
            row=lambda item: item.model_dump(mode="json"),
            name=lambda item: item.client_id or "",
            table=lambda items, wide: clients.table(items, answer, wide=wide),
            left_out=left_out,
        )

    show(settings, clients.FIELDS, ask)
    return 0


COMMAND = Command(HistoryClientsSettings, run)
