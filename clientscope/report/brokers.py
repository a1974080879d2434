"""Table of a cluster's brokers and the software of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields

from rich.console import Group, RenderableType
from rich.text import Text

from clientscope.cluster.software import BrokerDetails, BrokerWithSoftware, FoundSoftware, SoftwareSource
from clientscope.errors import SettingsError
from clientscope.report import text
from clientscope.report.api_versions import silent
from clientscope.report.text import brokers, capitalized, plain

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


def table(cluster_id: str, found: Sequence[BrokerWithSoftware], *, wide: bool = False) -> RenderableType:
    """A table of them; what is inferred says so, and what isn't known is a dash."""
    title = plain(f"{len(found)} broker{'s' * (len(found) != 1)} of cluster {cluster_id}", "bold")
    headings = ("ID", "ADDRESS", "RACK", "CONTROLLER", "SOFTWARE", "VERSION", "SOURCE", *(("ANSWER", "FENCED") if wide else ()))
    view = text.table(headings, folds=("ADDRESS", "RACK", "CONTROLLER", "SOFTWARE", "VERSION", "ANSWER"), right=("ID",))
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
