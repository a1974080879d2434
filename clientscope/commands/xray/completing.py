"""What requests show rarely, from what the Admin API describes: groups and their members, assignors, and transactions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from clientscope.catalog import sensitive
from clientscope.catalog.configs import ClientType
from clientscope.commands.lint.shown import plain
from clientscope.commands.xray.inventory import InventoriedClient, Inventory, Place
from clientscope.kafka.admin import DescribedGroup, DescribedMember, DescribedTransaction

GROUPS, TRANSACTIONS = Place("DescribeGroups", 1), Place("DescribeTransactions", 1)
"""Of settings that no log has."""


@dataclass(frozen=True)
class ShownGroup:
    """A group of consumers.

    Attributes:
        protocol: ``classic`` or ``consumer`` (KIP-848).
        assignor: the strategy in use; empty for none.
        members: how many; None where the coordinator doesn't describe the group.
        static_members: those with group.instance.id (KIP-345).
        not_seen: members of which no request was seen.
    """

    group: str
    protocol: str
    state: str
    assignor: str
    members: int | None
    static_members: int
    not_seen: int


@dataclass(frozen=True)
class ShownTransaction:
    """A transactional id that a coordinator knows.

    Attributes:
        timeout_ms: transaction.timeout.ms of its producer.
        started: of the transaction that is open, ISO 8601 in UTC; empty for none.
        clients: client ids of producers that were seen with it.
    """

    transactional_id: str
    state: str
    timeout_ms: int
    started: str
    clients: tuple[str, ...]


def complete_groups(inventory: Inventory, groups: Iterable[DescribedGroup]) -> tuple[ShownGroup, ...]:
    """Adds what groups say of consumers whose client.id and address name one membership, and lists all groups."""
    clients: dict[tuple[str, str], list[InventoriedClient]] = defaultdict(list)
    for key, client in inventory.clients.items():
        clients[key.client_id, key.address].append(client)
    groups = list(groups)
    named: dict[tuple[str, str], set[tuple[DescribedMember, str, str]]] = defaultdict(set)
    for group in groups:
        for member in group.members or ():
            named[member.client_id, member.address].add((member, group.group_id, group.protocol))
    for who, memberships in named.items():
        if len(memberships) == 1 and len(found := clients.get(who, [])) == 1:
            ((member, group_id, protocol),) = memberships
            if ClientType.CONSUMER in found[0].client_types:
                _add(found[0], ClientType.CONSUMER, "group.id", group_id, GROUPS)
                _add(found[0], ClientType.CONSUMER, "group.instance.id", member.instance_id, GROUPS)
                _add(found[0], ClientType.CONSUMER, "client.rack", member.rack, GROUPS)
                if protocol == "consumer":  # the default, classic, is what libraries without KIP-848 have no setting for
                    _add(found[0], ClientType.CONSUMER, "group.protocol", protocol, GROUPS)
    return tuple(_shown(group, clients) for group in groups)


def complete_transactions(inventory: Inventory, found: Iterable[DescribedTransaction]) -> tuple[ShownTransaction, ...]:
    """Adds transaction.timeout.ms to producers that were seen with a transactional id, and lists all of them."""
    key = ClientType.PRODUCER, "transactional.id"
    producers: dict[str, list[tuple[str, InventoriedClient]]] = defaultdict(list)
    for who, client in inventory.clients.items():
        if key in client.settings:
            producers[client.settings[key][0]].append((who.client_id, client))
    shown = []
    for each in found:
        seen = producers.get(each.transactional_id, [])
        for _, client in seen:
            _add(client, ClientType.PRODUCER, "transaction.timeout.ms", str(each.timeout_ms), TRANSACTIONS)
        clients = tuple(sorted({plain(sensitive.shown(client_id)) for client_id, _ in seen}))
        name = plain(sensitive.shown(each.transactional_id))
        started = datetime.fromtimestamp(each.started_ms / 1000, UTC).isoformat(timespec="seconds") if each.started_ms is not None else ""
        shown.append(ShownTransaction(name, plain(each.state, 30), each.timeout_ms, started, clients))
    return tuple(shown)


def _add(client: InventoriedClient, client_type: ClientType, name: str, value: str, place: Place) -> None:
    if value and (client_type, name) not in client.contradicted:
        client.settings.setdefault((client_type, name), (value[:256], place))


def _shown(group: DescribedGroup, clients: dict[tuple[str, str], list[InventoriedClient]]) -> ShownGroup:
    members = group.members or ()
    return ShownGroup(
        plain(sensitive.shown(group.group_id)),
        group.protocol if group.protocol in ("classic", "consumer") else "other",
        plain(group.state, 30),
        plain(group.assignor, 60),
        None if group.members is None else len(members),
        sum(bool(member.instance_id) for member in members),
        sum((member.client_id, member.address) not in clients for member in members),
    )
