"""The command ``clientscope connections``."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from clientscope.commands.command import Command
from clientscope.config import ListingSettings
from clientscope.config.option import Option
from clientscope.config_types import Address


class ConnectionsSettings(ListingSettings):
    """Lists the clients that are connected to a gateway now."""

    section = "connections"
    admin: Address = Field("127.0.0.1:9465", description="the gateway's --admin-listen")
    software: str = Field("", description="list only clients of this software, such as apache-kafka-java, or a pattern: '*librdkafka*'")
    software_version: Annotated[str, Option(flag="version")] = Field(
        "", description="list only these versions: '<3.0', '>=2.8,<3.9', '3.9.*'; a version that can't be compared never matches"
    )
    client_id: str = Field("", description="list only this client.id, or a pattern: 'orders-*'")
    principal: str = Field("", description="list only this principal, or a pattern: 'User:*'")


def run(settings: ConnectionsSettings) -> int:
    """Prints the connections that match the filters, once or repeatedly.

    Raises:
        EnvironmentProblem: no gateway answers.
        SettingsError: a filter is invalid.
    """
    import time

    from clientscope.api.gateway import GatewayConnection
    from clientscope.report import connections
    from clientscope.report.listing import Listed, show

    wanted = connections.ConnectionFilter.of(settings.software, settings.software_version, settings.client_id, settings.principal)

    def ask() -> Listed[GatewayConnection]:
        return Listed(
            wanted.select(connections.fetch(settings.admin)),
            row=lambda connection: connection.model_dump(by_alias=True),
            name=lambda connection: str(connection.connection_id),
            table=lambda found, wide: connections.table(found, time.time(), wide=wide),
        )

    show(settings, connections.FIELDS, ask)
    return 0


COMMAND = Command(ConnectionsSettings, run)
