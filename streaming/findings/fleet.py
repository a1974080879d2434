"""Findings that one push can't show: clients compared with each other, and with their earlier pushes.

Each comparison is made anew from what is known now, so it comes to the same after a restart.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from clientscope.catalog.configs import TYPES, Type
from clientscope.catalog.settings import numbers
from clientscope.findings.fingerprints import application_key, fingerprint
from clientscope.model.result import Compared
from clientscope.model.setting import Redaction, Setting
from clientscope.profiles import Thresholds
from clientscope.severities import SEVERITIES
from streaming.findings.clients import Change, LiveClients, Variant
from streaming.findings.inputs import Settings
from streaming.findings.liveness import ClosedAt, Who
from streaming.findings.problems import Problem
from udfs.rules.engine.rule import FIRED, HIGH, MEDIUM, Rule
from udfs.rules.registry import FLEET_RULES

UPGRADE, DRIFT, CHANGED, RARE, VERSION, STORM, CONTRADICTION, HEADROOM, QUEUE, RETRIES = FLEET_RULES

MOST_SETTINGS = 10
"""Settings that one finding names."""
MOST_NAMED = 5
"""Brokers, addresses and releases that AN404 names."""

_MINUTE_MS, _HOUR_MS = 60_000, 3_600_000
_CHOICES = {"acks", "auto.offset.reset", "compression.type", "group.protocol", "isolation.level", "partition.assignment.strategy"}
_COMPARED = (Type.BOOLEAN, Type.INT, Type.SHORT, Type.LONG, Type.DOUBLE)

Live = Mapping[str, LiveClients]
"""Of each application its clients that are connected."""


class Found(NamedTuple):
    """One finding of a comparison.

    Attributes:
        application: `clientscope.findings.fingerprints.application_key` of whose it is.
        evidence: sentences.
        clients: that it is about, by application, as far as they are connected.
        at_ms: when it was so.
    """

    problem: Problem
    application: str
    evidence: list[str]
    clients: Sequence[LiveClients]
    at_ms: int


class Closings(NamedTuple):
    """What an application closed in five minutes: which clients how many connections, and where."""

    by: Counter[Who]
    at: Counter[ClosedAt]


class Judges:
    """The rules about the fleet, with the limits of the profile that applies to each application."""

    def __init__(self, thresholds: Thresholds) -> None:
        self._thresholds = thresholds
        self.limits = lru_cache(maxsize=100_000)(self._limits)
        """The rule's limits for an application; None where the rule is off."""

    def _limits(self, rule: Rule, application: str) -> Mapping[str, float] | None:
        principal, client_id, group, *_ = json.loads(application)
        profile = self._thresholds.profiles[self._thresholds.choose(principal, group, client_id)]
        return None if rule.code in profile.off else {**rule.limits, **profile.limits.get(rule.code, {})}


def drift(live: Live, judges: Judges, now_ms: int) -> Iterator[Found]:
    """AN310: connected clients of one group, or else of one application, that differ though none has started lately."""
    cohorts: dict[str, list[LiveClients]] = defaultdict(list)
    for application, clients in live.items():
        cohorts[_cohort(application)].append(clients)
    for cohort, members in cohorts.items():
        limits = judges.limits(DRIFT, cohort)
        at_ms = max(clients.newest_ms for clients in members)
        if limits is None or sum(map(len, members)) < 2 or at_ms > now_ms - limits["minutes"] * _MINUTE_MS:
            continue
        differ = _differences(members)
        if differ:
            yield one(DRIFT, cohort, differ, members, at_ms)


def changed(changes: Mapping[str, Change], live: Live, judges: Judges, now_ms: int) -> Iterator[Found]:
    """AN401: applications that started with other values than before, lately."""
    for application, change in changes.items():
        limits = judges.limits(CHANGED, application)
        if limits is None or now_ms - change.now.appended_ms > limits["hours"] * _HOUR_MS:
            continue
        if differ := differences(change):
            yield one(CHANGED, application, differ, of_application(live, application), change.now.appended_ms)


