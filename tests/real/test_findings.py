"""A finding's life on real parts: opened by a push, resolved by another, kept over kill -9, closed by a person."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import kafka
import pytest
from every import every
from forked import printed
from observe import becomes, findings, make_topic, metrics, read_all, statuses
from patience import LIMIT_S, until

from clientscope.client import KafkaProducer
from clientscope.kafka.writer import TopicWriter
from clientscope.model.codec import encode_whole
from clientscope.model.status import ProcessStatus
from clientscope.model.topics import FINDINGS, STATUS

CANARY = "canary-51ae07"
TOPIC = "test.findings"


def essentials(installation: Any) -> dict[str, tuple[Any, ...]]:
    """What doesn't change of each finding while nothing happens; clients leave meanwhile."""
    found = findings(installation.internal)
    return {each.fingerprint: (each.state, each.alert, each.first_seen_ms, each.opened_ms, each.reopened, each.message) for each in found}


@contextmanager
def pushing(installation: Any, client_id: str, *settings: tuple[str, str, int, bool]) -> Iterator[None]:
    """A client that has pushed, and stays for as long as the context lasts."""
    with installation.gateway.named(client_id, "careless-client", "0.1.0") as client:
        client.push_config(settings)
        yield


def test_a_finding_opens_is_resolved_and_comes_back(installation: Any) -> None:
    with pushing(installation, "invoices-1", ("acks", "0", 1, False)):
        found = becomes(installation.internal, "AN101", lambda each: each.client_count == 1, client_id="invoices")
        assert (found.state, found.clients[0].software_name, found.clients[0].client_id) == ("open", "careless-client", "invoices-1")
        written = [each for each in read_all(installation.internal, FINDINGS) if each.key == found.fingerprint.encode()]
        headers = dict(written[-1].headers)
        assert headers["ce_specversion"] == b"1.0"
        assert headers["ce_type"] == b"io.clientscope.finding.open"
        assert headers["ce_id"] == f"{found.fingerprint}-{found.revision}".encode()
    with pushing(installation, "invoices-1", ("acks", "all", 1, False)):
        becomes(installation.internal, "AN101", lambda each: each.state == "resolved", client_id="invoices")
    with pushing(installation, "invoices-1", ("acks", "0", 1, False)):
        again = becomes(installation.internal, "AN101", lambda each: (each.state, each.reopened) == ("open", 1), client_id="invoices")
    assert again.alert is not None
    assert (again.fingerprint, again.alert.number, again.alert.why) == (found.fingerprint, 2, "reopened")


def shown(installation: Any, client_id: str) -> tuple[str, str, bool]:
    """Origin of a connected client's configuration, its acks, and whether AN101 is open; empty while the page doesn't have all."""
    for each in installation.api("clients?limit=1000")["items"]:
        found = installation.api(f"clients/{quote(each['key'], safe='')}") if each["client_id"] == client_id else {}
        if found.get("configuration") and found["findings"] is not None:
            acks = {setting["key"]: setting["value"] for setting in found["configuration"]["settings"]}["acks"]
            return found["configuration"]["origin"], acks, ("AN101", "open") in {(one["code"], one["state"]) for one in found["findings"]}
    return "", "", False


def test_rules_judge_what_requests_show_and_what_is_pushed_comes_first(installation: Any) -> None:
    make_topic(installation.internal, TOPIC)
    address = installation.gateway.address
    with kafka.KafkaProducer(bootstrap_servers=address, client_id="observed-1", acks=0) as silent:
        silent.send(TOPIC, b"x")
        silent.flush(LIMIT_S)
        until(lambda: shown(installation, "observed-1"), ("observed", "0", True))
        # Another instance under the same name.
        with KafkaProducer(bootstrap_servers=address, client_id="observed-1", acks="all") as pushing:
            pushing.partitions_for(TOPIC)
            until(lambda: shown(installation, "observed-1")[:2], ("pushed", "all"))
    installation.processes.check()


@pytest.mark.faults
def test_a_leak_outlives_the_job_and_a_person_ends_it(installation: Any) -> None:
    with pushing(installation, "careless", ("sasl.password", CANARY, 8, False), ("acks", "all", 1, True)):
        found = becomes(installation.internal, "SK001", lambda each: each.state == "open", client_id="careless")
    assert found.reach is not None
    assert len(found.reach.redacted_at) == 1
    assert found.settings[0].digest
    installation.processes.signal("stream", signal.SIGKILL)
    installation.processes.stop("stream")
    before = essentials(installation)
    del before[found.fingerprint]
    decision = ("--as", "rotated", "--why", "new since today", "--by", "ann")
    printed("findings", "close", found.fingerprint[:10], *decision, "--bootstrap-servers", installation.internal)
    installation.job.start()
    installation.job.ready()
    closed = becomes(installation.internal, "SK001", lambda each: each.state == "closed", client_id="careless")
    assert closed.decided is not None
    assert (closed.decided.by, closed.first_seen_ms, closed.opened_ms) == ("ann", found.first_seen_ms, found.opened_ms)
    time.sleep(2)
    assert before.items() <= essentials(installation).items(), "the same answers after a restart"
    assert all(CANARY.encode() not in (message.value or b"") for message in every(read_all(installation.internal, FINDINGS)))


def test_alerts_that_deliver_has_given_up_are_a_finding(installation: Any) -> None:
    """Deliver says so on the topic of statuses, since the job alone writes findings."""
    now_ms = int(time.time() * 1000)
    said = ProcessStatus(
        kind="receiver", id="tickets", condition="failed", reason="HTTP 410", started_ms=now_ms, told_ms=now_ms, interval_ms=5_000,
        figures={"given_up": 3},
    )  # fmt: skip
    well = replace(said, condition="ok", reason="", told_ms=now_ms + 1_000, figures={"given_up": 0})
    with closing(TopicWriter(installation.internal, STATUS)) as writer:
        writer.write({said.key: encode_whole(said)})
        found = becomes(installation.internal, "OP007", lambda each: each.state == "open")
        assert 'Receiver "tickets" did not get 3 alert(s)' in found.message
        writer.write({said.key: encode_whole(well)})
        becomes(installation.internal, "OP007", lambda each: each.state == "resolved")


def test_the_job_tells_how_its_queries_are(installation: Any) -> None:
    def conditions() -> dict[str, str]:
        return {name: each["condition"] for (kind, name), each in statuses(installation.internal).items() if kind == "query"}

    until(lambda: set(conditions().values()), {"ok"})
    assert set(conditions()) == {"live", "history_pushes", "history_connections"}
    until(lambda: statuses(installation.internal)["query", "live"].get("lag_records"), 0)


@pytest.mark.long
def test_more_clients_than_the_job_may_know_are_a_finding(installation: Any) -> None:
    installation.processes.signal("stream", signal.SIGTERM)
    installation.processes.stop("stream")
    with ExitStack() as opened:
        for number in range(3):
            opened.enter_context(pushing(installation, f"many-{number}", ("acks", "all", 1, True)))
        installation.job.start("stream", "--max-clients", "2")
        installation.job.ready()
        full = becomes(installation.internal, "OP004", lambda each: each.state == "open" and "2 clients" in each.message)
    assert full.severity == "high"
    reached = "clientscope_stream_limit_reached_total", "clients"
    until(lambda: metrics(f"{installation.job.page}metrics").get(reached, 0) >= 1)
