"""The queries of the dashboards and alerting rules in deploy/."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

DEPLOY = Path(__file__).parents[2] / "deploy"
DASHBOARDS = sorted((DEPLOY / "grafana" / "dashboards").glob("*.json"))
_VARIABLES = {"$cluster": ".*", "$broker": ".*", "$listener": ".*"}


def dashboard(path: Path) -> dict[str, Any]:
    return dict(json.loads(path.read_text()))


def panels(path: Path) -> list[dict[str, Any]]:
    """Without the rows' titles."""
    return [panel for panel in dashboard(path)["panels"] if panel["type"] != "row"]


def rules() -> list[dict[str, Any]]:
    groups = yaml.safe_load((DEPLOY / "prometheus" / "rules.yml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def queries_as_written() -> Iterator[str]:
    """Every query of the dashboards, its variables in it."""
    for path in DASHBOARDS:
        for panel in panels(path):
            yield from (target["expr"] for target in panel["targets"])


def queries() -> Iterator[tuple[str, str]]:
    """Where each stands, and the query with its variables set to all."""
    for path in DASHBOARDS:
        for panel in panels(path):
            for target in panel["targets"]:
                expression = target["expr"]
                for name, value in _VARIABLES.items():
                    expression = expression.replace(name, value)
                yield f"{path.stem}: {panel['title']}", expression
    for rule in rules():
        yield rule["alert"], rule["expr"]
