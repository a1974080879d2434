"""A cluster's brokers: API versions and software of each, as tables and sentences."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from clientscope.catalog.releases import METADATA_VERSION, Range, api_key, api_name, infer, near_names
from clientscope.cluster.api_versions import AnswerState, BrokerAnswer, Cluster
from clientscope.cluster.comparison import Comparison, compare
from clientscope.cluster.software import BrokerDetails, FoundSoftware, SoftwareSource
from clientscope.errors import SettingsError
from clientscope.report import text
from clientscope.report.text import brokers, capitalized, counted, plain, table

API_FIELDS = ("cluster", "broker", "host", "port", "rack", "state", "reason", "version")
"""Fields of a broker that a list can be sorted by."""

NO_RELEASE = "no release of Apache Kafka that we know"


def choose_apis(api: str) -> list[int] | None:
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


def api_report(cluster: Cluster, chosen: Collection[int] | None) -> RenderableType:
    """The whole of what is printed."""
    title = plain(f"{counted(len(cluster.answers), 'broker')} of cluster {cluster.cluster_id}", "bold")
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
        api_cells = [_range(group.range(key)) for group in compared.groups]
        view.add_row(str(key), plain(api_name(key) or "?"), *api_cells, "≠" if differs else "", style="bold yellow" if differs else None)
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
    apis = counted(len(compared.keys), "API")
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


def api_row(cluster_id: str, compared: Comparison, answer: BrokerAnswer) -> dict[str, Any]:
    """A broker, and what it supports, as JSON has it; None is what isn't known.

    An API ``differs`` if another broker of the cluster supports other versions.
    """
    return {
        "cluster": cluster_id,
        "broker": answer.broker.id,
        "host": answer.broker.host,
        "port": answer.broker.port,
        "rack": answer.broker.rack,
        "state": str(answer.state),
        "reason": answer.reason or None,
        "version": answer.version,
        "apis": [
            dict(zip(_API, (key, api_name(key), *answer.ranges[key], key in compared.differing), strict=True))
            for key in compared.keys
            if key in answer.ranges
        ],
        "supported_features": dict(answer.supported),
        "finalized_features": dict(answer.finalized),
        "finalized_features_epoch": answer.finalized_epoch,
    }


_API = ("key", "name", "min", "max", "differs")
API_COLUMNS = (*API_FIELDS, *(f"api_{name}" for name in _API))
"""Of CSV, as `api_cells` has them."""


def api_cells(row: Mapping[str, Any]) -> list[dict[str, object]]:
    """A broker's row as CSV has it: a line for each of its APIs."""
    of_broker = {name: row[name] for name in API_FIELDS}
    return [of_broker | {f"api_{name}": value for name, value in api.items()} for api in row["apis"]] or [of_broker]


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


FIELDS = tuple(field.name for field in fields(BrokerDetails))
"""Fields of a broker, as /v1/brokers names them."""


def declared(software: dict[int, str]) -> dict[int, FoundSoftware]:
    """``NAME/VERSION`` or ``NAME`` by broker id, as `clientscope.config_types.DeclaredSoftware`."""
    return {
        broker_id: FoundSoftware(name, version or None, SoftwareSource.DECLARED)
        for broker_id, (name, _, version) in ((broker_id, text.partition("/")) for broker_id, text in software.items())
    }


def require_known(flag: str, given: Mapping[int, object], known: set[int]) -> None:
    """Raises SettingsError for a broker id that the cluster doesn't have; with a typo, the right broker would stay unknown."""
    if unknown := given.keys() - known:
        raise SettingsError(f"--{flag}: the cluster has no {brokers(unknown)}", f"it has {brokers(known)}")


def broker_software_table(cluster: Cluster, found: Sequence[BrokerDetails], *, wide: bool = False) -> RenderableType:
    """A table of them; what is inferred says so, and what isn't known is a dash."""
    title = plain(f"{counted(len(found), 'broker')} of cluster {cluster.cluster_id}", "bold")
    headings = ("ID", "ADDRESS", "RACK", "CONTROLLER", "SOFTWARE", "VERSION", "SOURCE", *(("ANSWER", "FENCED") if wide else ()))
    view = text.table(headings, folds=("ADDRESS", "RACK", "CONTROLLER", "SOFTWARE", "VERSION", "ANSWER"), right=("ID",))
    for each in found:
        controller = {True: "active", False: "–", None: "?"}[each.controller]
        view.add_row(
            str(each.broker),
            plain(f"{each.host}:{each.port}"),
            plain(each.rack or "–"),
            controller,
            plain(each.software_name or "unknown"),
            plain(each.software_version or "unknown"),
            each.source or "–",
            *((each.state, "yes" if each.fenced else "no") if wide else ()),
            style="dim" if each.source is None else None,
        )
    listed = {each.broker for each in found}
    problems = [f"{capitalized(brokers([each.broker]))}: {each.problem}." for each in found if each.problem]
    said = [plain(sentence) for sentence in (*silent(each for each in cluster.answers if each.broker.id in listed), *problems)]
    return Group(title, Text(), view, *([Text(), *said] if said else []))