def differences(change: Change) -> dict[str, tuple[Compared, list[str]]]:
    """Keys whose value changed → the new value, and a sentence."""
    before, now = change.before.settings, change.now.settings
    return {
        key: (value, [f"{key}: {shown(before[key])} before, {shown(value)} now"])
        for key, value in now.items()
        if key in before and before[key] != value
    }


def rare_values(live: Live, judges: Judges) -> Iterator[Found]:
    """AN402: applications that are alone with a value."""
    by_library: dict[str, dict[str, Settings]] = defaultdict(dict)
    for application, clients in live.items():
        libraries = {variant.software_name for variant in clients.variants}
        for push in reversed(clients.pushes):  # the newest has what the application is to have
            if push.software_name in libraries:
                by_library[push.software_name][application] = push.settings
                libraries.remove(push.software_name)
                if not libraries:
                    break
    for of_applications in by_library.values():
        holders: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        for application, settings in of_applications.items():
            for key, value in settings.items():
                if isinstance(value, str) and (TYPES.get(key) in _COMPARED or key in _CHOICES):
                    holders[key][value].append(application)
        alone: dict[str, dict[str, tuple[Compared, list[str]]]] = defaultdict(dict)
        for key, values in holders.items():
            total = sum(map(len, values.values()))
            usual = max(values, key=lambda value: len(values[value]))
            for value, applications in values.items():
                if len(applications) != 1 or value == usual:
                    continue
                limits = judges.limits(RARE, applications[0])
                if limits and total >= limits["applications"] and len(values[usual]) * 100 >= total * limits["usual_percent"]:
                    line = f"{key}: {shown(value)} here alone, {shown(usual)} in {len(values[usual])} of {total} applications"
                    alone[applications[0]][key] = value, [line]
        for application, differ in alone.items():
            yield one(RARE, application, differ, (live[application],), live[application].newest_ms)


def old_versions(live: Live, judges: Judges) -> Iterator[Found]:
    """AN403: applications with a release that almost no other application still has."""
    by_library: dict[str, dict[str, str]] = defaultdict(dict)
    for application, clients in live.items():
        for library, version in {(variant.software_name, variant.software_version) for variant in clients.variants}:
            known = by_library[library].get(application)
            if numbers(version) and (known is None or numbers(version) < numbers(known)):
                by_library[library][application] = version
    for library, versions in by_library.items():
        order = sorted(numbers(version) for version in versions.values())
        for application, version in versions.items():
            limits = judges.limits(VERSION, application)
            if limits is None or len(order) < limits["applications"]:
                continue
            as_old = bisect_right(order, numbers(version))
            if as_old * 100 <= len(order) * limits["rare_percent"]:
                line = f"{library} {version}: {as_old} of {len(order)} applications have this release or an older one"
                yield one(VERSION, application, {"": (None, [line])}, (live[application],), live[application].newest_ms)


def storms(
    closings: Mapping[str, Closings],
    open_of: Callable[[Mapping[Who, str]], Mapping[str, int]],
    live: Live,
    judges: Judges,
    under_way: Iterable[str],
    now_ms: int,
) -> Iterator[Found]:
    """AN404: applications that open and close connections all the time.

    Args:
        closings: by application.
        open_of: connections that clients have open, by application; asked about those alone that closed enough of them.
        under_way: fingerprints of those that are already reported; these end only at half the limit.
    """
    reported = set(under_way)
    many: dict[str, tuple[int, int, Mapping[str, float]]] = {}
    for application, each in closings.items():
        limits = judges.limits(STORM, application)
        closed, part = each.by.total(), 2 if fingerprint(STORM.code, application, "") in reported else 1
        if limits is not None and closed * part >= limits["closed"]:
            many[application] = closed, part, limits
    now_open = open_of({who: application for application in many for who in closings[application].by})
    for application, (closed, part, limits) in many.items():
        if closed * part >= limits["times_open"] * now_open[application]:
            rounded = 10 ** max(0, len(str(closed)) - 1)  # so that the sentence, which is written again with each change, stays
            at = closings[application].at
            lines = [f"more than {closed // rounded * rounded - 1} connections closed within five minutes", *_most_closed_at(at)]
            severity = HIGH if closed >= limits["high"] else MEDIUM
            yield one(STORM, application, {"": (None, lines)}, of_application(live, application), now_ms, severity)


