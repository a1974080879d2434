"""The command ``clientscope connections``."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from clientscope.commands.command import Command
from clientscope.config import ListingSettings, OptionalPageSettings
from clientscope.config.option import Option
from clientscope.config_types import Address


class ConnectionsSettings(ListingSettings, OptionalPageSettings):
    """Lists the clients that are connected to a gateway now; with --url, to every gateway, as clientscope serve knows them."""

    section = "connections"
    search: Annotated[tuple[str, ...], Option(positional=True, several=True, metavar="TERM")] = Field(
        (),
        description="terms of the page's search (docs/page.md): software:librdkafka 'version:<2.6'; with --url also broker:1",
    )
    admin: Address = Field("127.0.0.1:9465", description="the gateway's --admin-listen")


def run(settings: ConnectionsSettings) -> int:
    """Prints the connections that match the search, once or repeatedly.

    Raises:
        EnvironmentProblem: no gateway answers; with --url, no serve answers, or it requires a token.
        SettingsError: the search is invalid.
    """
    import time

    from clientscope.api.gateway import GatewayConnection
    from clientscope.report import connections
    from clientscope.report.api import Api
    from clientscope.report.listing import Listed, show

    page = settings.page()
    api = Api(page) if page else None

    def ask() -> Listed[GatewayConnection]:
        left_out: list[str] = []
        if api is None:
            every = connections.matching(connections.fetch(settings.admin), settings.search)
        else:
            every, left_out = connections.fetch_all(api, " ".join(settings.search))
        return Listed(
            connections.in_order(every),
            row=lambda connection: connection.model_dump(by_alias=True),
            name=lambda connection: str(connection.connection_id),
            table=lambda found, wide: connections.table(found, time.time(), wide=wide),
            left_out=left_out,
        )

    show(settings, connections.FIELDS if api is None else connections.ALL_FIELDS, ask)
    return 0


COMMAND = Command(ConnectionsSettings, run)
