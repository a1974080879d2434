"""The command ``clientscope client show``."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from clientscope.commands.command import Command, CommandGroup
from clientscope.config import PageSettings
from clientscope.config.base import Option, TextOrJson


class ClientShowSettings(PageSettings):
    """Shows one client: software, connections, configuration, findings, and what changed between its starts."""

    section = "client"
    subcommand = "show"
    client: Annotated[str, Option(positional=True, metavar="ID")] = Field(
        description="its key, which clientscope clients -o name prints, or its client.id if one connected client alone has it"
    )
    output: TextOrJson


def _show(settings: ClientShowSettings) -> int:
    """Prints one client.

    Raises:
        EnvironmentProblem: no serve answers, or it requires a token.
        SettingsError: no client has this key or client.id, or several have it; lists them.
    """
    import time

    from clientscope.model.codec import adapter
    from clientscope.report import clients, listing
    from clientscope.report.api import Api

    found = clients.fetch_client(Api(settings), settings.client)
    if settings.output == "json":
        print(adapter(type(found)).dump_json(found, indent=2).decode())
    else:
        listing.print_view(clients.client_view(found, time.time()))
    return 0


COMMAND = CommandGroup("client", "Shows one client, as its view on the page does.", (Command(ClientShowSettings, _show),))
