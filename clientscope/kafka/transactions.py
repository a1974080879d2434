"""Transactional ids that coordinators know (KIP-664, Kafka 3.0 and later).

What of kafka-python 3.0.12 is worked around: ``describe_transactions()`` fails as a whole where one of the ids has expired meanwhile
(admin/_transactions.py), and finds coordinators that listing has named already. To be removed once it leaves such ids out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kafka.protocol.admin import DescribeTransactionsRequest

from clientscope.kafka.admin import AdminClient
from clientscope.wire.codes import NONE

MOST_TRANSACTIONAL_IDS = 1_000
"""Transactional ids that are described."""


@dataclass(frozen=True)
class DescribedTransaction:
    """A transactional id.

    Attributes:
        state: as in ``TransactionState`` of Kafka, such as ``Ongoing``.
        timeout_ms: the producer's transaction.timeout.ms.
        started_ms: of the transaction that is open, ms since the epoch; None for none.
    """

    transactional_id: str
    state: str
    timeout_ms: int
    started_ms: int | None


def transactions(admin: AdminClient, brokers: Sequence[int]) -> tuple[list[DescribedTransaction], int]:
    """Transactional ids, and how many more there are beyond `MOST_TRANSACTIONAL_IDS`.

    Args:
        brokers: ids of those that are asked; each describes the ids that it coordinates.

    Raises:
        IncompatibleBrokerVersion: a broker before 3.0.
        KafkaError: a broker doesn't answer, or refuses.
    """
    listed = [(each.transactional_id, broker) for broker in brokers for each in admin.list_transactions(broker_ids=[broker])[broker]]
    chosen = sorted(listed)[:MOST_TRANSACTIONAL_IDS]
    found = []
    for broker in brokers:
        ids = [transactional_id for transactional_id, coordinator in chosen if coordinator == broker]
        if not ids:
            continue
        response = admin._manager.run(admin._manager.send, DescribeTransactionsRequest(transactional_ids=ids), broker)
        for each in response.transaction_states:
            if each.error_code == NONE:
                started = each.transaction_start_time_ms
                state = str(each.transaction_state)
                found.append(
                    DescribedTransaction(each.transactional_id, state, each.transaction_timeout_ms, started if started >= 0 else None)
                )
    return sorted(found, key=lambda each: each.transactional_id), len(listed) - len(chosen)
