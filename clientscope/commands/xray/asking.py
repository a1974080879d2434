"""What a cluster says of itself beside its brokers' logs: brokers, groups, transactions and quotas, by the Admin API."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TypeVar

from kafka.errors import IncompatibleBrokerVersion, KafkaError

from clientscope.catalog import sensitive
from clientscope.catalog.releases import api_name
from clientscope.cluster.api_versions import BrokerAnswer
from clientscope.cluster.software import find_all
from clientscope.commands.lint.shown import plain
from clientscope.commands.xray.completing import ShownGroup, ShownTransaction, complete_groups, complete_transactions
from clientscope.commands.xray.inventory import Inventory
from clientscope.commands.xray.raised import Connect
from clientscope.errors import EnvironmentProblem
from clientscope.kafka.admin import MOST_GROUPS, MOST_TRANSACTIONAL_IDS, AdminClient, client_quotas, consumer_groups, transactions

MOST_QUOTAS = 1_000
"""Entities whose quotas are shown."""

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class ShownBroker:
    """A broker.

    Attributes:
        release: that its API versions let infer, such as ``4.0`` or ``3.7–3.8``; empty where they don't.
        features: feature → level that the cluster has, such as ``metadata.version`` (KIP-584).
        api_versions: API → its lowest and highest version (KIP-35).
    """

    id: int
    address: str
    rack: str
    release: str
    features: Mapping[str, int]
    api_versions: Mapping[str, str]


@dataclass(frozen=True)
class ShownQuota:
    """Client quotas of one entity.

    Attributes:
        entity: such as ``user alice, client-id default``.
        values: quota → value: bytes or mutations a second, connections a second, or percent of a thread.
    """

    entity: str
    values: Mapping[str, float]


@dataclass(frozen=True)
class ClusterAnswers:
    """What a cluster said; empty where it wasn't asked.

    Attributes:
        unanswered: sentences on what it didn't say, and why.
    """

    brokers: tuple[ShownBroker, ...] = ()
    groups: tuple[ShownGroup, ...] = ()
    transactions: tuple[ShownTransaction, ...] = ()
    quotas: tuple[ShownQuota, ...] = ()
    unanswered: tuple[str, ...] = ()


def ask_cluster(inventory: Inventory, brokers: Sequence[BrokerAnswer], connect: Connect) -> ClusterAnswers:
    """Asks for each, and completes the inventory; a principal without the right goes without."""
    ids = [answer.broker.id for answer in brokers]
    unanswered: list[str] = []

    def asked(what: str, right: str, since: str, question: Callable[[AdminClient], Answer]) -> Answer | None:
        try:
            with closing(connect()) as admin:
                return question(admin)
        except IncompatibleBrokerVersion:
            unanswered.append(f"{what}: brokers before {since} don't describe them.")
        except (EnvironmentProblem, KafkaError) as error:
            unanswered.append(f"{what}: {plain(str(error) or type(error).__name__, 200)}. They need {right}.")
        return None

    groups = asked("Groups of consumers", "Describe on the groups", "0.9", lambda admin: consumer_groups(admin, ids))
    ongoing = asked("Transactions", "Describe on the transactional ids", "3.0", lambda admin: transactions(admin, ids))
    quotas = asked("Client quotas", "DescribeConfigs on the cluster", "2.6", client_quotas) or []
    for found, what, most in ((groups, "groups", MOST_GROUPS), (ongoing, "transactional ids", MOST_TRANSACTIONAL_IDS)):
        if found and found[1]:
            unanswered.append(f"{found[1]:,} {what} beyond the first {most:,}.")
    if len(quotas) > MOST_QUOTAS:
        unanswered.append(f"Quotas of {len(quotas) - MOST_QUOTAS:,} entities beyond the first {MOST_QUOTAS:,}.")
    return ClusterAnswers(
        tuple(_broker(answer) for answer in brokers),
        complete_groups(inventory, groups[0] if groups else ()),
        complete_transactions(inventory, ongoing[0] if ongoing else ()),
        tuple(ShownQuota(_entity(quota.entity), quota.values) for quota in quotas[:MOST_QUOTAS]),
        tuple(unanswered),
    )


def _broker(answer: BrokerAnswer) -> ShownBroker:
    (found,) = find_all([answer], {}, {})
    versions = {api_name(key) or f"API {key}": f"{lowest}–{highest}" for key, (lowest, highest) in sorted(answer.ranges.items())}
    address = f"{answer.broker.host}:{answer.broker.port}"
    features = {plain(name, 60): level for name, level in sorted(answer.finalized.items())}
    return ShownBroker(
        answer.broker.id, plain(address), plain(answer.broker.rack or "", 60), found.software.version or "", features, versions
    )


def _entity(entity: Mapping[str, str | None]) -> str:
    parts = (f"{kind} {'default' if name is None else plain(sensitive.shown(name))}" for kind, name in sorted(entity.items(), reverse=True))
    return ", ".join(parts)
