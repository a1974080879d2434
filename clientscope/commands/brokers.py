"""The command ``clientscope brokers``."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from clientscope.commands.command import Command
from clientscope.config import KafkaSettings, ListingSettings
from clientscope.config.base import Option
from clientscope.config_types import DeclaredSoftware, Urls


class BrokersSettings(ListingSettings, KafkaSettings):
    """Lists a cluster's brokers and the software of each: declared, read from JMX, reported by its gateway, or inferred (KIP-885)."""

    section = "brokers"
    software: Annotated[DeclaredSoftware, Option(metavar="ID=NAME/VERSION")] = Field(
        {}, description="known software of brokers: 1=Kafka/4.4.0,2=Redpanda;\nin TOML the table [brokers.software]"
    )
    jmx: Annotated[Urls, Option(metavar="ID=URL")] = Field(
        {}, description="JMX exporters of brokers: 1=http://broker-1:9404/metrics; in TOML the table [brokers.jmx]"
    )


def run(settings: BrokersSettings) -> int:
    """Prints the brokers.

    Raises:
        EnvironmentProblem: no broker answers at the bootstrap servers.
        SettingsError: a setting names a broker that the cluster doesn't have.
    """
    from dataclasses import asdict

    from clientscope.cluster.api_versions import ask
    from clientscope.cluster.software import BrokerDetails, find_all
    from clientscope.kafka.access import KafkaAccess
    from clientscope.report import brokers
    from clientscope.report.listing import Listed, show

    def look() -> Listed[BrokerDetails]:
        cluster = ask(KafkaAccess.of(settings).client_arguments(), with_software=True)
        known = {answer.broker.id for answer in cluster.answers}
        brokers.require_known("software", settings.software, known)
        brokers.require_known("jmx", settings.jmx, known)
        return Listed(
            find_all(cluster.answers, brokers.declared(settings.software), settings.jmx),
            row=asdict,
            name=lambda each: str(each.broker),
            table=lambda found, wide: brokers.broker_software_table(cluster, found, wide=wide),
        )

    show(settings, brokers.FIELDS, look)
    return 0


COMMAND = Command(BrokersSettings, run)
