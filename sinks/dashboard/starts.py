"""What changed between two configurations of a client."""

from __future__ import annotations

from sinks.dashboard.configuration import shown
from sinks.dashboard.models_clients import Change, Configuration


def changes(before: Configuration, after: Configuration) -> list[Change]:
    """Of what clients said: a default that another release has is told too, one that neither told isn't."""
    old, new = ({setting.key: shown(setting) for setting in each.settings if setting.told} for each in (before, after))
    differing = sorted(key for key in old.keys() | new.keys() if old.get(key) != new.get(key))
    return [Change(key=key, before=old.get(key), after=new.get(key)) for key in differing]
