"""API versions of each broker of a cluster, as tables and sentences."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass, fields

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from clientscope.catalog.releases import METADATA_VERSION, Range, api_key, api_name, infer, near_names
from clientscope.cluster.api_versions import AnswerState, BrokerAnswer, Cluster
from clientscope.cluster.comparison import Comparison, compare
from clientscope.errors import SettingsError
from clientscope.report.text import brokers, capitalized, plain, table

FIELDS = ("cluster", "broker", "host", "port", "rack", "state", "reason", "version")
"""Fields of a broker that a list can be sorted by."""

NO_RELEASE = "no release of Apache Kafka that we know"


def choose(api: str) -> list[int] | None:
    """The keys that ``--api`` names: None is all, an empty list none.

    Raises:
        SettingsError: a name that no API has; names those that come near.
    """
    if api.strip().lower() in ("all", "none"):
        return None if api.strip().lower() == "all" else []
    keys = []
    for name in filter(None, (part.strip() for part in api.split(","))):
        key = api_key(name)
        if key is None:
            near = near_names(name)
            raise SettingsError(
                f"--api: there is no API {name!r}",
                f"did you mean {' or '.join(near)}?" if near else "all, none, or Kafka's names or keys, as in Produce,Fetch or 0,1",
            )
        keys.append(key)
    if not keys:
        raise SettingsError("--api: no API is named", "all, none, or Kafka's names or keys, as in Produce,Fetch or 0,1")
    return keys


def report(cluster: Cluster, chosen: Collection[int] | None) -> RenderableType:
    """The whole of what is printed."""
    count = len(cluster.answers)
    title = plain(f"{count} broker{'s' * (count != 1)} of cluster {cluster.cluster_id}", "bold")
    compared = compare(cluster.answers, chosen)
    body = api_table(compared) if compared.keys and compared.groups else broker_table(cluster)
    sentences = [plain(sentence) for sentence in summary(compared)]
    return Group(title, Text(), body, *([Text(), *sentences] if sentences else []))


def api_table(compared: Comparison) -> Table:
    """A row for each API, a column for brokers that are alike; a row where columns differ is marked."""
    groups = [brokers(group.ids).upper() for group in compared.groups]
    view = table(("KEY", "API", *groups, ""), folds=groups, right=("KEY",))
    for key in compared.keys:
        differs = key in compared.differing
        cells = [_range(group.range(key)) for group in compared.groups]
        view.add_row(str(key), plain(api_name(key) or "?"), *cells, "≠" if differs else "", style="bold yellow" if differs else None)
    return view


def broker_table(cluster: Cluster) -> Table:
    """The brokers alone: whether each answered, in which version, with how many APIs, and the cluster's metadata.version."""
    view = table(
        ("ID", "ADDRESS", "RACK", "ANSWER", "APIS", "METADATA.VERSION"),
        folds=("ADDRESS", "RACK", "ANSWER", "METADATA.VERSION"),
        right=("ID", "APIS"),
    )
    for answer in cluster.answers:
        broker = answer.broker
        answered = answer.state is AnswerState.ANSWERED
        view.add_row(
            str(broker.id),
            plain(f"{broker.host}:{broker.port}"),
            plain(broker.rack or "–"),
            f"ApiVersions v{answer.version}" if answered else str(answer.state),
            str(len(answer.ranges)) if answered else "–",
            _metadata_version(answer),
            style=None if answered else "yellow",
        )
    return view


def summary(compared: Comparison) -> list[str]:
    """What the table shows, in a sentence or two, and a line for each broker that did not answer."""
    said = silent(compared.silent)
    answered = sorted(broker_id for group in compared.groups for broker_id in group.ids)
    if not compared.keys or not answered:
        return said
    apis = f"{len(compared.keys)} API{'s' * (len(compared.keys) != 1)}"
    fits = [{_fit(answer) for answer in group.answers} for group in compared.groups]
    only = next(iter(fits[0])) if len(set().union(*fits)) == 1 else ""
    if not compared.differing:
        alike = f"{capitalized(brokers(answered))}: {apis}{', all alike' * (len(answered) > 1)}"
        return [f"{alike}, as in {only}." if only else f"{alike}.", *said]
    differ = f"{capitalized(brokers(answered))} differ in {len(compared.differing)} of {apis}"
    if only and only != NO_RELEASE:
        return [f"{differ}, and are all as in {only}: their configuration may differ.", *said]
    releases = [f"{brokers(group.ids)} as in {' or '.join(sorted(fit))}" for group, fit in zip(compared.groups, fits, strict=True)]
    return [f"{differ}: a rolling upgrade half way?", f"{capitalized('; '.join(releases))}.", *said]


def silent(answers: Iterable[BrokerAnswer]) -> list[str]:
    """A sentence for each broker that did not answer."""
    return [
        f"{capitalized(brokers([each.broker.id]))}: {each.state}; {each.reason}."
        for each in answers
        if each.state is not AnswerState.ANSWERED
    ]


@dataclass(frozen=True)
class SupportedApi:
    """An API that a broker supports, from one version to another.

    Attributes:
        differs: whether another broker of the cluster supports other versions.
    """

    key: int
    name: str | None
    min: int
    max: int
    differs: bool


@dataclass(frozen=True)
class BrokerLine:
    """A broker, and what it supports; None is what isn't known."""

    cluster: str
    broker: int
    host: str
    port: int
    rack: str | None
    state: str
    reason: str | None
    version: int | None
    apis: tuple[SupportedApi, ...]
    supported_features: dict[str, int]
    finalized_features: dict[str, int]
    finalized_features_epoch: int | None


def lines(cluster: Cluster, chosen: Collection[int] | None) -> list[BrokerLine]:
    """One for each broker."""
    compared = compare(cluster.answers, chosen)
    return [
        BrokerLine(
            cluster=cluster.cluster_id,
            broker=answer.broker.id,
            host=answer.broker.host,
            port=answer.broker.port,
            rack=answer.broker.rack,
            state=str(answer.state),
            reason=answer.reason or None,
            version=answer.version,
            apis=tuple(
                SupportedApi(key, api_name(key), *answer.ranges[key], differs=key in compared.differing)
                for key in compared.keys
                if key in answer.ranges
            ),
            supported_features=dict(answer.supported),
            finalized_features=dict(answer.finalized),
            finalized_features_epoch=answer.finalized_epoch,
        )
        for answer in cluster.answers
    ]


COLUMNS = (*FIELDS, *(f"api_{field.name}" for field in fields(SupportedApi)))
"""Of CSV, as `cells` has them."""


def cells(line: BrokerLine) -> list[dict[str, object]]:
    """A broker's line as CSV has it: a line for each of its APIs."""
    of_broker: dict[str, object] = {name: getattr(line, name) for name in FIELDS}
    return [of_broker | {f"api_{name}": value for name, value in asdict(api).items()} for api in line.apis] or [of_broker]


def _fit(answer: BrokerAnswer) -> str:
    inferred = infer(answer.ranges, answer.finalized, answer.supported)
    return f"Apache Kafka {inferred}" if inferred else NO_RELEASE


def _range(found: Range | None) -> str:
    if found is None:
        return "–"
    return str(found[0]) if found[0] == found[1] else f"{found[0]}–{found[1]}"


def _metadata_version(answer: BrokerAnswer) -> str:
    level, most = answer.finalized.get(METADATA_VERSION), answer.supported.get(METADATA_VERSION)
    if level is None:
        return "–"
    return str(level) if most is None or level == most else f"{level} (could be {most})"
