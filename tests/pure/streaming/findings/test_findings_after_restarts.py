"""A job that is stopped anywhere comes to the same findings as one that never was: over histories that Hypothesis makes."""

from __future__ import annotations

from typing import Any

from fleets import MINUTE, SECOND, Fleet, essentials
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from clientscope.findings.decisions import Decision
from clientscope.records.enums import Origin
from streaming.findings.book import COUNTS_EVERY_MS

CONFIGURATIONS = (
    {"acks": "0"},
    {"acks": "all"},
    {"acks": "all", "sasl.password": "hunter2-canary"},
    {"acks": "1", "linger.ms": "0"},
)
CLIENTS = range(4)
APPLICATIONS = ("orders", "web")

_SEEN = 1_000
"""Of this and the client is the instance id of what is seen of its requests."""

Step = tuple[str, int, int]
steps: st.SearchStrategy[list[Step]] = st.lists(
    st.tuples(
        st.sampled_from(["starts", "pushes", "requests", "leaves", "waits", "waits long", "job restarts", "gateway restarts", "decides"]),
        st.sampled_from(CLIENTS),
        st.integers(0, len(CONFIGURATIONS) - 1),
    ),
    max_size=25,
)


class Story:
    """Plays steps; a restart of the job is one only where it is wanted."""

    def __init__(self, restarts: bool) -> None:
        self.fleet = Fleet()
        self._restarts = restarts
        self._epoch = 1
        self._instances = 0
        self._running: dict[int, tuple[int, int]] = {}

    def play(self, history: list[Step]) -> None:
        for what, client, which in history:
            self._step(what, client, CONFIGURATIONS[which])
            self.fleet.later(SECOND)

    def _step(self, what: str, client: int, configuration: dict[str, str]) -> None:
        fleet, name, address = self.fleet, f"{APPLICATIONS[client // 2]}-{client}", f"10.0.0.{client}"
        if what == "starts":
            self._leave(client)
            self._instances += 1
            connection = fleet.connect(name, address=address, epoch=self._epoch)
            self._running[client] = connection, self._instances
            self._push(client, name, address, configuration)
        elif what == "pushes" and client in self._running:
            self._push(client, name, address, configuration)
        elif what == "requests" and client in self._running:
            self._push(client, name, address, configuration, Origin.OBSERVED)
        elif what == "leaves":
            self._leave(client)
        elif what in ("waits", "waits long"):
            fleet.later(MINUTE if what == "waits" else 11 * MINUTE)
        elif what == "job restarts" and self._restarts:
            fleet.start()
        elif what == "gateway restarts":
            self._epoch += 1
            self._running.clear()
            fleet.heartbeat(self._epoch)
        elif what == "decides" and fleet.findings("SK001"):
            finding = fleet.findings("SK001")[0]
            made = Decision(fingerprint=finding.fingerprint, resolution="rotated", by="ann", why="new", at_ms=fleet.now)
            fleet.decide(finding.fingerprint, made)

    def _push(self, client: int, name: str, address: str, configuration: dict[str, str], origin: Origin = Origin.PUSHED) -> None:
        connection, instance = self._running[client]
        instance = instance if origin == Origin.PUSHED else _SEEN + client
        said = {"settings": configuration, "client_address": address, "gateway_epoch": self._epoch, "origin": origin}
        self.fleet.push(name, connection, instance, **said)

    def _leave(self, client: int) -> None:
        if client in self._running:
            self.fleet.close(self._running.pop(client)[0], self._epoch)


def last_seen(said: dict[str, dict[str, Any]]) -> dict[str, int]:
    """Takes out when each finding was last seen that no connected client has: it may be as late on the topic as counts are."""
    return {fingerprint: each.pop("last_seen_ms") for fingerprint, each in said.items() if not each["client_count"]}


def must_hold(fleet: Fleet) -> None:
    """After any history."""
    for finding in fleet.findings():
        assert finding.kind != "leak" or finding.state != "resolved"
        assert finding.state == "open" or not finding.client_count or finding.decided
        assert finding.first_seen_ms <= finding.opened_ms <= fleet.now
        assert (finding.alert is None) == (finding.code == "SK004")
        assert finding.alert is None or finding.alert.number >= finding.reopened
        assert len({client.instance_id for client in finding.clients}) == len(finding.clients)


def outcome(restarts: bool, history: list[Step]) -> dict[str, dict[str, Any]]:
    story = Story(restarts)
    story.play(history)
    story.fleet.later(11 * SECOND)  # clients are compared every ten seconds, and at a start: so both have been since the last step
    story.fleet.later(20 * MINUTE)
    story.fleet.later(MINUTE)
    must_hold(story.fleet)
    # What a client pushed before its newest push isn't there to be compared with after a restart, as it isn't after compaction.
    return {finding.fingerprint: essentials(finding) for finding in story.fleet.findings() if finding.code != "AN401"}


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps)
@example([("starts", 0, 0), ("starts", 0, 1), ("job restarts", 0, 0)])  # of a closed connection only its end is read again
@example([("starts", 0, 2), ("starts", 2, 2), ("job restarts", 0, 0)])  # places of a secret have a time each
@example([("starts", 0, 2), ("starts", 0, 0), ("starts", 0, 2), ("starts", 2, 2), ("job restarts", 0, 0)])
@example([("starts", 2, 1), ("starts", 3, 0), ("waits long", 0, 0), ("starts", 2, 1), ("job restarts", 0, 0)])  # AN310 pauses at a start
@example([("starts", 0, 1), ("requests", 0, 0), ("leaves", 0, 0), ("waits", 0, 0), ("job restarts", 0, 0)])  # it had said otherwise
@example([("starts", 0, 0), ("requests", 0, 1), ("job restarts", 0, 0), ("starts", 0, 0)])
@example([("starts", 1, 1), ("requests", 1, 0), ("job restarts", 0, 0), ("starts", 1, 0)])  # AN405 for a second
@example([("starts", 3, 0), ("requests", 3, 1), ("waits", 0, 0), ("requests", 3, 1), ("job restarts", 0, 0), ("gateway restarts", 0, 0)])
def test_f31_a_restart_anywhere_changes_nothing(history: list[Step]) -> None:
    restarted, never = outcome(True, history), outcome(False, history)
    # Clients are compared every ten seconds and at a start: a difference that lasts a second is seen by a restart alone.
    for fingerprint in restarted.keys() - never.keys():
        passing = restarted.pop(fingerprint)
        assert (passing["kind"], passing["state"], passing["client_count"]) == ("fleet", "resolved", 0)
    seen, seen_never = last_seen(restarted), last_seen(never)
    assert restarted == never
    for fingerprint, at_ms in seen_never.items():
        assert at_ms - seen[fingerprint] <= COUNTS_EVERY_MS
        assert seen[fingerprint] <= at_ms or never[fingerprint]["kind"] == "fleet"
