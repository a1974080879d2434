"""Groups of consumers and their members, as their coordinators describe them: DescribeGroups, and ConsumerGroupDescribe (KIP-848).

What of kafka-python 3.0.12 is worked around: it has no ConsumerGroupDescribe; `clientscope.wire.messages` has it. To be removed once
``describe_groups()`` takes groups of both protocols.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from kafka.errors import IncompatibleBrokerVersion

from clientscope.kafka.admin import AdminClient
from clientscope.wire.codes import NONE
from clientscope.wire.messages import ConsumerGroupDescribeRequest

MOST_GROUPS = 1_000
"""Groups that are described."""


@dataclass(frozen=True)
class DescribedMember:
    """A member of a group.

    Attributes:
        address: the client's IP address.
        instance_id: of a static member (KIP-345); empty for others.
        rack: the client's rack, which only groups of the consumer protocol know; empty for none.
    """

    client_id: str
    address: str
    instance_id: str
    rack: str = ""


@dataclass(frozen=True)
class DescribedGroup:
    """A group of consumers.

    Attributes:
        protocol: ``classic`` or ``consumer`` (KIP-848), as in ``group.protocol``.
        assignor: the strategy that its members agreed on, or that its coordinator uses; empty while there is none.
        members: None where the coordinator doesn't describe the group.
    """

    group_id: str
    protocol: str
    state: str
    assignor: str
    members: tuple[DescribedMember, ...] | None


def consumer_groups(admin: AdminClient, brokers: Sequence[int]) -> tuple[list[DescribedGroup], int]:
    """Groups of consumers, by id, and how many more there are beyond `MOST_GROUPS`.

    Args:
        brokers: ids of those that are asked; each describes the groups that it coordinates.

    Raises:
        KafkaError: a broker doesn't answer, or refuses.
    """
    listed: dict[str, tuple[int, str]] = {}
    for broker in brokers:
        for each in admin.list_groups(broker_ids=[broker]):
            if each["protocol_type"] == "consumer":
                listed[str(each["group_id"])] = broker, str(each.get("group_type") or "classic").lower()
    chosen = dict(islice(sorted(listed.items()), MOST_GROUPS))
    found: list[DescribedGroup] = []
    for broker in brokers:
        own = {group: protocol for group, (coordinator, protocol) in chosen.items() if coordinator == broker}
        found += _classic(admin, broker, [group for group, protocol in own.items() if protocol != "consumer"])
        found += _consumer(admin, broker, [group for group, protocol in own.items() if protocol == "consumer"])
    return sorted(found, key=lambda group: group.group_id), len(listed) - len(chosen)


def _classic(admin: AdminClient, coordinator: int, groups: list[str]) -> Iterator[DescribedGroup]:
    described = admin.describe_groups(groups, group_coordinator_id=coordinator) if groups else {}
    for group in groups:
        said = described.get(group)
        if said is None or said["error"]:
            yield DescribedGroup(group, "classic", "", "", None)
            continue
        members = tuple(_member(each["client_id"], each["client_host"], each.get("group_instance_id")) for each in said["members"])
        yield DescribedGroup(group, "classic", said["group_state"], said["protocol_data"], members)


def _consumer(admin: AdminClient, coordinator: int, groups: list[str]) -> Iterator[DescribedGroup]:
    if not groups:
        return
    request = ConsumerGroupDescribeRequest(group_ids=groups, include_authorized_operations=False)
    try:
        response = admin._manager.run(admin._manager.send, request, coordinator)
    except IncompatibleBrokerVersion:  # an early access of KIP-848, which lists such groups and doesn't describe them
        yield from (DescribedGroup(group, "consumer", "", "", None) for group in groups)
        return
    for said in response.groups:
        if said.error_code != NONE:
            yield DescribedGroup(said.group_id, "consumer", "", "", None)
            continue
        members = tuple(_member(each.client_id, each.client_host, each.instance_id, each.rack_id) for each in said.members)
        yield DescribedGroup(said.group_id, "consumer", said.group_state, said.assignor_name, members)


def _member(client_id: str, host: str, instance_id: str | None, rack: str | None = None) -> DescribedMember:
    return DescribedMember(client_id, host.removeprefix("/"), instance_id or "", rack or "")
