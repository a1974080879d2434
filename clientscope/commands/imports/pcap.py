"""The command ``clientscope import pcap``."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from clientscope.commands.command import Command
from clientscope.commands.xray import InventorySettings
from clientscope.config.option import Option


class ImportPcapSettings(InventorySettings):
    """Shows who is connected, misconfigured clients and upgrade readiness, by captured plaintext traffic of a broker.

    Exit status: 1 for findings at --fail-on, 2 for wrong use or no such capture.
    """

    section = "import"
    subcommand = "pcap"
    paths: Annotated[tuple[str, ...], Option(positional=True, several=True, metavar="PATH")] = Field(
        description="captures in the formats pcap and pcapng, as tcpdump -w writes them (*.gz too), or globs"
    )
    port: int = Field(9092, ge=1, le=65535, description="port of the brokers' plaintext listener")


def run(settings: ImportPcapSettings) -> int:
    """Prints the result."""
    from clientscope.commands.imports import pcap_inventory

    return pcap_inventory.run(settings)


COMMAND = Command(ImportPcapSettings, run, error_status=2)
