"""Decisions on the page: the command line's checks, required roles and origins, and the record that is written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import chain
from typing import Any

import pytest
from fastapi.testclient import TestClient
from golden import cases
from page_state import NOW_MS, browser, found, live, says

from clientscope.errors import EnvironmentProblem
from sinks.dashboard.http.access import Access, Visitor

LEAK, SETTING, CLOSED = (f"{number:032x}" for number in (1, 2, 3))
OURS = {"sec-fetch-site": "same-origin"}
UNTIL = "2026-12-31"
ACCEPTED = {"resolution": "accepted", "why": "w", "until": UNTIL}


class Topic:
    """What was written."""

    def __init__(self) -> None:
        self.written: list[tuple[str, Any, Mapping[str, str]]] = []
        self.down = False

    def __call__(self, fingerprint: str, value: bytes | None, headers: Mapping[str, str]) -> None:
        if self.down:
            raise EnvironmentProblem("no right to Write", "kafka-acls.sh --add")
        self.written.append((fingerprint, value and json.loads(value), headers))


@pytest.fixture
def topic() -> Topic:
    return Topic()


def client(topic: Topic | None) -> TestClient:
    decided = {"fingerprint": CLOSED, "resolution": "accepted", "by": "bob", "why": "w", "at_ms": 1, "until": UNTIL}
    state = live(found(1, kind="leak", code="SK001"), found(2, use_instead="acks=all"), found(3, state="closed", decided=decided))
    access = Access(anyone=Visitor("alice", "admin"))
    return browser(state, access=access, write=topic)


def test_a_decision_is_written_as_the_command_writes_it(topic: Topic) -> None:
    def post(path: str, **body: str) -> Any:
        return http.post(f"/api/v1/findings/{path}", json=body, headers=OURS)

    http = client(topic)
    closed = post(f"{LEAK}/close", resolution="rotated", why=" new  password ").json()
    assert closed["warnings"] == ["a client still has it; the next push of the same secret reopens the finding"]
    accepted = http.post(f"/api/v1/findings/{SETTING}/close", json={**ACCEPTED, "why": "known"}, headers={"origin": "http://localhost"})
    assert (accepted.json()["until"], accepted.json()["resolution"]) == (UNTIL, "accepted"), "from our own origin, too"
    assert post(f"{CLOSED}/reopen", why="wrong").json()["resolution"] is None
    decision = {"by": "alice", "at_ms": NOW_MS}
    assert topic.written == [
        (LEAK, {"version": 1, "fingerprint": LEAK, "resolution": "rotated", "why": "new password", **decision}, {}),
        (SETTING, {"version": 1, "fingerprint": SETTING, "resolution": "accepted", "why": "known", "until": UNTIL, **decision}, {}),
        (CLOSED, None, {"by": "alice", "why": "wrong"}),
    ]
    topic.down = True
    refused = post(f"{LEAK}/close", resolution="rotated", why="w")
    assert (refused.status_code, refused.json()["detail"]) == (503, "no right to Write; kafka-acls.sh --add")


@pytest.mark.parametrize(("path", "body", "text"), cases(__file__, "refused.txt"))
def test_a_decision_that_does_not_fit_is_refused_and_not_written(topic: Topic, path: str, body: str, text: str) -> None:
    number, what = path.split("/")
    response = client(topic).post(f"/api/v1/findings/{int(number):032x}/{what}", json=json.loads(body), headers=OURS)
    assert response.status_code == 400
    assert text in response.json()["detail"]
    assert "--" not in response.text
    assert "hunter2" not in response.text
    assert topic.written == []


def test_unknown_fields_and_findings_are_refused(topic: Topic) -> None:
    http = client(topic)
    for body in ({"resolution": "gone", "why": "w"}, {"resolution": "rotated", "why": "w", "by": "eve"}, {"resolution": "rotated"}):
        assert http.post(f"/api/v1/findings/{LEAK}/close", json=body, headers=OURS).status_code == 422
    assert http.post(f"/api/v1/findings/{9:032x}/reopen", json={"why": "w"}, headers=OURS).status_code == 404
    assert topic.written == []


def test_one_finding_and_groups_of_them() -> None:
    http = client(None)
    assert says(http, __file__, "findings.txt")
    assert says(http, __file__, "searches.txt", lambda body: [each["code"] for each in body["items"]])
    groups = [http.get(f"/api/v1/findings/groups?group={group}").json()["items"] for group in ("code", "principal", "owner", "severity")]
    for each in chain.from_iterable(groups):
        assert http.get("/api/v1/findings", params={"q": each["q"]}).json()["total"] == each["findings"]
    assert http.get(f"/api/v1/findings/{LEAK}").json()["code"] == "SK001"
