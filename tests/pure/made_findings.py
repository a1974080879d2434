"""Findings as the job writes them, for tests of their readers."""

from __future__ import annotations

from typing import Any

from clientscope.model.client import Application
from clientscope.model.codec import adapter, encode_whole
from clientscope.model.finding import AffectedClient, Alert, Finding, LeakPlace, Owner, Reach
from clientscope.model.setting import Redaction, Setting
from clientscope.model.topics import FINDINGS
from sinks.dashboard.state.known import TopicRecord

NOW_MS = 1_790_000_000_000
"""2026-09-21T14:13:20Z."""

DAY_MS = 86_400_000

ORDERS = Application(principal="User:orders", client_id="orders", group=None)
BILLING = Application(principal="User:billing", client_id="billing", group="billing-eu")


def fingerprint(number: int) -> str:
    """32 digits that begin with those of the number."""
    return f"{number:08x}" + "0" * 24


def made(number: int = 1, **fields: Any) -> Finding:
    """One that is open, of a setting, since three days ago."""
    given = {
        "fingerprint": fingerprint(number),
        "code": "AN101",
        "name": "acks_zero",
        "kind": "setting",
        "severity": "high",
        "state": "open",
        "message": "records are sent without waiting for an answer (acks=0): set acks=all",
        "risks": ["loss"],
        "use_instead": "acks=all",
        "link": "https://kafka.apache.org/documentation/#producerconfigs_acks",
        "application": ORDERS,
        "settings": [Setting("acks", "0")],
        "clients": [
            AffectedClient(
                client_id="orders-1", software_name="apache-kafka-java", software_version="3.9.2", address="10.0.0.7",
                principal="User:orders", broker=1, gateway="gw-1", pushed_ms=NOW_MS,
            ),
        ],
        "client_count": 1,
        "first_seen_ms": NOW_MS - 3 * DAY_MS,
        "last_seen_ms": NOW_MS - 60_000,
        "opened_ms": NOW_MS - 3 * DAY_MS,
        "owner": Owner(team="shop", contact="#shop-oncall"),
        "alert": Alert(number=1, why="new", at_ms=NOW_MS - 3 * DAY_MS),
        "revision": 1,
    }  # fmt: skip
    return adapter(Finding).validate_python({**given, **fields}, strict=False)


def resolved(number: int = 1, **fields: Any) -> Finding:
    """One that is over, since now."""
    return made(number, **{"state": "resolved", "ended_ms": NOW_MS, **fields})


def recorded(finding: Finding, at_ms: int = NOW_MS) -> TopicRecord:
    """As it lies on ``clientscope.findings``."""
    return TopicRecord(FINDINGS, at_ms, finding.fingerprint.encode(), encode_whole(finding))


def leak(number: int = 2, **fields: Any) -> Finding:
    """A password that two applications pushed."""
    given = {
        "code": "SK001",
        "name": "pushed_credential",
        "kind": "leak",
        "severity": "critical",
        "message": "a credential was pushed under sasl.jaas.config: rotate it, then keep it from being pushed",
        "risks": ["secret"],
        "use_instead": "a file that only the client reads",
        "link": "",
        "settings": [Setting("sasl.jaas.config", redacted=Redaction("key_infix", 90, "ab" * 32))],
        "places": [
            LeakPlace(application=ORDERS, key="sasl.jaas.config", clients=2, last_seen_ms=NOW_MS - 60_000),
            LeakPlace(application=BILLING, key="sasl.jaas.config", clients=1, last_seen_ms=NOW_MS - DAY_MS),
        ],
        "place_count": 2,
        "client_count": 3,
        "reach": Reach(redacted_at=("gw-1",), written_to=("clientscope.configs-0@42",)),
        "evidence": ["another secret has stood there since 2026-09-20: this one may have been rotated"],
        "owner": None,
    }
    return made(number, **{**given, **fields})