def _most_closed_at(at: Counter[ClosedAt]) -> Iterator[str]:
    """Where, most first chosen and then in their own order, so that the sentences stay the same while numbers change."""
    for field in ClosedAt._fields:
        counts: Counter[int | str] = Counter()
        for each, count in at.items():
            counts[getattr(each, field)] += count
        most = sorted(value for value, _ in counts.most_common(MOST_NAMED) if value != "")
        others = f" and {len(counts) - MOST_NAMED} more" if len(counts) > MOST_NAMED else ""
        if most:
            yield f"{field} {', '.join(map(str, most))}{others}"


@lru_cache(maxsize=20_000)
def _cohort(application: str) -> str:
    """The group whose members are compared, or else the application, as an application's key."""
    principal, _, group, *_ = json.loads(application)
    return application if group is None else application_key(principal, None, group)


def of_application(live: Live, application: str) -> tuple[LiveClients, ...]:
    return (live[application],) if application in live else ()


def _differences(members: Iterable[LiveClients]) -> dict[str, tuple[Compared, list[str]]]:
    """Keys under which clients with the same release of a library differ → the usual value, and a sentence on the values of the clients."""
    by_release: dict[tuple[str, str], list[Variant]] = defaultdict(list)
    for clients in members:
        for variant in clients.variants:
            by_release[variant.software_name, variant.software_version].append(variant)
    differ: dict[str, tuple[Compared, list[str]]] = {}
    for _, alike in sorted(by_release.items()):  # the same after a restart, in whatever order they came
        numbers_of: Counter[int] = Counter()
        for variant in alike:
            numbers_of[id(variant.settings)] += variant.clients
        distinct = {id(variant.settings): variant.settings for variant in alike}
        if len(distinct) == 1:
            continue
        for key in sorted(set.intersection(*(set(settings) for settings in distinct.values()))):
            counts: Counter[str] = Counter()
            for which, settings in distinct.items():
                if isinstance(value := settings[key], str):
                    counts[value] += numbers_of[which]
            if len(counts) > 1:
                # The same after a restart, in whatever order they came.
                usual = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
                most = [f"{shown(value)} on {count} client{'s' if count > 1 else ''}" for value, count in usual[:5]]
                others = len(counts) - len(most)
                more = f", and {others} other values" if others > 0 else ""
                differ[key] = usual[0][0], [f"{key}: {', '.join(most)}{more}"]
    return differ


def one(
    rule: Rule,
    application: str,
    differ: Mapping[str, tuple[Compared, list[str]]],
    clients: Sequence[LiveClients],
    at_ms: int,
    severity: int | None = None,
    message: str = "",
) -> Found:
    """One finding of an application, whatever the number of settings: many go wrong together.

    Args:
        message: in place of the rule's.
    """
    which = fingerprint(rule.code, application, "")
    named = list(differ.items())[:MOST_SETTINGS]
    settings = tuple(_setting(key, value) for key, (value, _) in named if key)
    lines = [line for _, (_, lines) in named for line in lines]
    if len(differ) > len(named):
        lines.append(f"and {len(differ) - len(named)} more settings")
    severity = SEVERITIES.index(rule.severity) if severity is None else severity
    problem = Problem(which, rule.code, "fleet", "", severity, message or rule.message(FIRED), settings)
    return Found(problem, application, lines, clients, at_ms)


def _setting(key: str, value: Compared) -> Setting:
    return Setting(key, None, "pushed", redacted=value) if isinstance(value, Redaction) else Setting(key, value, "pushed")


def shown(value: Compared) -> str:
    """A value in a sentence; a redacted one is another by its digest alone."""
    if isinstance(value, Redaction):
        return "a secret" + (f" with digest {value.digest[:8]}" if value.digest else "")
    if not isinstance(value, str):
        return "nothing"
    return value if len(value) <= 60 else value[:59] + "…"
