"""Software of each broker of a cluster, and the source of that knowledge (KIP-885): declared, from JMX, from its gateway, inferred, or
unknown.

What is declared holds before what JMX says, that before what the gateway in front of the broker says on DescribeCluster, and that before
what the API ranges let infer. Null is an answer, and a guess is always marked as inferred.
"""

from __future__ import annotations

import re
import urllib.request
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from http.client import HTTPException

from prometheus_client.parser import text_string_to_metric_families

from clientscope.catalog.releases import infer
from clientscope.cluster.api_versions import BrokerAnswer
from clientscope.errors import EnvironmentProblem
from clientscope.wire.describe_cluster import BrokerSoftware

KAFKA = "Kafka"
"""Apache Kafka's name, as KIP-885 has it."""

APP_INFO = "kafka_server_app"
"""How a JMX exporter's names of ``kafka.server:type=app-info`` begin, with the version in a label ``version``. What older exporters call
``kafka_server_app_info`` is ``kafka_server_app`` since 1.0, which takes ``_info`` off a name's end."""

_TIMEOUT_S = 3.0
_MOST_BYTES = 64 * 1024 * 1024
_APACHE = re.compile(r"\d+\.\d+\.\d+(-SNAPSHOT)?")


class SoftwareSource(StrEnum):
    """How a broker's software is known."""

    DECLARED = "declared"
    JMX = "jmx"
    GATEWAY = "gateway"
    INFERRED = "inferred"


@dataclass(frozen=True)
class FoundSoftware:
    """What a broker runs.

    Attributes:
        name: such as ``Kafka``; None where it isn't known.
        version: as its maker writes it; a range of releases such as ``3.7–3.8`` where it is inferred; None where it isn't known.
        source: None where nothing is known.
    """

    name: str | None = None
    version: str | None = None
    source: SoftwareSource | None = None


UNKNOWN = FoundSoftware()


@dataclass(frozen=True)
class BrokerDetails:
    """A broker and what it runs, as ``/v1/brokers`` and ``-o json`` say it; None is what isn't known.

    Attributes:
        problem: why a source that was named could not be used.
    """

    broker: int
    host: str
    port: int
    rack: str | None
    fenced: bool
    controller: bool | None
    state: str
    software_name: str | None
    software_version: str | None
    source: str | None
    problem: str | None


def find_all(answers: Iterable[BrokerAnswer], declared: Mapping[int, FoundSoftware], jmx: Mapping[int, str]) -> list[BrokerDetails]:
    """Each broker and what it runs, in the order of the answers.

    Args:
        declared: by broker id; these brokers are not asked.
        jmx: broker id → URL of its JMX exporter's page; all are read at the same time.
    """
    brokers = list(answers)
    asked = {answer.broker.id: jmx[answer.broker.id] for answer in brokers if answer.broker.id in jmx.keys() - declared.keys()}
    with ThreadPoolExecutor(max_workers=16) as pool:
        read = dict(zip(asked, pool.map(_from_jmx_or_why, asked.values()), strict=True))
    return [_details(answer, declared.get(answer.broker.id), read.get(answer.broker.id)) for answer in brokers]


def _details(answer: BrokerAnswer, declared: FoundSoftware | None, read: FoundSoftware | str | None) -> BrokerDetails:
    """A broker on one level; of JMX either what it says, or why it could not be read."""
    broker = answer.broker
    found = declared or (read if isinstance(read, FoundSoftware) else _of_gateway(answer.software) or from_ranges(answer))
    return BrokerDetails(
        broker=broker.id,
        host=broker.host,
        port=broker.port,
        rack=broker.rack,
        fenced=broker.fenced,
        controller=broker.controller,
        state=str(answer.state),
        software_name=found.name,
        software_version=found.version,
        source=found.source and str(found.source),
        problem=read if isinstance(read, str) else None,
    )


def _of_gateway(said: BrokerSoftware) -> FoundSoftware | None:
    return FoundSoftware(said.name, said.version, SoftwareSource.GATEWAY) if said.name or said.version else None


def from_ranges(answer: BrokerAnswer) -> FoundSoftware:
    """What its API ranges and features let infer: the releases of Apache Kafka that fit, never a patch level."""
    inferred = infer(answer.ranges, answer.finalized, answer.supported)
    return FoundSoftware(KAFKA, str(inferred), SoftwareSource.INFERRED) if inferred else UNKNOWN


def from_jmx(url: str) -> FoundSoftware:
    """What a broker's JMX exporter says.

    app-info has a version and no name. Apache's own releases are three numbers; another version, such as ``7.6.0-ccs``, leaves the name
    unknown.

    Raises:
        EnvironmentProblem: it doesn't answer, or doesn't tell.
    """
    try:
        with urllib.request.urlopen(url, timeout=_TIMEOUT_S) as response:  # noqa: S310 - the settings let only HTTP pass
            version = app_info_version(response.read(_MOST_BYTES).decode())
    except (OSError, ValueError, HTTPException) as error:
        raise EnvironmentProblem(f"no JMX exporter answers at {url}: {getattr(error, 'reason', None) or type(error).__name__}") from None
    if version is None:
        raise EnvironmentProblem(
            f"the JMX exporter at {url} has no version of kafka.server:type=app-info",
            "add a rule that exports kafka.server:type=app-info as metric kafka_server_app_info_version with the label version",
        )
    return FoundSoftware(KAFKA if _APACHE.fullmatch(version) else None, version, SoftwareSource.JMX)


def _from_jmx_or_why(url: str) -> FoundSoftware | str:
    try:
        return from_jmx(url)
    except EnvironmentProblem as error:
        return str(error)


def app_info_version(page: str) -> str | None:
    """The version on an exporter's page in Prometheus' text format; None where none is, or where two differ.

    Raises:
        ValueError: it is no such page.
    """
    lines = "\n".join(line for line in page.splitlines() if line.startswith(APP_INFO))
    versions = {sample.labels.get("version") for family in text_string_to_metric_families(lines) for sample in family.samples} - {None}
    return versions.pop() if len(versions) == 1 else None
