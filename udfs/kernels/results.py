"""Results of all rules on each push: records of ``clientscope.results``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from clientscope.catalog.sensitive_keys import normalise
from clientscope.findings.fingerprints import application_key
from clientscope.model.client_key import client_key
from clientscope.model.codec import encode
from clientscope.model.connection import ClientConnectionRecord
from clientscope.model.push import Push
from clientscope.model.result import MOST_BYTES, PushResult
from udfs.kernels.applications import of_client
from udfs.rules.engine.pushed_config import PushedConfig
from udfs.rules.engine.rule import FIRED, NOT_EVALUABLE, PASSED, judge, verdict
from udfs.rules.registry import RULES

PER_INSTANCE = frozenset({"client.id", "group.instance.id", "client.rack", "transactional.id", "consumer.id"})
"""Settings that instances of one application rightly differ in; they aren't compared."""
_LONGEST_OF_INSTANCE = max(map(len, PER_INSTANCE))


class Place(NamedTuple):
    """Where a record is, and when Kafka took it, in ms since the epoch."""

    topic: str
    partition: int
    offset: int
    appended_ms: int


def result(push: PushedConfig, written: Sequence[str], place: Place) -> tuple[str, bytes]:
    """A push's key and value on ``clientscope.results``.

    Args:
        written: keys of the secrets that its record contains.
    """
    record, client = push.record, key_of(push.record)
    codes: dict[int, list[str]] = {PASSED: [], NOT_EVALUABLE: []}
    fired = []
    for rule, judgement in judge(push, RULES):
        if judgement.outcome == FIRED:
            fired.append(verdict(push, rule, judgement))
        else:
            codes[judgement.outcome].append(rule.code)
    value = PushResult(
        version=1,
        **place._asdict(),
        received_ms=record.received_ms,
        cluster=record.cluster,
        broker=record.broker,
        gateway=record.gateway,
        epoch=record.epoch,
        connection=record.connection,
        listener=record.listener,
        security_protocol=record.security_protocol,
        address=record.address,
        principal=record.principal,
        client_id=record.client_id,
        software_name=record.software_name,
        software_version=record.software_version,
        instance_id=record.instance_id,
        origin=record.origin,
        application=application_of(push),
        setting_count=len(push.settings),
        redacted_count=len(push.redacted),
        rules=tuple(fired),
        passed=tuple(codes[PASSED]),
        not_evaluable=tuple(codes[NOT_EVALUABLE]),
        client=client,
        client_type=push.client_type and push.client_type.value,
        member=push.text("group.instance.id"),
        transactional=bool(push.text("transactional.id")) or push.is_hidden("transactional.id"),
        unsearched=not push.searched,
        written=tuple(written),
        configuration={
            each.key: each.redacted or each.value
            for each in push.settings
            if len(each.key) > _LONGEST_OF_INSTANCE or normalise(each.key) not in PER_INSTANCE
        },
    )
    text = encode(value)
    if len(text) > MOST_BYTES:  # what doesn't fit into a record of Kafka's would stop the job
        text = encode(replace(value, rules=tuple(replace(each, settings=()) for each in value.rules), configuration=None))
    return client, text


def application_of(push: PushedConfig) -> str:
    """Whose push it is: `clientscope.findings.fingerprints.application_key` of its client."""
    return application_key(push.record.principal, of_client(push.record.client_id), push.text("group.id"))


def key_of(record: Push | ClientConnectionRecord) -> str:
    """`clientscope.model.client_key` of a record's client."""
    return client_key(
        record.cluster, record.principal, record.address, record.instance_id, record.gateway, record.epoch,
        record.connection,
    )  # fmt: skip
