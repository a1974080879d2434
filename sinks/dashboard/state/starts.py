"""Differences between two configurations of a client."""

from __future__ import annotations

from clientscope.api.clients import Configuration, SettingChange
from sinks.dashboard.state.configuration import shown


def changes(before: Configuration, after: Configuration) -> list[SettingChange]:
    """Differences in pushed values: a default of another release counts too, one that neither pushed doesn't."""
    old, new = ({setting.key: shown(setting) for setting in each.settings if setting.reported} for each in (before, after))
    differing = sorted(key for key in old.keys() | new.keys() if old.get(key) != new.get(key))
    return [SettingChange(key=key, before=old.get(key), after=new.get(key)) for key in differing]
