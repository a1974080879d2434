"""Static members of one name (AN216): connected clients of one application and group that share a group.instance.id."""

from __future__ import annotations

import json
from collections import defaultdict

from streaming.findings import fleet
from streaming.findings.inputs import There
from udfs.rules.groups import static_member_unfit

_MOST_NAMED = 5


def shared_members(live: fleet.Live, judges: fleet.Judges, now_ms: int) -> dict[str, fleet.Found]:
    """One finding for each application that has such members; a client that several gateways see is one."""
    found: dict[str, fleet.Found] = {}
    for application, clients in live.items():
        whose: dict[tuple[str, str], dict[There, int]] = defaultdict(dict)
        for push in clients.pushes:
            if push.member is not None:
                of_member = whose[push.cluster, push.member]
                of_member[push.there] = min(push.appended_ms, of_member.get(push.there, push.appended_ms))
        if not whose or json.loads(application)[2] is None or (limits := judges.limits(static_member_unfit, application)) is None:
            continue
        since_ms = now_ms - limits["minutes"] * 60_000  # a restart may overlap with the process that it replaces
        shared = {
            member: sorted((there for there, at_ms in of_member.items() if at_ms <= since_ms), key=str)
            for (_, member), of_member in sorted(whose.items())
        }
        lines = [_line(member, holders) for member, holders in shared.items() if len(holders) > 1]
        if lines:
            first = next(member for member, holders in shared.items() if len(holders) > 1)
            differ = {"group.instance.id": (first, lines[: fleet.MOST_SETTINGS])}
            found |= fleet.one(static_member_unfit, application, differ, (clients,), clients.newest_ms)
    return found


def _line(member: str, holders: list[There]) -> str:
    named = ", ".join(f"{client_id or 'no client.id'} at {address}" for _, _, client_id, address in holders[:_MOST_NAMED])
    more = f" and {len(holders) - _MOST_NAMED} more" if len(holders) > _MOST_NAMED else ""
    return f"group.instance.id {fleet.shown(member)}: {named}{more}"
