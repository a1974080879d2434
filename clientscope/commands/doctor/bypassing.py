"""Check for clients that bypass gateways: members of consumer groups whose client.id no gateway has recorded.

Kafka doesn't show who is connected to a broker. It does show the members of consumer groups, so only those can be compared: producers,
admin clients and consumers without a group are not seen here. The listeners (above) show whether there is a way past the gateways.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import closing

from kafka.errors import KafkaError

from clientscope.catalog.sensitive_values import judge_value
from clientscope.commands.doctor.result import CheckResult, not_checked, ok, warning
from clientscope.commands.doctor.situation import CLIENT_ID, Situation
from clientscope.errors import RecordError
from clientscope.kafka.admin import DescribedGroup, consumer_groups
from clientscope.kafka.reader import OffsetRange, TopicReader
from clientscope.records.codec import decode
from clientscope.records.connection_record import ClientConnectionRecord
from clientscope.records.enums import ValueState
from clientscope.records.topics import CONNECTIONS

_LAST_RECORDS = 50_000
"""Records of each partition that are read, from its end."""

_SINCE_S = 7 * 3600
"""Gateways record each open connection again after six hours."""

_LIMIT_S = 20.0
_SHOWN = 5
_CANNOT = "producers, and consumers without a group, can't be seen this way"


def check_bypassing(situation: Situation) -> Iterator[CheckResult]:
    """Members of groups, compared with what gateways recorded."""
    if situation.admin is None or situation.access is None:
        yield not_checked("no broker answers")
        return
    try:
        groups, more = consumer_groups(situation.admin, [each.broker for each in situation.brokers])
        recorded, complete = _recorded(situation)
    except (KafkaError, TimeoutError) as error:
        yield not_checked(f"groups, or {CONNECTIONS}, can't be read ({type(error).__name__}): Describe on groups, and Read on the topic")
        return
    yield judge(groups, recorded, complete=complete and not more)


def judge(groups: Iterable[DescribedGroup], recorded: set[str], *, complete: bool) -> CheckResult:
    """Groups by the client.ids that gateways have recorded.

    Args:
        complete: whether all groups and all recorded connections were read.
    """
    members = [(group.group_id, each.client_id) for group in groups for each in group.members or ()]
    members = [each for each in members if not each[1].startswith("clientscope")]
    past = sorted({each for each in members if each[1] not in recorded})
    if not members:
        return not_checked(f"no consumer group has a member now; {_CANNOT}")
    if not past:
        return ok(f"the client.id of each of {len(members)} group members is known to a gateway; {_CANNOT}")
    if not complete:
        return not_checked(f"{len(past)} group members are unknown, but not all groups and connections were read; {_CANNOT}")
    listed = ", ".join(f"{_shown(client)} of group {_shown(group)}" for group, client in past[:_SHOWN])
    and_more = f", and {len(past) - _SHOWN} more" if len(past) > _SHOWN else ""
    return warning(
        f"{len(past)} group members were recorded by no gateway: {listed}{and_more}; {_CANNOT}",
        "let these clients bootstrap at a gateway; see listeners for ways past it",
    )


def _shown(name: str) -> str:
    """A name that a client chose: bounded, and not at all if it may be a secret."""
    if any(judge_value(part) in (ValueState.VALUE_SHAPE, ValueState.LOOKS_RANDOM) for part in (name, *name.split())):
        return "(hidden: it looks like a secret)"
    return repr(name[:60])


def _recorded(situation: Situation) -> tuple[set[str], bool]:
    """The client.ids that gateways recorded in the last seven hours, and whether all of that was read."""
    found: set[str] = set()
    complete = True
    assert situation.access is not None
    with closing(TopicReader(situation.access, CLIENT_ID, silence_s=_LIMIT_S)) as reader:
        ranges = reader.ranges(CONNECTIONS, since_ms={CONNECTIONS: int((time.time() - _SINCE_S) * 1000)})
        chosen = {partition: OffsetRange(max(first, end - _LAST_RECORDS), end) for partition, (first, end) in ranges.items()}
        complete = chosen == ranges
        reader.seek(chosen)
        for batches in reader.read(time.monotonic() + _LIMIT_S):
            for record in (each for batch in batches.values() for each in batch):
                try:
                    decoded = decode(ClientConnectionRecord, record.value)
                except RecordError:
                    continue
                if decoded.client_id:
                    found.add(decoded.client_id)
    return found, complete
