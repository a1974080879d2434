"""Results of all rules on each push: keys and values of ``clientscope.results``."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

from clientscope.digest import DigestKey
from clientscope.findings.fingerprints import application_key
from clientscope.profiles import Thresholds
from clientscope.severities import SEVERITIES
from udfs.decode import judged_pushes
from udfs.kernels.applications import of_client
from udfs.rules.engine.checked import search_names
from udfs.rules.engine.push import Push
from udfs.rules.engine.rule import FIRED, NOT_EVALUABLE, PASSED, Judgement, Rule
from udfs.rules.registry import RULES

TYPE = pa.struct([("key", pa.string()), ("rest", pa.string()), ("decode_error", pa.string())])
"""One row per push: the application's key, and the whole result, as a JSON object's text after its first member: ``,…}``.

Both are null where it could not be decoded.
"""

LARGEST = 500_000
"""Bytes of a result with the settings that its verdicts rest on; one with more doesn't name them. Producers send 1 MiB at most."""

compact = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode

_SAME = {
    "received_ms": "received_timestamp_ms",
    "cluster": "cluster_id",
    "broker": "broker_id",
    "gateway": "gateway_id",
    "epoch": "gateway_epoch",
    "connection": "connection_id",
    "listener": "listener_name",
    "security_protocol": "security_protocol",
    "address": "client_address",
    "principal": "principal",
    "client_id": "client_id",
    "software_name": "client_software_name",
    "software_version": "client_software_version",
    "instance_id": "client_instance_id",
    "origin": "origin",
}


def results(values: pa.Array, digest_key: DigestKey | None, thresholds: Thresholds | None = None) -> pa.StructArray:
    """Every rule's verdict on every record of ``clientscope.configs``, as `TYPE`.

    A value has the record's own fields, then ``rules``, what fired and why, and the codes of those that ``passed``, and of those that were
    ``not_evaluable``; a rule that doesn't apply to this client is in none of them.

    Args:
        digest_key: digests leaks that no gateway has redacted.
        thresholds: which profile applies to which client; None for the rules' own limits.
    """
    pushes, errors = pushes_of(values, digest_key, thresholds)
    rows = [(None, None) if push is None else _result(push) for push in pushes]
    columns = [pa.array([key for key, _ in rows], pa.string()), pa.array([rest for _, rest in rows], pa.string())]
    return pa.StructArray.from_arrays([*columns, pa.array(errors, pa.string())], fields=list(TYPE))


def pushes_of(values: pa.Array, digest_key: DigestKey | None, thresholds: Thresholds | None) -> tuple[list[Push | None], list[str | None]]:
    """Each record's push, ready to be judged; and why the others have none."""
    judged, errors = judged_pushes(values, digest_key)
    pushes = [None if each is None else Push(each, thresholds) for each in judged]
    search_names(push for push in pushes if push is not None)
    return pushes, errors


def _result(push: Push) -> tuple[str, str]:
    """The application's key, and the result after its first member."""
    key, record = application_of(push), push.record
    value: dict[str, Any] = {name: getattr(record, field) for name, field in _SAME.items()}
    value |= {"application": key, "settings": len(push.settings), "redacted": sum(each.redacted is not None for each in push.settings)}
    judged = verdicts(push)
    text = compact(value | judged)
    if len(text.encode()) > LARGEST:  # what doesn't fit into a record of Kafka's would stop the job
        judged["rules"] = [verdict | {"settings": []} for verdict in judged["rules"]]
        text = compact(value | judged)
    return key, "," + text[1:]


def application_of(push: Push) -> str:
    """Whose push it is: `clientscope.findings.fingerprints.application_key` of its client."""
    return application_key(push.record.principal, of_client(push.record.client_id), push.text("group.id"))


def verdicts(push: Push) -> dict[str, list[Any]]:
    """``rules``, what fired and why, and the codes of what ``passed``, and of what was ``not_evaluable``."""
    judged = list(push.judged_by(RULES))
    return {
        "rules": [_verdict(push, rule, judgement) for rule, judgement in judged if judgement.outcome == FIRED],
        "passed": [rule.code for rule, judgement in judged if judgement.outcome == PASSED],
        "not_evaluable": [rule.code for rule, judgement in judged if judgement.outcome == NOT_EVALUABLE],
    }


def _verdict(push: Push, rule: Rule, judgement: Judgement) -> dict[str, Any]:
    """A rule that fired, and the settings that it points to."""
    return {
        "code": rule.code,
        "name": rule.name,
        "severity": rule.severity if judgement.severity is None else SEVERITIES[judgement.severity],
        "message": push.message(rule, FIRED),
        "settings": [{name: value for name, value in each._asdict().items() if value is not None} for each in push.shown(rule, judgement)],
    }
