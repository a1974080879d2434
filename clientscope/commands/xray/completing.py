"""What requests show rarely, from the Admin API: consumers' groups, their members, and what assigns partitions to them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from clientscope.catalog import sensitive
from clientscope.catalog.configs import ClientType
from clientscope.commands.lint.shown import plain
from clientscope.commands.xray.inventory import InventoriedClient, Inventory, Place
from clientscope.kafka.groups import DescribedGroup

PLACE = Place("DescribeGroups", 1)
"""Of a setting that no log has."""


@dataclass(frozen=True)
class ShownGroup:
    """A group of consumers.

    Attributes:
        assignor: the strategy in use; empty for none, and for groups of the new protocol (KIP-848).
        members: how many; None where that isn't known.
        static_members: those with group.instance.id (KIP-345).
        not_seen: members of which no request was seen.
    """

    group: str
    state: str
    assignor: str
    members: int | None
    static_members: int
    not_seen: int


def complete(inventory: Inventory, groups: Iterable[DescribedGroup]) -> tuple[ShownGroup, ...]:
    """Adds the groups of consumers that were seen without, where client.id and address name one group, and lists all groups."""
    clients: dict[tuple[str, str], list[InventoriedClient]] = defaultdict(list)
    for key, client in inventory.clients.items():
        clients[key.client_id, key.address].append(client)
    groups = list(groups)
    named: dict[tuple[str, str], set[tuple[str, str]]] = defaultdict(set)
    for group in groups:
        for member in group.members:
            named[member.client_id, member.address].add((group.group_id, member.instance_id))
    for who, memberships in named.items():
        if len(memberships) == 1 and len(found := clients.get(who, [])) == 1:
            _add(found[0], *next(iter(memberships)))
    return tuple(_shown(group, clients) for group in groups)


def _add(client: InventoriedClient, group_id: str, instance_id: str) -> None:
    if ClientType.CONSUMER not in client.client_types:
        return
    for name, value in (("group.id", group_id), ("group.instance.id", instance_id)):
        key = ClientType.CONSUMER, name
        if value and key not in client.contradicted:
            client.settings.setdefault(key, (value[:256], PLACE))


def _shown(group: DescribedGroup, clients: dict[tuple[str, str], list[InventoriedClient]]) -> ShownGroup:
    not_seen = sum((member.client_id, member.address) not in clients for member in group.members)
    return ShownGroup(
        plain(sensitive.shown(group.group_id)),
        plain(group.state, 30),
        plain(group.assignor, 60),
        len(group.members) if group.classic else None,
        sum(bool(member.instance_id) for member in group.members),
        not_seen,
    )
