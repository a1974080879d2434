"""Results of all rules on each push: keys and values of ``clientscope.results``."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from clientscope.profiles import Thresholds
from clientscope.severities import SEVERITIES
from udfs.arrays.distinct import distinct_rows
from udfs.arrays.json_text import arrays, literals, members
from udfs.kernels.applications import application_client_id
from udfs.pushes import Pushes
from udfs.rules.engine.batch import Batch, judge
from udfs.rules.engine.rule import FIRED, NOT_EVALUABLE, PASSED, Evidence, Judgement, Rule
from udfs.rules.registry import RULES

TYPE = pa.struct([("key", pa.string()), ("rest", pa.string()), ("decode_error", pa.string())])
"""One row per push: the application's key, and the whole result, as a JSON object's text after its first member: ``,…}``.

Both are null where it could not be decoded.
"""

_compact = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode

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


def results(pushes: Pushes, thresholds: Thresholds | None = None, rules: Sequence[Rule] = RULES) -> pa.StructArray:
    """Every rule's verdict on every push, as `TYPE`.

    A value has the record's own fields, then ``rules``, what fired and why, and the codes of those that ``passed``, and of those that were
    ``not_evaluable``; a rule that doesn't apply to this client is in none of them.

    Args:
        thresholds: which profile applies to which client; None for the rules' own limits.
    """
    records = pushes.records
    decode_error = records.field("decode_error")
    batch = Batch(pushes, thresholds)
    key = application_keys(batch)
    fields = {name: records.field(field) for name, field in _SAME.items()}
    fields["application"] = key
    fields["settings"] = pc.list_value_length(records.field("configs"))
    hidden = pushes.settings["value_state"].to_numpy(zero_copy_only=False) != 0
    fields["redacted"] = pa.array(np.bincount(pushes.parents[hidden], minlength=len(pushes)))
    columns = [key, members(fields, verdicts(batch, rules), ",", "}")]
    if decode_error.null_count < len(pushes):
        columns = [pc.if_else(decode_error.is_null(), column, None) for column in columns]
    return pa.StructArray.from_arrays([*columns, decode_error], fields=list(TYPE))


def application_keys(batch: Batch) -> pa.StringArray:
    """Per push `clientscope.findings.fingerprints.application_key` of its client."""
    records = batch.pushes.records
    columns = (records.field("principal"), application_client_id(records.field("client_id")), batch.text("group.id").strings())
    return pc.binary_join_element_wise("[", pc.binary_join_element_wise(*map(literals, columns), ","), "]", "")


def verdicts(batch: Batch, rules: Sequence[Rule] = RULES) -> dict[str, pa.StringArray]:
    """Per push, as JSON: ``rules``, what fired and why, and the codes of what ``passed``, and of what was ``not_evaluable``."""
    judgements = judge(batch, rules)
    return {"rules": _fired(batch, rules, judgements), **_others(rules, judgements)}


def _fired(batch: Batch, rules: Sequence[Rule], judgements: Sequence[Judgement]) -> pa.StringArray:
    """Per push, an array of the rules that fired, in their order."""
    verdicts: list[str] = []
    rows, chosen = [], []
    for rule, judgement in zip(rules, judgements, strict=True):
        fired = np.flatnonzero(judgement.outcomes == FIRED)
        if not fired.size:
            continue
        evidence = rule.shown(batch, fired)
        severities = None if judgement.severities is None else judgement.severities[fired]
        texts, indices = _verdicts(rule, evidence, severities, *batch.messages(rule, FIRED, fired))
        rows.append(fired)
        chosen.append(indices + len(verdicts))
        verdicts += texts
    counts, order = np.zeros(len(batch), np.int64), np.zeros(0, np.int64)
    if rows:
        row = np.concatenate(rows)
        counts = np.bincount(row, minlength=len(batch))
        # Stable, so that the rules' order stays.
        order = np.concatenate(chosen)[np.argsort(row, kind="stable")]
    offsets = pa.array(np.append(0, np.cumsum(counts)), pa.int32())
    return arrays(pa.ListArray.from_arrays(offsets, pa.array(verdicts, pa.string()).take(pa.array(order))))


def _verdicts(
    rule: Rule, evidence: Evidence, severities: npt.NDArray[np.int8] | None, messages: Sequence[str], said: npt.NDArray[np.int64]
) -> tuple[list[str], npt.NDArray[np.int64]]:
    """The JSON of each distinct verdict, and which of them each row has."""
    levels = np.full(evidence.indices.size, SEVERITIES.index(rule.severity)) if severities is None else severities.astype(np.int64)
    heads = levels * len(messages) + said
    pairs, indices = np.unique(heads * len(evidence.distinct) + evidence.indices, return_inverse=True)
    openings = [_opening(rule, severity, message) for severity in SEVERITIES for message in messages]
    texts = []
    for pair in pairs.tolist():
        head, which = divmod(pair, len(evidence.distinct))
        settings = [{name: value for name, value in setting._asdict().items() if value is not None} for setting in evidence.distinct[which]]
        texts.append(openings[head] + _compact(settings) + "}")
    return texts, indices


def _opening(rule: Rule, severity: str, message: str) -> str:
    """A verdict up to its settings, which alone differ from push to push."""
    verdict = {"code": rule.code, "name": rule.name, "severity": severity, "message": message}
    return _compact(verdict)[:-1] + ',"settings":'


def _others(rules: Sequence[Rule], judgements: Sequence[Judgement]) -> dict[str, pa.StringArray]:
    """Per push, the codes of the rules that passed, and of those that couldn't judge: few combinations, each written once."""
    outcomes = np.stack([judgement.outcomes for judgement in judgements], axis=1)
    first, indices = distinct_rows(outcomes)
    found = {}
    for name, outcome in (("passed", PASSED), ("not_evaluable", NOT_EVALUABLE)):
        texts = [_compact([rule.code for rule, said in zip(rules, row, strict=True) if said == outcome]) for row in outcomes[first]]
        found[name] = pa.array(texts, pa.string()).take(pa.array(indices))
    return found
