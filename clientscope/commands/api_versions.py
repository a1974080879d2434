"""The command ``clientscope api-versions``."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from clientscope.commands.command import Command
from clientscope.config import KafkaSettings, ListingSettings
from clientscope.config.base import Option


class ApiVersionsSettings(ListingSettings, KafkaSettings):
    """Lists the API versions that each broker of a cluster supports, and marks those that differ between brokers (KIP-35)."""

    section = "api-versions"
    api: Annotated[str, Option(metavar="APIS")] = Field(
        "all", description="all; none, which lists only the brokers; or names or keys separated by commas: Produce,Fetch"
    )


def run(settings: ApiVersionsSettings) -> int:
    """Asks each broker of the cluster, and prints the answers.

    Raises:
        EnvironmentProblem: no broker answers at the bootstrap servers.
        SettingsError: an unknown API.
    """
    from dataclasses import asdict

    from clientscope.cluster.api_versions import Cluster, ask
    from clientscope.kafka.access import KafkaAccess
    from clientscope.report import brokers
    from clientscope.report.listing import Listed, show

    chosen = brokers.choose_apis(settings.api)  # before any broker is asked

    def look() -> Listed[brokers.BrokerLine]:
        cluster = ask(KafkaAccess.of(settings).client_arguments())
        by_id = {answer.broker.id: answer for answer in cluster.answers}
        return Listed(
            brokers.api_lines(cluster, chosen),
            row=asdict,
            name=lambda line: str(line.broker),
            table=lambda found, _wide: brokers.api_report(Cluster(cluster.cluster_id, [by_id[line.broker] for line in found]), chosen),
            cells=brokers.api_cells,
        )

    show(settings, brokers.API_FIELDS, look, brokers.API_COLUMNS)
    return 0


COMMAND = Command(ApiVersionsSettings, run)
