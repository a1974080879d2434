"""Figures of all rounds as one table, with the goals."""

from __future__ import annotations

import os
import platform
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

Rounds = dict[str, dict[str, list[float]]]
"""Measure → target → one value a round."""


@dataclass(frozen=True)
class Goal:
    """What a measure of the gateway should be; ``holds`` takes the medians by target."""

    text: str
    holds: Callable[[dict[str, float]], bool]


GOALS = {
    "produce CPU s/GB": Goal("≤ peer", lambda m: m["gateway"] <= m["peer"]),
    "consume CPU s/GB": Goal("≤ 60 % of peer", lambda m: m["gateway"] <= 0.6 * m["peer"]),
    "added p99 ms": Goal("≤ 1", lambda m: m["gateway"] <= 1.0),
    "connections/s": Goal("≥ 1.2 × peer", lambda m: m["gateway"] >= 1.2 * m["peer"]),
    "started MB": Goal("≤ 60", lambda m: m["gateway"] <= 60),
    "KiB per connection at 5000": Goal("≤ 4", lambda m: m["gateway"] <= 4.0),
}


def machine(versions: dict[str, str]) -> dict[str, str]:
    """What the figures were measured on."""
    models = [line.partition(":")[2].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    return {
        "CPU": f"{os.cpu_count()} × {models[0] if models else platform.machine()}",
        "load before": f"{os.getloadavg()[0]:.1f}",
        "system": f"Linux {platform.release()}",
        "Python": platform.python_version(),
        **versions,
    }


def summary(rounds: Rounds) -> dict[str, Any]:
    """Medians, ranges and goals, as JSON has them."""
    result: dict[str, Any] = {}
    for measure, targets in rounds.items():
        medians = {target: statistics.median(values) for target, values in targets.items()}
        goal = GOALS.get(measure)
        try:
            met = goal.holds(medians) if goal else None
        except KeyError:
            met = None  # the peer is missing
        spread = {target: {"median": medians[target], "min": min(values), "max": max(values)} for target, values in targets.items()}
        result[measure] = {"targets": spread, "goal": goal.text if goal else None, "met": met}
    return result


def show(found: dict[str, Any], about: dict[str, str], targets: list[str], missing: str) -> None:
    """Prints the table."""
    table = Table(title="median (min – max) over the rounds", caption="; ".join(f"{key}: {value}" for key, value in about.items()))
    table.add_column("measure")
    for target in targets:
        table.add_column(target, justify="right")
    table.add_column("goal")
    table.add_column("met")
    for measure, row in found.items():
        cells = [_cell(row["targets"].get(target)) for target in targets]
        met = {None: "", True: "yes", False: "[bold red]no"}[row["met"]]
        table.add_row(measure, *cells, row["goal"] or "", met if row["goal"] is None or row["met"] is not None else "no peer")
    console = Console(width=150)
    console.print(table)
    if missing:
        console.print(f"The peer is missing: {missing}")


def _cell(values: dict[str, float] | None) -> str:
    if values is None:
        return "–"
    digits = 0 if values["median"] >= 100 else 2
    return f"{values['median']:.{digits}f} ({values['min']:.{digits}f} – {values['max']:.{digits}f})"
