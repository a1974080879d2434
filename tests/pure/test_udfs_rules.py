"""Every rule: its documentation, and what it says of pushes."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from record_bytes import config_record, setting

from clientscope.policy.redaction import DigestKey
from udfs import rules
from udfs.decode import decoder
from udfs.pushes import Pushes, redact
from udfs.results import TYPE, judge
from udfs.rules.rule import OUTCOMES, SEVERITIES, Rule

KEY = DigestKey(b"k" * 32)
SECTIONS = ("What", "Why", "Example", "Use instead", "Source")


def results(*records: bytes | None) -> list[dict[str, Any]]:
    return judge(Pushes(redact(decoder("ClientConfigRecord")(pa.array(records, pa.binary())), KEY))).to_pylist()


def verdict(code: str, *settings: Any) -> dict[str, Any]:
    (result,) = results(config_record(*settings))
    return next(item for item in result["rules"] if item["code"] == code)


@pytest.mark.parametrize("rule", rules.RULES, ids=lambda rule: rule.code)
def test_a_rule_is_documented(rule: Rule) -> None:
    module = sys.modules[rule.evaluate.__module__]
    assert module.__name__ == f"udfs.rules.{rule.code.lower()}_{rule.name}"
    lines = (module.__doc__ or "").splitlines()
    assert lines[0].startswith(f"{rule.code}: ")
    assert [line for line in lines if line in SECTIONS] == list(SECTIONS)
    assert rule.severity in SEVERITIES
    assert rule.messages[OUTCOMES.index("fired")]


def test_every_rule_is_registered_once() -> None:
    codes = [rule.code for rule in rules.RULES]
    files = [path.stem for path in Path(rules.__file__).parent.glob("[a-z][a-z][0-9]*.py")]
    assert len(set(codes)) == len(codes)
    assert sorted(files) == sorted(f"{rule.code.lower()}_{rule.name}" for rule in rules.RULES)


def test_sk001_passes_an_innocent_push() -> None:
    assert verdict("SK001", setting("acks", "1"))["outcome"] == "passed"


def test_sk001_fires_on_what_the_gateway_redacted_and_on_what_nobody_did() -> None:
    digest = b"d" * 32
    fired = verdict(
        "SK001",
        setting("sasl.jaas.config", None, value_state=1, value_digest=digest, value_length=71),
        setting("acks", "1"),
        setting("token", "hunter2"),
        setting("odd", None, value_state=42),
    )
    assert fired["outcome"] == "fired"
    assert fired["settings"] == [
        {"key": "sasl.jaas.config", "value": None, "reason": "key_prefix", "length": 71, "digest": digest.hex()},
        {"key": "token", "value": None, "reason": "key_word", "length": 7, "digest": KEY.digest("hunter2").hex()},
        {"key": "odd", "value": None, "reason": "unknown", "length": 0, "digest": None},
    ]


@pytest.mark.parametrize(("value", "outcome"), [("0", "fired"), ("1", "passed"), ("all", "passed"), ("lots", "not_evaluable")])
def test_an101(value: str, outcome: str) -> None:
    said = verdict("AN101", setting("acks", value))
    assert said["outcome"] == outcome
    assert said["settings"][0]["key"] == "acks"


def test_an101_needs_acks() -> None:
    assert verdict("AN101", setting("linger.ms", "5")) | {"message": ""} == {
        "code": "AN101",
        "name": "acks_zero",
        "severity": "high",
        "outcome": "not_evaluable",
        "settings": [],
        "message": "",
    }


def test_a_setting_that_leaks_is_not_shown_by_another_rule() -> None:
    said = verdict("AN101", setting("acks", "0", config_type=8))
    assert said["outcome"] == "not_evaluable"
    assert said["settings"][0]["value"] is None


def test_rows_stay_in_order_and_apart() -> None:
    rows = results(
        b"junk", config_record(setting("acks", "0"), setting("token", "hunter2"), client_id="a-1"), None, config_record(origin=7)
    )
    assert [row["decode_error"] for row in rows] == ["unknown_version", None, "no_value", None]
    assert rows[0] == dict.fromkeys(TYPE.names) | {"decode_error": "unknown_version"}
    assert [rows[1][name] for name in ("settings", "redacted", "application_client_id", "origin")] == [2, 1, "a", "pushed"]
    assert [rows[3][name] for name in ("settings", "redacted", "origin")] == [0, 0, "observed"]
    assert "hunter2" not in json.dumps(rows)
