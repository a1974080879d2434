"""What the JSON API answers; the page reads these and nothing else.  Times are in ms since the epoch, UTC."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from clientscope.findings.record import Finding
from clientscope.severities import Severity
from clientscope.status.record import Condition
from sinks.dashboard.values import GaugeValue, ResultValue

Feed = Literal["starting", "catching_up", "live", "unreachable"]
Verdict = Literal["findings", "clean", "partly_judged", "not_judged"]


class Model(BaseModel):
    """Frozen, like every value here."""

    model_config = ConfigDict(frozen=True)


class Problem(Model):
    """Why a request was refused."""

    detail: str
    hint: str | None = Field(default=None, description="What to do about it.")


class QueryProblem(Model):
    """What is wrong with `q` or `sort`, and where."""

    detail: str
    position: int = Field(description="Where it begins, in characters from 0.")
    length: int = Field(description="How many characters it is about; 0 where something is missing.")
    expected: list[str] = Field(description="What could stand there: names of fields, values, or forms; may be empty.")


class Progress(Model):
    """How far the topics have been read since the start."""

    read: int = Field(description="Records read so far.")
    total: int = Field(description="Records that were there when reading began.")


class Versions(Model):
    """One number per list, which rises when that list changes: read a list again only then."""

    gauges: int
    connections: int
    results: int
    findings: int
    status: int = Field(description="Of `health` and brokers.")


class SoftwareRow(Model):
    """The gauge, summed over gateways."""

    listener: str
    software_name: str
    software_version: str
    connections: int


class Gateway(Model):
    """A gateway that is there, by its heartbeats."""

    gateway: str
    cluster: str
    broker: int
    epoch: int = Field(description="When that gateway process started.")
    heartbeat_ms: int | None = Field(description="When Kafka took its last heartbeat; null before the first.")
    late: bool = Field(description="Its next heartbeat is overdue; after three intervals it counts as lost.")
    instances: int | None = Field(default=None, description="Client instances (KIP-1324) that are connected to it; null where not told.")
    opened_per_minute: int | None = Field(default=None, description="Connections opened in the last minute; null where not told.")
    closed_per_minute: int | None = Field(default=None, description="Connections closed in the last minute; null where not told.")


class OpenFindings(Model):
    """Findings that are open or stopped; none that a suppression hides, and none of low confidence."""

    total: int
    by_severity: dict[str, int]
    low_confidence: int = Field(description="Those that only look like it, which are not in `total`.")
    suppressed: int = Field(description="Those that a suppression hides, which are not in `total`.")


class ProcessHealth(Model):
    """How one of our processes is, or one query of the job, as it says itself (`clientscope.status`)."""

    kind: str = Field(description="gateway, stream, query, deliver or serve.")
    id: str
    condition: Condition
    reason: str = Field(description="Why it isn't ok, in one sentence; empty where it is.")
    version: str
    stale: bool = Field(description="It is silent for longer than it should be: what it said last counts no longer.")
    started_ms: int
    told_ms: int = Field(description="Kafka's time of what it said last.")
    lag_records: int | None = Field(description="What it has still to read; null where that means nothing, or isn't known.")
    lag_ms: int | None = Field(description="How old the oldest of that is.")
    last_record_ms: int | None = Field(description="Kafka's time of the newest record that it read or wrote.")
    figures: dict[str, int | float] = Field(description="Further numbers, for people.")


class Check(Model):
    """One thing about our own processes that a person should know."""

    name: str
    state: Literal["ok", "warn"]
    detail: str


class Overview(Model):
    """The state of everything, small enough to be sent with each event.

    A number that is not known yet is null, never zero.
    """

    version: int = Field(description="Rises with every change; compare for equality only, it starts again with the process.")
    versions: Versions
    feed: Feed
    feed_detail: str | None = Field(description="Why the feed is not live, in one sentence.")
    progress: Progress | None = Field(description="While catching up.")
    now_ms: int
    last_record_ms: int | None = Field(description="Kafka's time of the newest record read.")
    last_change_ms: int | None = Field(description="When something shown here last changed.")
    clusters: list[str]
    connections: int | None
    software_versions: int | None = Field(description="Different pairs of software name and version.")
    clients: int | None
    pushes: int | None = Field(description="Pushed configurations in the last day.")
    findings: OpenFindings | None = Field(description="Null also while nothing was judged, which is not clean.")
    findings_detail: str | None = Field(description="Why `findings` is null though the topics were read, in one sentence.")
    software: list[SoftwareRow] = Field(description="The largest, by listener, name and version.")
    software_other: int = Field(description="Connections of the rows that are left out of `software`.")
    gateways: list[Gateway]
    checks: list[Check]
    pushes_per_minute: int | None = Field(description="Configurations judged in the last whole minute; null where that isn't known.")
    health: list[ProcessHealth] = Field(description="Of each process that tells of itself; empty where none does, which isn't well.")


class Listing(Model):
    """What every list has."""

    version: int
    feed: Feed
    total: int | None = Field(description="Length of the whole list; null while it is not known.")
    offset: int = Field(default=0, description="How many of them come before `items`.")


class Gauges(Listing):
    """Every series of every gateway, largest first."""

    items: list[GaugeValue]


class Result(ResultValue):
    """What every rule said of one push."""

    verdict: Verdict = Field(description="`not_judged` where no rule could judge it: that is not clean.")


class Results(Listing):
    """Newest first, of the last day; the newest thousand, and the newest thousand with findings."""

    items: list[Result]


class Findings(Listing):
    """What to fix first first: open or stopped, then by severity, then by how many clients; those of low confidence come last."""

    items: list[Finding]


class FindingGroup(Model):
    """Findings that share a code, a principal, an owner or a severity."""

    label: str = Field(description="As it may be shown; a dash where there is none.")
    q: str = Field(description="Narrows a list to this group, put after the query that was asked with.")
    findings: int
    worst: Severity
    clients: int = Field(description="Of all its findings together; one client may be in several.")
    to_do: int = Field(description="Those that are open or stopped.")


class FindingGroups(Listing):
    """Worst first."""

    items: list[FindingGroup]


class Health(Model):
    """Whether the process is alive, or ready."""

    status: Literal["ok", "unavailable"]
    feed: Feed
    detail: str | None
