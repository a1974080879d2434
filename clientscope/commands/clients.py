"""The command ``clientscope clients``."""

from __future__ import annotations

from pydantic import Field

from clientscope.commands.command import Command
from clientscope.config import ListingSettings, PageSettings
from clientscope.config.base import SearchTerms


class ClientsSettings(ListingSettings, PageSettings):
    """Lists all connected clients with their findings, as the page does."""

    section = "clients"
    search: SearchTerms = Field(
        (), description="terms of the page's search (docs/page.md): software:librdkafka 'version:<2.6' 'finding:>=high'"
    )


def run(settings: ClientsSettings) -> int:
    """Prints the clients that the search finds.

    Raises:
        EnvironmentProblem: no serve answers, or it requires a token.
        SettingsError: the search is invalid; says where.
    """
    import time
    from dataclasses import asdict

    from clientscope.api.clients import ClientRow
    from clientscope.report import clients
    from clientscope.report.api import Api
    from clientscope.report.listing import Listed, show

    api = Api(settings)

    def ask() -> Listed[ClientRow]:
        found, left_out = clients.fetch_clients(api, " ".join(settings.search))
        return Listed(
            found,
            row=asdict,
            name=lambda item: item.key,
            table=lambda items, wide: clients.clients_table(items, time.time(), wide=wide),
            left_out=left_out,
        )

    show(settings, clients.FIELDS, ask)
    return 0


COMMAND = Command(ClientsSettings, run)
