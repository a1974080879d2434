"""Groups and their members, as their coordinators describe them (DescribeGroups).

What of kafka-python 3.0.12 is worked around: it has no ConsumerGroupDescribe (KIP-848), so groups of the new protocol have no members here.
To be removed once it has.
"""

from __future__ import annotations

from dataclasses import dataclass

from clientscope.kafka.admin import AdminClient

MOST_GROUPS = 1_000
"""Groups that are described; each costs a request to its coordinator."""


@dataclass(frozen=True)
class DescribedMember:
    """A member of a group.

    Attributes:
        address: the client's IP address.
        instance_id: of a static member (KIP-345); empty for others.
    """

    client_id: str
    address: str
    instance_id: str


@dataclass(frozen=True)
class DescribedGroup:
    """A group of consumers.

    Attributes:
        assignor: the strategy that its members agreed on; empty while there is none.
        classic: whether it has the classic protocol; members of others aren't known.
    """

    group_id: str
    state: str
    assignor: str
    classic: bool
    members: tuple[DescribedMember, ...]


def consumer_groups(admin: AdminClient) -> tuple[list[DescribedGroup], int]:
    """Groups of consumers, by id, and how many more there are beyond `MOST_GROUPS`.

    Raises:
        KafkaError: a broker doesn't answer, or refuses.
    """
    listed = sorted((each for each in admin.list_groups() if each["protocol_type"] == "consumer"), key=lambda each: str(each["group_id"]))
    classic = {str(each["group_id"]): each.get("group_type", "classic") != "consumer" for each in listed}
    chosen = list(classic)[:MOST_GROUPS]
    described = admin.describe_groups([group for group in chosen if classic[group]]) if any(classic[group] for group in chosen) else {}
    groups = []
    for group in chosen:
        said = described.get(group)
        members = tuple(
            DescribedMember(each["client_id"], each["client_host"].removeprefix("/"), each.get("group_instance_id") or "")
            for each in (said["members"] if said else ())
        )
        state, assignor = (said["group_state"], said["protocol_data"]) if said else ("", "")
        groups.append(DescribedGroup(group, state, assignor, classic[group], members))
    return groups, len(classic) - len(chosen)
