"""Run of all checks: reads the settings of the other processes, prints results as they come, and chooses the exit status."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from rich.console import Console

from clientscope.commands.doctor import shown
from clientscope.commands.doctor.checks import run_all
from clientscope.commands.doctor.result import CheckResult, Outcome, ok, problem
from clientscope.commands.doctor.situation import Situation
from clientscope.config import GatewaySettings, PageSettings, ServeSettings, Settings, StreamSettings
from clientscope.errors import SettingsError

if TYPE_CHECKING:
    from clientscope.commands.doctor import DoctorSettings

S = TypeVar("S", bound=Settings)


class PageFileSettings(PageSettings):
    """Settings of the commands that ask the page."""

    section = "page"


def run(settings: DoctorSettings, gateway: str, load: Callable[..., Any]) -> int:
    """Prints all results; 1 if one is a problem, else 0."""
    found: list[CheckResult] = []

    def read(cls: type[S], name: str) -> S | None:
        try:
            loaded: S = load(cls)
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
        read(PageFileSettings, "clients"),
        gateway,
        settings.process,
        settings.timeout_seconds,
    )
    console = Console(highlight=False)
    results: list[tuple[str, Sequence[CheckResult]]] = [("settings", found or [ok("the settings of gateway, stream and serve are valid")])]
    text = settings.output == "text"
    if text:
        console.print(shown.block(*results[0]))
    for result in run_all(situation):
        results.append(result)
        if text:
            console.print(shown.block(*result))
    versions = shown.versions(situation)
    if text:
        shown.print_end(console, versions, results)
    else:
        print(shown.as_json(versions, results))
    return 1 if shown.worst(results) is Outcome.PROBLEM else 0
