"""``clientscope brokers``: a cluster's brokers, and what software each runs."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from clientscope.cluster.api_versions import ask
from clientscope.cluster.software import BrokerWithSoftware, Software, Source, as_json, find_all
from clientscope.config import BrokersSettings
from clientscope.errors import SettingsError
from clientscope.kafka_access import KafkaAccess
from clientscope.report.api_versions import silent
from clientscope.report.listing import Listed, show
from clientscope.report.text import brokers, capitalized, plain

FIELDS = (
    "broker", "host", "port", "rack", "fenced", "controller", "state", "software_name", "software_version", "source", "problem",
)  # fmt: skip
"""Of a broker, as /v1/brokers names them."""


def run(settings: BrokersSettings) -> None:
    """Prints the brokers.

    Raises:
        EnvironmentProblem: no broker answers at the bootstrap servers.
        SettingsError: something is said about a broker that the cluster doesn't have.
    """

    def look() -> Listed[BrokerWithSoftware]:
        cluster = ask(KafkaAccess.of(settings).client_arguments())
        require_known(settings, {answer.broker.id for answer in cluster.answers})
        return Listed(
            find_all(cluster.answers, declared(settings.software), settings.jmx),
            row=as_json,
            name=lambda each: str(each.answer.broker.id),
            table=lambda found, wide: table(cluster.cluster_id, found, wide=wide),
        )

    show(settings, FIELDS, look)


def declared(software: dict[int, str]) -> dict[int, Software]:
    """``NAME/VERSION`` or ``NAME`` by broker id, as `Software`."""
    return {
        broker_id: Software(name, version or None, Source.DECLARED)
        for broker_id, (name, _, version) in ((broker_id, text.partition("/")) for broker_id, text in software.items())
    }


def require_known(settings: BrokersSettings, known: set[int]) -> None:
    """Raises SettingsError for a broker id that the cluster doesn't have: a slip there would leave the right one unknown."""
    for name, given in (("software", settings.software), ("jmx", settings.jmx)):
        if unknown := given.keys() - known:
            raise SettingsError(f"--{name}: the cluster has no {brokers(unknown)}", f"it has {brokers(known)}")


def table(cluster_id: str, found: Sequence[BrokerWithSoftware], *, wide: bool = False) -> RenderableType:
    """A table of them; what is inferred says so, and what isn't known is a dash."""
    title = plain(f"{len(found)} broker{'s' * (len(found) != 1)} of cluster {cluster_id}", "bold")
    view = Table(header_style="bold", box=None, pad_edge=False)
    for heading in ("ID", "ADDRESS", "RACK", "CONTROLLER", "SOFTWARE", "VERSION", "SOURCE", *(("ANSWER", "FENCED") if wide else ())):
        view.add_column(heading, overflow="fold", no_wrap=heading in ("ID", "SOURCE"), justify="right" if heading == "ID" else "left")
    for each in found:
        broker, software = each.answer.broker, each.software
        controller = {True: "active", False: "–", None: "?"}[broker.controller]
        view.add_row(
            str(broker.id),
            plain(f"{broker.host}:{broker.port}"),
            plain(broker.rack or "–"),
            controller,
            plain(software.name or "unknown"),
            plain(software.version or "unknown"),
            str(software.source or "–"),
            *((str(each.answer.state), "yes" if broker.fenced else "no") if wide else ()),
            style="dim" if software.source is None else None,
        )
    problems = [f"{capitalized(brokers([each.answer.broker.id]))}: {each.problem}." for each in found if each.problem]
    said = [plain(sentence) for sentence in (*silent(each.answer for each in found), *problems)]
    return Group(title, Text(), view, *([Text(), *said] if said else []))
