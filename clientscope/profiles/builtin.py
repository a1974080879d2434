"""Built-in profiles: TOML files beside this one, each value with its source."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Any

from clientscope.profiles.thresholds import APACHE, Profile

_FILES = ("msk", "eventhubs", "low-latency", "durable")


def sources(name: str) -> dict[str, str]:
    """What a built-in profile says → where that comes from: ``on AN107``, ``off AN112`` or ``AN107 delivery_timeout_ms``."""
    table = _read(name)
    return {f"{kind} {code}": source for kind in ("on", "off") for code, source in table.get(kind, {}).items()} | {
        f"{code} {limit}": stated["source"] for code, limits in table.get("limits", {}).items() for limit, stated in limits.items()
    }


def _profile(name: str) -> Profile:
    table = _read(name)
    limits = {code: {limit: float(stated["value"]) for limit, stated in limits.items()} for code, limits in table.get("limits", {}).items()}
    return Profile(name, frozenset(table.get("off", {})), frozenset(table.get("on", {})), limits)


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads(files("clientscope.profiles").joinpath(f"{name}.toml").read_text("utf-8"))


BUILT_IN: dict[str, Profile] = {APACHE.name: APACHE, **{name: _profile(name) for name in _FILES}}
