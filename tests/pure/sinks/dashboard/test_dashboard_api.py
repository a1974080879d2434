"""The HTTP side over a `State`: answers, events, health, and the page's files."""

from __future__ import annotations

import asyncio
import json

import pytest
from fastapi.testclient import TestClient
from page_state import broker, browser, found, gauge, live, opened, result

from clientscope.model.enums import Kind
from sinks.dashboard.api import streams
from sinks.dashboard.state.state import State

NOW = 1_000_000


@pytest.fixture
def state() -> State:
    return State()


@pytest.fixture
def client(state: State) -> TestClient:
    return browser(state, lambda: NOW)


LISTS = {"gauges": 1, "connections": 1, "clients": 1, "results": 2, "results?pushed=true": 2, "findings": 1, "readiness": 1, "brokers": 1}


@pytest.mark.parametrize(("name", "total"), LISTS.items())
def test_lists_are_unknown_before_the_topics_are_read(client: TestClient, state: State, name: str, total: int) -> None:
    requested = {"requested_versions": ((0, 9),), "client_id": "app", "kind": Kind.PRESENT}
    state.apply([gauge(4), opened(1, **requested), result(1, at_ms=NOW), result(2, at_ms=NOW, rules=["AN101"]), found(1), broker()])
    body = client.get(f"/api/v1/{name}").json()
    assert (body["total"], body["items"], body["feed"]) == (None, [], "starting")
    state.live()
    body = client.get(f"/api/v1/{name}").json()
    assert (body["total"], len(body["items"]), body["feed"]) == (total, total, "live")
    empty = browser(live()).get(f"/api/v1/{name}").json()
    assert (empty["total"], empty["items"]) == (0, [])


@pytest.mark.parametrize("limit", ["0", "-1", "10001", "x"])
def test_a_limit_out_of_bounds_is_refused(client: TestClient, limit: str) -> None:
    assert client.get(f"/api/v1/results?limit={limit}").status_code == 422


def test_health_and_readiness(state: State) -> None:
    alive = [True]
    client = browser(state, alive=lambda: alive[0])
    assert (client.get("/healthz").status_code, client.get("/readyz").status_code) == (200, 503)
    state.live()
    assert client.get("/readyz").status_code == 200
    state.unreachable("no broker answers")
    response = client.get("/readyz")
    assert (response.status_code, response.json()["detail"]) == (503, "no broker answers")
    alive[0] = False
    assert client.get("/healthz").status_code == 503


def test_events_tell_what_changed_and_that_they_live(state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "INTERVAL_SECONDS", 0.01)
    monkeypatch.setattr(streams, "ALIVE_SECONDS", 0.05)
    state.live()

    async def listen() -> list[bytes]:
        stopping = [False]
        stream = streams.stream(state, lambda: NOW, lambda: stopping[0])
        heard = [await anext(stream), await anext(stream), await anext(stream)]
        state.apply([gauge(count) for count in range(1, 50)])  # a burst is one event
        heard.append(await anext(stream))
        stopping[0] = True
        heard += [event async for event in stream]
        return heard

    retry, first, alive, changed = asyncio.run(asyncio.wait_for(listen(), 10))
    assert retry == b"retry: 1000\n\n"
    assert first.startswith(b"event: changed\ndata: {")
    assert alive.startswith(b"event: alive\n")
    overview = json.loads(changed.split(b"data: ")[1])
    assert overview["connections"] == 49


def test_the_event_stream_ends_with_the_server(state: State) -> None:
    response = browser(state, stopping=lambda: True).get("/api/v1/events")
    assert response.headers["content-type"].startswith("text/event-stream")
    assert response.text == "retry: 1000\n\n"


def test_an_event_stream_ends_by_itself_and_there_are_no_more_than_so_many(
    client: TestClient, state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "INTERVAL_SECONDS", 0.01)
    monkeypatch.setattr(streams, "LONGEST_SECONDS", 0.05)
    assert client.get("/api/v1/events").text.count("event: changed") == 1
    monkeypatch.setattr(streams, "STREAM_LIMIT", 0)
    response = client.get("/api/v1/events")
    assert (response.status_code, response.headers["retry-after"]) == (503, "10")
