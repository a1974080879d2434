"""Run of all checks: the settings of the other processes, results as they come, versions, and the exit status."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from kafka.errors import KafkaError
from rich.console import Console
from rich.table import Table
from rich.text import Text

from clientscope import __version__
from clientscope.commands.clients import ClientsSettings
from clientscope.commands.doctor.cluster import check_brokers, check_clocks, check_rights, check_topics
from clientscope.commands.doctor.files import check_certificates, check_files
from clientscope.commands.doctor.listeners import check_listeners, limited
from clientscope.commands.doctor.machine import check_disk, check_java, check_ports, check_spark, package_version
from clientscope.commands.doctor.result import CheckResult, Outcome, Situation, not_checked, ok, problem
from clientscope.commands.sources import AnySettings
from clientscope.config import GatewaySettings, ServeSettings, StreamSettings
from clientscope.errors import ClientscopeError, EnvironmentProblem, SettingsError
from clientscope.local.java import java
from clientscope.local.java import version as java_version
from clientscope.report.text import counted, grid, plain

if TYPE_CHECKING:
    from clientscope.commands.doctor import DoctorSettings


_STYLES = {Outcome.OK: "green", Outcome.NOT_CHECKED: "dim", Outcome.WARNING: "yellow", Outcome.PROBLEM: "bold red"}

Results = Sequence[tuple[str, Sequence[CheckResult]]]


def worst(results: Results) -> Outcome:
    """The worst outcome."""
    return max((each.outcome for _, found in results for each in found), key=list(Outcome).index, default=Outcome.OK)


def block(title: str, found: Sequence[CheckResult]) -> Table:
    """The results of a check: its title once, the outcome, and beneath each text what to do."""
    view = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    view.add_column(width=12, no_wrap=True)
    view.add_column(width=11, no_wrap=True)
    view.add_column(overflow="fold")
    for number, each in enumerate(found):
        shown = plain(each.text)
        if each.remedy:
            shown.append(f"\n→ {plain(each.remedy).plain}", "default" if each.outcome is Outcome.PROBLEM else "dim")
        if each.command:
            shown.append(f"\n  $ {plain(each.command).plain}", "bold")
        view.add_row(Text(title if number == 0 else "", "bold"), Text(str(each.outcome), _STYLES[each.outcome]), shown)
    return view


def installed_versions(situation: Situation) -> dict[str, str]:
    """Versions of what is on this machine, and of the brokers."""
    try:
        found_java = java_version(java())
    except EnvironmentProblem as error:
        found_java = plain(str(error)).plain
    brokers = sorted({" ".join(filter(None, (each.software_name, each.software_version))) or "unknown" for each in situation.brokers})
    return {
        "clientscope": __version__,
        "Python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "Java": found_java,
        "PySpark": package_version("pyspark"),
        "kafka-python": package_version("kafka-python"),
        "brokers": f"{len(situation.brokers)} ({', '.join(brokers)})" if brokers else "none answers",
    }


def outcomes(results: Results) -> str:
    """The last line: how many results of each outcome."""
    every = [each.outcome for _, found in results for each in found]
    problems, warnings, unknown = (every.count(each) for each in (Outcome.PROBLEM, Outcome.WARNING, Outcome.NOT_CHECKED))
    return f"{counted(problems, 'problem')}, {counted(warnings, 'warning')}, {unknown} not checked, {every.count(Outcome.OK)} ok"


def print_end(console: Console, of: Mapping[str, str], results: Results) -> None:
    """Prints versions and counts."""
    console.print()
    console.print(grid(of.items()))
    console.print()
    console.print(Text(outcomes(results), _STYLES[worst(results)]))


def as_json(of: Mapping[str, str], results: Results) -> str:
    """The same for programs."""
    listed = [{"check": title, **asdict(each)} for title, found in results for each in found]
    return json.dumps({"worst": worst(results), "versions": dict(of), "results": listed}, ensure_ascii=False, indent=2)


def run(settings: DoctorSettings, load: Callable[..., Any]) -> int:
    """Prints all results; 1 if one is a problem, else 0."""
    found: list[CheckResult] = []

    def read(cls: type[AnySettings], name: str) -> AnySettings | None:
        try:
            loaded: AnySettings = load(cls)
        except SettingsError as error:
            # Only the place: a value that isn't valid may be a secret at the wrong place.
            place = str(error).partition(": ")[0]
            found.append(problem(f"invalid setting of {name}: {place}", "correct it; the command itself shows why", f"clientscope {name}"))
            return None
        return loaded

    situation = Situation(
        settings,
        read(GatewaySettings, "gateway"),
        read(StreamSettings, "stream"),
        read(ServeSettings, "serve"),
        read(ClientsSettings, "clients"),
        settings.gateway,
        settings.process,
        settings.timeout_seconds,
    )
    console = Console(highlight=False)
    results: list[tuple[str, Sequence[CheckResult]]] = [("settings", found or [ok("the settings of gateway, stream and serve are valid")])]
    text = settings.output == "text"
    if text:
        console.print(block(*results[0]))
    for result in run_all(situation):
        results.append(result)
        if text:
            console.print(block(*result))
    versions = installed_versions(situation)
    if text:
        print_end(console, versions, results)
    else:
        print(as_json(versions, results))
    return 1 if worst(results) is Outcome.PROBLEM else 0


# Registry of checks, in the order in which they run: what a check needs is found out by those before it.


Check = Callable[[Situation], Iterator[CheckResult]]
"""Yields at least one result; its own errors mean that it wasn't checked."""

CHECKS: Mapping[str, Check] = {
    "java": check_java,
    "spark": check_spark,
    "disk": check_disk,
    "files": check_files,
    "certificates": check_certificates,
    "ports": check_ports,
    "brokers": check_brokers,
    "listeners": check_listeners,
    "topics": check_topics,
    "rights": check_rights,
    "clocks": check_clocks,
}

_LIMIT_S = 60.0
"""Time after which no result of a check is awaited any more."""


def run_all(
    situation: Situation, checks: Mapping[str, Check] = CHECKS, limit_s: float = _LIMIT_S
) -> Iterator[tuple[str, list[CheckResult]]]:
    """Each check's title and results, as soon as it is over. A check that fails or hangs is not checked; the others run."""
    try:
        for title, check in checks.items():
            yield title, _run(check, situation, limit_s)
    finally:
        if situation.admin is not None:
            with suppress(Exception):  # the answers are there; what closing finds wrong is of no use to anybody
                limited(5.0, situation.admin.close)


def _run(check: Check, situation: Situation, limit_s: float) -> list[CheckResult]:
    found: list[CheckResult] = []

    def collect() -> None:
        found.extend(check(situation))

    try:
        limited(limit_s, collect)
    except (ClientscopeError, TimeoutError) as error:
        return [*found, not_checked(str(error)[:300])]
    except (KafkaError, OSError) as error:
        return [*found, not_checked(f"{type(error).__name__}: {str(error)[:200]}")]
    return found
