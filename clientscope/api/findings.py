"""API models of findings, decisions about them, judged pushes and rules. Times are in ms since the epoch, UTC."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import date
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from clientscope.api.common import DESCRIBED, Listing, model
from clientscope.model.client import Client
from clientscope.model.codec import adapter
from clientscope.model.decision import Resolution
from clientscope.model.enums import Origin
from clientscope.model.fields import ShownName, clean, sentence
from clientscope.model.finding import Finding
from clientscope.model.result import PushResult, Verdict
from clientscope.model.setting import shown_setting
from clientscope.risks import Risk
from clientscope.severities import Severity


@model
class FindingList(Listing):
    """What to fix first first: open or stopped, then by severity, then by how many clients; those of low confidence come last."""

    items: list[Finding]


@model
class FindingGroup:
    """Findings that share a code, a principal, an owner or a severity."""

    label: str
    """As it may be shown; a dash where there is none."""
    q: str
    """Narrows a list to this group, put after the query that was asked with."""
    findings: int
    worst: Severity
    clients: int
    """Of all its findings together; one client may be in several."""
    to_do: int
    """Those that are open or stopped."""
    name: str | None = None
    """The rule's name; null unless they are grouped by `code`."""
    use_instead: str | None = None
    """The rule's advice; null unless they are grouped by `code`."""


@model
class FindingGroups(Listing):
    """Worst first."""

    items: list[FindingGroup]


class Input(BaseModel):
    """What a request brings: nothing else than what is asked for."""

    model_config = ConfigDict(frozen=True, extra="forbid", **DESCRIBED)


class CloseRequest(Input):
    """A decision about a finding, as ``clientscope findings close`` takes it."""

    resolution: Resolution
    why: Annotated[str, Field(max_length=4_000)]
    """A sentence for who reads it later; never a secret."""
    until: Annotated[str | None, Field(max_length=32)] = None
    """Last day, in UTC, of `accepted`: 2026-12-31."""


class ReopenRequest(Input):
    """Takes a decision back."""

    why: Annotated[str, Field(max_length=4_000)]


@model
class DecisionTaken:
    """What was written; the streaming job applies it within seconds."""

    fingerprint: str
    resolution: Resolution | None
    """Null where a decision was taken back."""
    by: str
    why: str
    until: date | None
    at_ms: int
    warnings: list[str]
    """What you may not have thought of."""


Overall = Literal["findings", "clean", "partly_judged", "not_judged"]


def _shown(verdict: Verdict) -> Verdict:
    settings = tuple(map(shown_setting, verdict.settings))
    return replace(verdict, code=clean(verdict.code), name=clean(verdict.name), message=sentence(verdict.message), settings=settings)


@model
class ResultRow(Client):
    """The verdicts of all rules on one configuration, pushed or seen otherwise, and whose it is."""

    topic: ShownName
    partition: int
    offset: int
    received_ms: int
    epoch: int
    connection: int
    listener: ShownName
    security_protocol: ShownName
    origin: Origin
    application: ShownName
    setting_count: int
    redacted_count: int
    rules: list[Annotated[Verdict, AfterValidator(_shown)]]
    passed: list[ShownName]
    not_evaluable: list[ShownName]
    overall: Overall
    """`not_judged` where no rule could judge it: that is not clean."""


def result_row(result: PushResult, overall: Overall) -> ResultRow:
    """A result as it may be shown: other programs may write to its topic."""
    said = {each.name: getattr(result, each.name) for each in fields(ResultRow) if each.name not in ("key", "overall")}
    return adapter(ResultRow).validate_python({**said, "key": result.client, "overall": overall})


@model
class Results(Listing):
    """Newest first, of the last day; the newest thousand, and the newest thousand that were pushed."""

    items: list[ResultRow]


@model
class RulePage:
    """What a rule finds, why that matters, and what to do.  In texts, ``…`` in two backticks is code."""

    code: str
    name: str
    """The bad pattern."""
    title: str
    severity: Severity
    """The worst that it gives."""
    risks: list[Risk]
    client_types: list[str]
    """Which clients it judges: producer, consumer, …"""
    needs: str
    """What must be known to judge by it."""
    keys: list[str]
    """The settings that it looks at."""
    what: str
    why: str
    example: str
    use_instead: str
    source: list[str]
    """A line for each source."""
    links: list[str]
    """The addresses in `source`."""
    fired: str
    """What it says of a client that it fires on, with the default thresholds."""
    not_evaluable: str
    """What it says of a client that it can't judge."""
