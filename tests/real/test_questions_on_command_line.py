"""Operators' questions, answered on the command line with a played fleet of 200 clients and its history."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import page_past
import pytest
from made_findings import leak
from page_fleet import HOUR_MS, MINUTE_MS, Fleet
from page_server import PageServer, serving
from past_tables import append, push, setting

from clientscope.clock import now_ms
from clientscope.digest import DigestKey
from clientscope.findings.record import LeakPlace
from clientscope.records.layouts import ValueState
from clientscope.topic_values import Setting

APPLICATION = "payments-api"
SECRET, UNUSED = "correct-horse-battery-staple", "rotated-long-ago-9431"
KEY = DigestKey(b"k" * 64)


@dataclass(frozen=True)
class Played:
    """A fleet whose application changed 20 minutes before an incident, and leaked a password."""

    page: PageServer
    incident_ms: int
    key_file: Path

    def ask(self, *words: str, value: str = "", columns: int = 140) -> str:
        """What a command prints; it succeeds."""
        command = [sys.executable, "-m", "clientscope", *words, "--url", self.page.url]
        environment = {**os.environ, "COLUMNS": str(columns)}
        done = subprocess.run(command, input=value, capture_output=True, text=True, check=False, timeout=60, env=environment)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def rows(self, *words: str) -> list[dict[str, str]]:
        """The same as CSV."""
        return list(csv.DictReader(io.StringIO(self.ask(*words, "-o", "csv"))))


def minute(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M")


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
    folder = tmp_path_factory.mktemp("history")
    fleet = Fleet(now_ms(), clients=200)
    incident_ms = (fleet.now_ms - HOUR_MS) // MINUTE_MS * MINUTE_MS
    page_past.write(fleet, folder, days=12)
    append(folder, "pushes", list(_starts(fleet, incident_ms)))
    key_file = tmp_path_factory.mktemp("keys") / "digest.key"
    key_file.write_bytes(KEY.secret)
    key_file.chmod(0o600)
    with serving(fleet, history_dir=folder) as page:
        page.apply(fleet.finding(finding) for finding in _leaks(fleet))
        yield Played(page, incident_ms, key_file)


def _starts(fleet: Fleet, incident_ms: int) -> Iterator[dict[str, object]]:
    """Each instance of the application: a day before with acks=all, and 20 minutes before the incident with a release that has acks=1."""
    held_back = setting("sasl.jaas.config", None, value_state=int(ValueState.KEY_INFIX), value_length=90, value_digest=bytes(32))
    for member in fleet.members:
        if member.application != APPLICATION:
            continue
        who = {"client_id": member.client_id, "principal": member.principal, "client_address": member.address}
        for ms, version, acks, linger in (
            (incident_ms - 24 * HOUR_MS, "3.9.1", "all", "5"),
            (incident_ms - 20 * MINUTE_MS, "4.1.0", "1", "100"),
            (incident_ms + 20 * MINUTE_MS, "4.1.0", "all", "5"),
        ):
            pushed = (setting("acks", acks), setting("linger.ms", linger), setting("client.id", member.client_id), held_back)
            yield push(ms, *pushed, client_software_name="apache-kafka-java", client_software_version=version, **who)


def _leaks(fleet: Fleet) -> Iterator[object]:
    """A password of two clients, of which one has gone; and one that nobody pushes any more."""
    first, second = fleet.members[1], fleet.members[2]
    for number, value, count in ((800, SECRET, 1), (801, UNUSED, 0)):
        gone = fleet._client(second).model_copy(update={"disconnected_ms": fleet.now_ms - 3 * HOUR_MS})
        here = fleet._client(first) if count else fleet._client(first).model_copy(update={"disconnected_ms": fleet.now_ms - HOUR_MS})
        places = [
            LeakPlace(application=fleet._application(each), key="sasl.jaas.config", clients=number, last_seen_ms=fleet.now_ms - HOUR_MS)
            for each, number in ((first, count), (second, 0))
        ]
        yield leak(
            number, state="open" if count else "stopped", clients=[here, gone], client_count=count, places=places, place_count=2,
            settings=[Setting(key="sasl.jaas.config", reason="key_infix", length=len(value), digest=KEY.digest(value).hex())],
        )  # fmt: skip


def test_what_changed_in_it_before_the_incident(played: Played) -> None:
    instances = sorted(each.client_id or "" for each in played.page.fleet.members if each.application == APPLICATION)
    assert len(instances) > 10, "the played fleet has enough of them"
    before, incident = minute(played.incident_ms - HOUR_MS), minute(played.incident_ms)
    hour = ("--from", before, "--to", incident)
    seen = played.rows("history", "clients", *hour, f"application:{APPLICATION}")
    assert sorted(row["client_id"] for row in seen) == instances, "who was there"
    out = played.ask("history", "diff", "--application", APPLICATION, *hour)
    lines = [line.strip() for line in out.splitlines()]
    assert lines[3:] == [
        "- apache-kafka-java 3.9.1", "+ apache-kafka-java 4.1.0", "- acks = all", "+ acks = 1", "- linger.ms = 5", "+ linger.ms = 100",
    ], "all instances changed alike, so it is said once; the password didn't change"  # fmt: skip
    assert f"and {len(instances) - 3} more" in lines[0]
    starts = played.rows("history", "starts", "--client-id", instances[0], *hour)
    assert [(row["pushed"][:16], row["software_version"]) for row in starts] == [(minute(played.incident_ms - 20 * MINUTE_MS), "4.1.0")]
    two = played.rows("history", "diff", "--client-id", instances[0], "--from", starts[0]["pushed"])
    assert {(row["key"], row["before"], row["after"]) for row in two} == {("acks", "1", "all"), ("linger.ms", "100", "5")}, "and what since"
    one = next(each.client_id or "" for each in played.page.fleet.members if each.application == APPLICATION and each.push)
    shown = [" ".join(line.split()) for line in played.ask("client", "show", one).splitlines()]
    assert shown[0].startswith(one) and shown[0].endswith("connected now") and "acks 1 pushed" in shown


def test_who_leaked_this_password_and_is_it_in_use(played: Played) -> None:
    first, second = played.page.fleet.members[1:3]
    key = ("--digest-key-file", str(played.key_file))
    out = played.ask("findings", "who-has", *key, value=SECRET + "\n")
    assert SECRET not in out
    lines = [line.strip() for line in out.splitlines()]
    assert lines[0].startswith("critical SK001 pushed_credential: open; 1 client that pushed it is connected now")
    assert f"{first.client_id}: connected now" in lines, "in use"
    gone = next(line for line in lines if line.startswith(f"{second.client_id}: not connected, last seen "))
    assert gone.endswith("+00:00")
    assert sum(line.startswith("sasl.jaas.config") for line in lines) == 2 and "Only the broker knows" in lines[-1]
    assert "no longer pushed, and must still be rotated" in played.ask("findings", "who-has", *key, value=UNUSED)
    assert played.ask("findings", "who-has", *key, value="something-else").startswith("No finding has this value.")
    digest = KEY.digest(SECRET).hex()
    assert [row["code"] for row in played.rows("findings", "list", f"digest:{digest[:16]}*", "setting:sasl.jaas.config")] == ["SK001"]
    (key_of,) = played.ask("clients", f"client_id:{first.client_id}", "-o", "name").split()
    assert json.loads(played.ask("client", "show", key_of, "-o", "json"))["connected"] is True


def test_which_producers_may_lose_data_and_who_is_on_broker_1(played: Played) -> None:
    losing = played.rows("findings", "list", "risk:loss", "--columns", "code,owner,client_id")
    assert losing and {row["code"] for row in losing} <= {"AN101", "AN207"}
    everywhere = played.rows("connections", "--columns", "Broker,ClientName")
    on_one = played.rows("connections", "broker:1", "--columns", "Broker,ClientName")
    assert 0 < len(on_one) < len(everywhere) and {row["Broker"] for row in on_one} == {"1"}
    most = played.rows("clients", "broker:1", "--sort=-connections,client_id", "--limit", "3", "--columns", "connections,findings.worst")
    assert [int(row["connections"]) for row in most] == sorted((int(row["connections"]) for row in most), reverse=True)


@pytest.mark.parametrize("columns", [80, 140])
def test_answers_fit_into_a_terminal(played: Played, columns: int) -> None:
    first = played.page.fleet.members[1].client_id or ""
    words = (
        ("client", "show", first),
        ("history", "clients", "--last", "2h"),
        ("history", "starts", "--application", APPLICATION, "--last", "3h"),
        ("history", "diff", "--application", APPLICATION, "--last", "3h"),
        ("findings", "list"),
        ("connections", "--limit", "20"),
        ("clients", "--limit", "20"),
    )
    for command in words:
        assert max(map(len, played.ask(*command, columns=columns).splitlines())) <= columns, command
