"""The command ``clientscope connections``."""

from __future__ import annotations

from pydantic import Field

from clientscope.commands.command import Command
from clientscope.config import ListingSettings
from clientscope.config.base import SearchTerms
from clientscope.config_types import Address


class ConnectionsSettings(ListingSettings):
    """Lists the clients that are connected to a gateway now; clientscope clients lists those of every gateway."""

    section = "connections"
    search: SearchTerms = Field((), description="terms of the page's search (docs/page.md): software:librdkafka 'version:<2.6'")
    admin: Address = Field("127.0.0.1:9465", description="the gateway's --admin-listen")


def run(settings: ConnectionsSettings) -> int:
    """Prints the connections that match the search, once or repeatedly.

    Raises:
        EnvironmentProblem: no gateway answers.
        SettingsError: the search is invalid.
    """
    import time

    from clientscope.api.gateway import GatewayConnection
    from clientscope.model.codec import adapter
    from clientscope.report import connections
    from clientscope.report.listing import Listed, show

    def ask() -> Listed[GatewayConnection]:
        return Listed(
            connections.in_order(connections.matching(connections.fetch(settings.admin), settings.search)),
            row=lambda connection: adapter(GatewayConnection).dump_python(connection, by_alias=True),
            name=lambda connection: str(connection.connection_id),
            table=lambda found, wide: connections.table(found, time.time(), wide=wide),
        )

    show(settings, connections.FIELDS, ask)
    return 0


COMMAND = Command(ConnectionsSettings, run)
