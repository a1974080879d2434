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
    from functools import partial

    from clientscope.cluster.api_versions import BrokerAnswer, Cluster, ask
    from clientscope.cluster.comparison import compare
    from clientscope.kafka.access import KafkaAccess
    from clientscope.report import brokers
    from clientscope.report.listing import Listed, show

    chosen = brokers.choose_apis(settings.api)  # before any broker is asked

    def look() -> Listed[BrokerAnswer]:
        cluster = ask(KafkaAccess.of(settings).client_arguments())
        row = partial(brokers.api_row, cluster.cluster_id, compare(cluster.answers, chosen))
        return Listed(
            cluster.answers,
            row=row,
            name=lambda answer: str(answer.broker.id),
            table=lambda found, _wide: brokers.api_report(Cluster(cluster.cluster_id, [*found]), chosen),
            cells=lambda answer: brokers.api_cells(row(answer)),
        )

    show(settings, brokers.API_FIELDS, look, brokers.API_COLUMNS)
    return 0


COMMAND = Command(ApiVersionsSettings, run)
