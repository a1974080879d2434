"""A record that the engine of findings fails at is reported and passed over; all others count."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

import pytest
from fleets import NOW, SECOND, connected, new_engine, pushed
from record_bytes import config_record, connection_record, setting

from clientscope.model.codec import encode_whole
from clientscope.model.enums import Kind
from clientscope.model.input import InputRecord
from clientscope.model.result import PushResult, Verdict
from streaming.findings import fleet
from streaming.findings.engine import FindingsEngine

OF_PUSH = "Record 7 of partition 0 of clientscope.configs"
WHO = {"principal": "User:a", "address": "10.0.0.1"}


NO_SETTING = (Verdict("SK001", "", "high", "", (None,)),)
"""Verdicts that are read well and fail later, each time that the push is looked at."""


class Quoting(str):
    """A text that can't be looked up, by an error that quotes it."""

    def __hash__(self) -> int:
        raise ValueError(self)


def push(offset: int, client_id: str, **broken: Any) -> PushResult:
    (result,) = pushed([(NOW, config_record(setting("acks", "0"), client_id=client_id, **WHO))], begin=offset)
    return replace(result, **broken)


def event(offset: int, **broken: Any) -> InputRecord:
    (found,) = connected([(NOW, connection_record(offset, kind=Kind.IDENTIFIED, client_id="orders", **WHO))], begin=offset)
    assert found.record is not None
    return replace(found, record=replace(found.record, **broken))


@pytest.mark.parametrize(
    ("broken", "where", "why"),
    [
        (push(7, "web", rules=None), OF_PUSH, "TypeError"),
        (push(7, "web", address=Quoting("hunter2-canary")), OF_PUSH, "ValueError"),
        (push(7, "web", rules=NO_SETTING), OF_PUSH, "AttributeError"),
        (event(7, kind=Kind.HEARTBEAT, sequence=None), "Record 7 of partition 0 of clientscope.connections", "TypeError"),
    ],
)
def test_record_that_the_engine_fails_at_is_passed_over(
    engine: FindingsEngine, broken: PushResult | InputRecord, where: str, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        engine.apply([push(6, "orders"), broken, push(8, "etl")])
    findings = {(record.code, record.severity, record.message) for record in engine.changes(NOW + SECOND).values() if record}
    said = f"{where} was passed over, since the engine of findings failed at it ({why}): please report it."
    assert ("OP002", "high", said) in findings
    assert sum(code == "AN101" for code, *_ in findings) == 2, "the others count"
    assert said in caplog.text
    assert "Traceback" not in caplog.text, "its last line could have what a client said"
    assert "hunter2-canary" not in caplog.text
    assert set(engine.passed_over.take()) == {where.rsplit(" of ", 1)[-1]}
    assert not engine.passed_over.take(), "each is counted once"


def test_same_record_after_a_restart_is_the_same_finding() -> None:
    broken, published = push(7, "web", rules=None), {}
    for _ in range(2):
        job = new_engine(published)
        job.apply([broken])
        changes = job.changes(NOW + SECOND)
        published |= {key: encode_whole(record) for key, record in changes.items() if record}
    assert len(published) == 1
    assert b'"reopened":0' in next(iter(published.values()))


def test_finding_that_fails_holds_up_no_other(engine: FindingsEngine, caplog: pytest.LogCaptureFixture) -> None:
    engine.apply([push(6, "orders"), push(7, "web")])
    broken = next(entry for entry in engine.book.entries.values() if "orders" in (entry.application or ""))
    broken.application = "no JSON"
    found = {record.code: record for record in engine.changes(NOW + SECOND).values() if record}
    assert found["AN101"].application.client_id == "web"
    (said,) = {record.message for record in engine.changes(NOW + 2 * SECOND).values() if record and record.code == "OP002"}
    assert said.startswith(f"Finding {broken.fingerprint} (AN101) was passed over")
    assert "no JSON" not in caplog.text


def test_flood_of_failures_is_counted_and_does_not_fill_the_log(engine: FindingsEngine, caplog: pytest.LogCaptureFixture) -> None:
    engine.apply([push(offset, "web", rules=None) for offset in range(100)])
    assert engine.passed_over.take() == {"clientscope.configs": 100}
    assert len(caplog.records) < 20
    assert "Record 0 of" in caplog.text
    engine.apply([push(offset, "web", rules=None) for offset in range(100, 110)])
    assert "Record 109 of" in caplog.text, "those that come later are named again"
    assert caplog.text.count(", in problems") == 1, "a place in the code is shown once"


def test_comparison_that_fails_ends_nothing_else(engine: FindingsEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet, "rare_values", lambda live, judges: {}["hunter2-canary"])
    engine.apply([push(6, "orders")])
    assert "AN101" in {record.code for record in engine.changes(NOW + SECOND).values() if record}
    (said,) = {record.message for record in engine.changes(NOW + 2 * SECOND).values() if record and record.code == "OP002"}
    assert said == "A comparison of all clients was passed over, since the engine of findings failed at it (KeyError): please report it."
