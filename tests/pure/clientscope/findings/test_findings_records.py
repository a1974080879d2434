"""Records of findings and decisions from other writers: impossible dates are refused, so that nothing fails on them later."""

from __future__ import annotations

import json

import pytest
from made_findings import NOW_MS, fingerprint, made

from clientscope.errors import RecordError
from clientscope.model.codec import as_json, decode
from clientscope.model.decision import Decision
from clientscope.model.finding import Finding

ACCEPTED = {"fingerprint": fingerprint(1), "resolution": "accepted", "by": "ann", "why": "known", "at_ms": NOW_MS, "until": "2027-01-31"}


@pytest.mark.parametrize("changed", [{"until": "soon"}, {"until": "2027-13-01"}, {"at_ms": 10**18}, {"at_ms": -1}])
def test_a_decision_without_a_date_is_none(changed: dict[str, object]) -> None:
    assert decode(Decision, json.dumps(ACCEPTED).encode()).holds(NOW_MS, NOW_MS)
    with pytest.raises(RecordError, match=f"invalid_{next(iter(changed))}"):
        decode(Decision, json.dumps(ACCEPTED | changed).encode())


@pytest.mark.parametrize("field", ["first_seen_ms", "last_seen_ms", "opened_ms", "ended_ms"])
def test_a_finding_of_a_time_that_is_none_is_refused(field: str) -> None:
    value = as_json(made(1))
    assert decode(Finding, json.dumps(value).encode()) == made(1)
    with pytest.raises(RecordError, match=f"invalid_{field}"):
        decode(Finding, json.dumps(value | {field: 10**18}).encode())


def test_texts_of_other_writers_are_bounded_and_cleaned() -> None:
    evil = "\x1b[31m\u202e" + "x" * 2_000
    client, names = {"client_id": evil, "address": evil}, {"principal": evil, "client_id": evil, "group": evil}
    value = as_json(made(1)) | {"message": evil, "application": names, "clients": [client], "evidence": [evil]}
    found = decode(Finding, json.dumps(value).encode())
    shown = [found.message, *found.evidence, found.application.group, found.clients[0].client_id, found.clients[0].address]
    assert [len(text or "") for text in shown] == [1_000, 1_000, 256, 256, 256]
    assert not any("\x1b" in (text or "") or "\u202e" in (text or "") for text in shown)
