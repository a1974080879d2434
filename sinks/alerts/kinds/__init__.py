"""Kinds of receivers: one file for each, all listed in `KINDS`. To add one: one file beside this one, one line below."""

from __future__ import annotations

from typing import Any

from sinks.alerts.kinds import alertmanager, apprise, webhook
from sinks.alerts.receivers import ReceiverKind

KINDS: tuple[ReceiverKind[Any], ...] = (
    alertmanager.KIND,
    webhook.KIND,
    apprise.KIND,
)
"""Every kind, in the order in which errors and docs/alerts.md list them."""


def by_name(kinds: tuple[ReceiverKind[Any], ...]) -> dict[str, ReceiverKind[Any]]:
    """The kinds by name.

    Raises:
        ValueError: two have the same, or one is not delivered to in exactly one way.
    """
    found = {kind.name: kind for kind in kinds}
    if len(found) < len(kinds):
        raise ValueError("two kinds of receivers have the same name")
    for kind in kinds:
        if (kind.sender is None) == (kind.follow is None):
            raise ValueError(f"{kind.name} needs either a sender or follow")
    return found


BY_NAME = by_name(KINDS)
"""Every kind, by the value of ``kind`` in receivers.toml."""
