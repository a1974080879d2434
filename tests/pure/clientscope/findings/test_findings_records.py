"""Records of findings and decisions from other writers: impossible dates are refused, so that nothing fails on them later."""

from __future__ import annotations

import json

import pytest
from made_findings import NOW_MS, fingerprint, made

from clientscope.errors import RecordError
from clientscope.model.decision import Decision
from clientscope.model.finding import Finding
from clientscope.model.values import parse

ACCEPTED = {"fingerprint": fingerprint(1), "resolution": "accepted", "by": "ann", "why": "known", "at_ms": NOW_MS, "until": "2027-01-31"}


@pytest.mark.parametrize("changed", [{"until": "soon"}, {"until": "2027-13-01"}, {"at_ms": 10**18}, {"at_ms": -1}])
def test_a_decision_without_a_date_is_none(changed: dict[str, object]) -> None:
    assert parse(Decision, json.dumps(ACCEPTED).encode()).holds(NOW_MS, NOW_MS)
    with pytest.raises(RecordError):
        parse(Decision, json.dumps(ACCEPTED | changed).encode())


@pytest.mark.parametrize("field", ["first_seen_ms", "last_seen_ms", "opened_ms", "ended_ms"])
def test_a_finding_of_a_time_that_is_none_is_refused(field: str) -> None:
    value = made(1).model_dump(mode="json")
    assert parse(Finding, json.dumps(value).encode()) == made(1)
    with pytest.raises(RecordError):
        parse(Finding, json.dumps(value | {field: 10**18}).encode())
