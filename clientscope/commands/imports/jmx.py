"""The command ``clientscope import jmx``."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field

from clientscope.commands.command import Command
from clientscope.config import ListingSettings
from clientscope.config.option import Option
from clientscope.config_types import check_url


class ImportJmxSettings(ListingSettings):
    """Lists connections by software, and requests by version, from brokers' JMX metrics. Exit status: 1 for requests in versions that the
    target doesn't serve, 2 for wrong use or no such metrics.
    """

    section = "import"
    subcommand = "jmx"
    pages: Annotated[tuple[str, ...], Option(positional=True, several=True, metavar="PAGE")] = Field(
        (), description="JMX exporters' pages, one of each broker: http://broker-1:9404/metrics, files, or - for standard input"
    )
    prometheus: Annotated[str, BeforeValidator(check_url), Option(flag_only=True, metavar="URL")] = Field(
        "", description="ask this Prometheus, which scrapes the brokers, instead of their pages"
    )
    window: Annotated[str, Option(flag_only=True, metavar="DURATION")] = Field(
        "1d", pattern=r"^[1-9][0-9]{0,5}[smhdwy]$", description="with --prometheus: so far back, such as 12h or 30d"
    )
    target: str = Field("4.4", description="release of the brokers for upgrade readiness, such as 4.0.0 or 4.1")


def run(settings: ImportJmxSettings) -> int:
    """Prints the rows."""
    from clientscope.commands.imports import jmx_rows

    return jmx_rows.run(settings)


COMMAND = Command(ImportJmxSettings, run, error_status=2)
