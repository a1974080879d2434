"""Problems of clientscope itself, as findings: a lost gateway, a record that kills its reader, unexpected data, a full table, a parked
query, lost records, alerts that could not be delivered, findings that lag.
"""

from __future__ import annotations

import json
import threading
from typing import NamedTuple

from clientscope.severities import Severity


class Condition(NamedTuple):
    """Whether something of ours is as it should be.

    Attributes:
        code: one of `CODES`.
        subject: what it is of, in words that stay the same: ``gateway gw-1 of broker 1``; with the code it makes the fingerprint.
        failing: False once it is well again.
        message: one sentence that says what to do, and no secret.
        at_ms: since when, in ms since the epoch.
    """

    code: str
    subject: str
    failing: bool
    severity: Severity
    message: str
    at_ms: int


CODES = {
    "OP001": "gateway_lost",
    "OP002": "record_kills_its_reader",
    "OP003": "data_not_as_expected",
    "OP004": "table_full",
    "OP005": "query_parked",
    "OP006": "records_lost",
    "OP007": "alerts_given_up",
    "OP008": "findings_lag",
}
"""Code → name; a code is never used again for something else."""


class Conditions:
    """Takes conditions from any thread, and hands them to the one that writes findings.  Only the newest of each subject is kept."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[tuple[str, str], Condition] = {}

    def report(self, condition: Condition) -> None:
        """Takes in one; the same again changes nothing."""
        with self._lock:
            self._waiting[condition.code, condition.subject] = condition

    def take(self, without: str = "") -> list[Condition]:
        """The conditions reported since the last call; those of the code ``without`` stay."""
        with self._lock:
            taken = [each for each in self._waiting.values() if each.code != without]
            self._waiting = {key: each for key, each in self._waiting.items() if each.code == without}
        return taken


def lost_gateway(cluster: str, broker: int, gateway: str, host: str, at_ms: int) -> Condition:
    """OP001 of a gateway that has been silent for too long; ``host`` is empty if it isn't known."""
    subject = gateway_subject(cluster, broker, gateway)
    on = f", on host {json.dumps(host, ensure_ascii=False)}," if host else ""
    advice = "see whether it and its host are up, or remove it by stopping it with SIGTERM"
    return Condition(
        "OP001", subject, True, "high", f"{subject[0].upper()}{subject[1:]}{on} sends no heartbeats any more: {advice}.", at_ms
    )


def given_up_alerts(receiver: str, alerts: int, reason: str, at_ms: int) -> Condition:
    """OP007 of a receiver of alerts; over, with 0 alerts, once one is delivered to it again."""
    name = json.dumps(receiver, ensure_ascii=False)
    message = (
        f"Receiver {name} did not get {alerts:,} alert(s), which were given up ({reason}): "
        f"see their findings on the page, and try the receiver: clientscope deliver --test --receiver {receiver}"
    )
    return Condition("OP007", f"receiver {name}", alerts > 0, "high", message, at_ms)


def gateway_subject(cluster: str, broker: int, gateway: str) -> str:
    """What OP001 is of."""
    return f"gateway {json.dumps(gateway, ensure_ascii=False)} of broker {broker} in cluster {cluster}"
