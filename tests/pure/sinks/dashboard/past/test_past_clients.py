"""sinks/dashboard/past/connections: clients that were connected in a period, searched by the page's grammar."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from golden import cases
from hypothesis import example, given, settings
from hypothesis import strategies as st
from past_tables import DAY_MS, HOUR_MS, MINUTE_MS, NOW_MS, append, connection, heartbeat

from clientscope.model.enums import Kind
from clientscope.model.finding import Owner
from clientscope.presence import GatewayProcess, Presence
from clientscope.profiles.client_patterns import ClientPattern
from clientscope.profiles.owners import Owners
from clientscope.query import HISTORY_CLIENTS, Query, matches, parse
from sinks.dashboard.past import connections as clients
from sinks.dashboard.past.tables import NoAnswer, Span, Tables

HOSTILE = [name for (name,) in cases(__file__, "hostile_names.txt")]


def seen(folder: Path, span: Span, q: str = "", sort: str = "", offset: int = 0, limit: int = 1_000) -> dict[str, Any]:
    return clients.page(clients.clients(Tables(folder), span)[0], q, sort, offset, limit, NOW_MS)


MARCH = Span(NOW_MS - 30 * DAY_MS, NOW_MS - DAY_MS)


def test_a_client_is_what_its_connections_share_and_when_they_were_there(tmp_path: Path) -> None:
    """By the newest name of each."""
    begin, unknown = MARCH.from_ms, {"software_name": "unknown", "software_version": "unknown"}
    secret = "AKIA" + "IOSFODNN7EXAMPLE"
    events = [
        (1, Kind.OPENED, 1, {"client_id": "first", **unknown}), (2, Kind.IDENTIFIED, 1, {}),
        (3, Kind.IDENTIFIED, 1, {"principal": "User:app"}), (2 * HOUR_MS, Kind.CLOSED, 1, {"principal": "User:app"}),
        (3 * HOUR_MS, Kind.OPENED, 2, {"principal": "User:app"}), (9 * HOUR_MS, Kind.PRESENT, 2, {"principal": "User:app"}),
        (10 * HOUR_MS, Kind.CLOSED, 2, {"principal": "User:app"}), (11 * HOUR_MS, Kind.HEARTBEAT, -1, {"client_id": None}),
        (5, Kind.CLOSED, 4, {"client_id": secret}), (6, Kind.CLOSED, 5, {"client_id": "a\x1bb\u202e"}),
    ]  # fmt: skip
    append(tmp_path, "connections", [connection(begin + ms, kind, number, **changed) for ms, kind, number, changed in events])
    items = {item["client_id"]: item for item in seen(tmp_path, MARCH)["items"]}
    assert {*items} == {"app", "a\ufffdb\ufffd", "[redacted]"}
    assert items["app"] == {
        "client_id": "app", "application": "app", "owner": None, "brokers": [1], "principal": "User:app", "address": "10.0.0.1",
        "software_name": "librdkafka", "software_version": "2.6.1", "cluster": "c", "first_seen_ms": begin + 3,
        "last_seen_ms": begin + 10 * HOUR_MS, "connections": 2, "open": 0,
    }  # fmt: skip


@pytest.mark.parametrize("length_ms", [10 * MINUTE_MS, HOUR_MS, 12 * HOUR_MS])
def test_who_was_connected_all_the_time_is_seen_though_no_record_is_of_it(tmp_path: Path, length_ms: int) -> None:
    span = Span(NOW_MS - length_ms, NOW_MS)
    every_six_hours = range(NOW_MS - 3 * DAY_MS - 5 * HOUR_MS, NOW_MS, 6 * HOUR_MS)
    append(
        tmp_path,
        "connections",
        [
            *(connection(ms, Kind.PRESENT, 1, client_id="steady") for ms in every_six_hours),
            *(heartbeat(ms) for ms in range(span.from_ms - 50_000, NOW_MS, HOUR_MS // 6)),
            heartbeat(NOW_MS - 80_000),
            connection(NOW_MS - 2, Kind.PRESENT, 3, client_id="elsewhere", gateway="silent", cluster="other"),
            heartbeat(NOW_MS - 1, gateway="silent", cluster="other"),
        ],
    )
    item, elsewhere = seen(tmp_path, span, sort="-client_id")["items"]
    assert (elsewhere["client_id"], elsewhere["cluster"], elsewhere["open"]) == ("elsewhere", "other", 1)
    assert (item["client_id"], item["connections"], item["open"]) == ("steady", 1, 1)
    assert (item["first_seen_ms"], item["last_seen_ms"]) == span


STEPS = st.sampled_from(["opens", "opens", "closes", "restarts", "leaves", "beats", "beats"])


@settings(max_examples=25, deadline=None)
@example([("opens", 0, 1), ("beats", 0, 20), ("restarts", 0, 1), ("beats", 0, 20), ("opens", 1, 1)])
@given(st.lists(st.tuples(STEPS, st.integers(0, 1), st.sampled_from([1, 20, 29, 89, 91, 400])), min_size=5))
def test_who_was_there_until_when_is_as_gauges_and_the_page_have_it(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int, int]]
) -> None:
    rows, at_ms, until = [], NOW_MS - DAY_MS, dict[str, tuple[int, bool]]()
    epochs, folder = [0, 0], tmp_path_factory.mktemp("history")

    def ended(process: GatewayProcess[tuple[str, int]], now_ms: float) -> None:
        for _, (client, opened_ms) in process.open.values():
            # A gateway is lost without heartbeats, whatever else it writes.
            due_ms = now_ms if process.has_left else max(opened_ms, process.due_ms())
            until[client] = int(min(now_ms, due_ms)), process.due_ms() >= now_ms and not process.has_left

    presence = Presence(ended)
    for number, (what, which, seconds) in enumerate(steps):
        at_ms += 1000 * seconds
        epochs[which] += what == "restarts"
        of = {"gateway": f"gw-{which}", "epoch": epochs[which]}
        process = presence.process(("c", 1, of["gateway"]), of["epoch"], at_ms)
        assert process is not None
        if what == "opens":
            rows.append(connection(at_ms, Kind.OPENED, number, client_id=str(number), **of))
            process.open[number] = number, (str(number), at_ms)
        elif what == "closes" and process.open:
            gone, (_, (client, _)) = process.open.popitem()
            rows.append(connection(at_ms, Kind.CLOSED, gone, client_id=client, **of))
            until[client] = at_ms, False
        else:
            interval_ms = 0 if what == "leaves" else 30_000
            rows.append(heartbeat(at_ms, heartbeat_interval_ms=interval_ms, **of))
            presence.heard(process, number, interval_ms, at_ms)
            epochs[which] += what == "leaves"
    until = {client: (ms, False) for client, (ms, _) in until.items()}
    for process in presence.processes.values():
        ended(process, at_ms + 1)
    append(folder, "connections", [*rows, heartbeat(at_ms + 1, gateway="of a later time")])
    found = seen(folder, Span(NOW_MS - DAY_MS - HOUR_MS, at_ms + 1))["items"]
    assert {item["client_id"]: (item["last_seen_ms"], item["open"] == 1) for item in found} == until


def test_connection_without_a_record_in_six_hours_is_open_no_more(tmp_path: Path) -> None:
    """Its close was lost, though its gateway is there; another gateway left before."""
    rows = [connection(NOW_MS - hours * HOUR_MS, Kind.PRESENT, hours, client_id=f"{hours}h ago") for hours in (8, 5)]
    left = [heartbeat(NOW_MS - 10 * HOUR_MS, gateway="left", heartbeat_interval_ms=0)]
    append(tmp_path, "connections", [*rows, *left, heartbeat(NOW_MS - 1)])
    assert {item["client_id"]: item["open"] for item in seen(tmp_path, Span(NOW_MS - DAY_MS, NOW_MS))["items"]} == {
        "8h ago": 0,
        "5h ago": 1,
    }


def test_gateway_is_lost_once_history_has_more_than_its_silence(tmp_path: Path) -> None:
    rows = [connection(NOW_MS - HOUR_MS, Kind.OPENED, 1), heartbeat(NOW_MS - HOUR_MS // 2)]
    for row, until_ms in (rows, NOW_MS), ([heartbeat(NOW_MS - 1, gateway="another")], rows[1]["timestamp_ms"] + 90_000):
        append(tmp_path, "connections", row)
        (item,) = seen(tmp_path, Span(NOW_MS - DAY_MS, NOW_MS))["items"]
        assert (item["last_seen_ms"], item["open"]) == (until_ms, until_ms == NOW_MS)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("history")
    rows = [
        connection(NOW_MS - (number + 2) * HOUR_MS, Kind.CLOSED, number, client_id=name, principal=None if number % 3 else f"User:{name}",
                   software_version=f"{number % 4}.{number}.0")
        for number, name in enumerate([*HOSTILE, "plain-1", "plain-2", None])
    ]  # fmt: skip
    append(folder, "connections", rows)
    return folder


def test_a_search_leaves_what_the_grammar_says_of_each_client(hostile: Path) -> None:
    span = Span(NOW_MS - DAY_MS, NOW_MS)
    everybody = seen(hostile, span)["items"]

    def holds(item: dict[str, Any], query: Query) -> bool:
        values = item | {"software": item["software_name"], "version": item["software_version"], "first_seen": item["first_seen_ms"],
        "last_seen": item["last_seen_ms"], "broker": tuple(item["brokers"])}  # fmt: skip
        words = (item["client_id"], item["principal"], item["address"], item["software_name"], item["software_version"])
        return matches(query, HISTORY_CLIENTS, values, "\n".join(word or "" for word in words).lower())

    assert {item["client_id"] for item in everybody} == {*HOSTILE, "plain-1", "plain-2", None}
    for (q,) in cases(__file__, "searches.txt"):
        query = parse(q, HISTORY_CLIENTS, NOW_MS)
        assert seen(hostile, span, q)["items"] == [item for item in everybody if holds(item, query)], q


def test_owners_and_all_brokers_of_a_client(tmp_path: Path) -> None:
    at_ms = NOW_MS - HOUR_MS
    rows = [connection(at_ms, Kind.CLOSED, number, broker=broker) for number, broker in enumerate((10, 2, 10))]
    append(tmp_path, "connections", [*rows, connection(at_ms, Kind.PRESENT, 9, broker=3, client_id="web-1", gateway="other")])
    owners = Owners(((ClientPattern(client_id=("web-*",)), Owner("web", "#web")),))
    found, _ = clients.clients(Tables(tmp_path), Span(NOW_MS - DAY_MS, NOW_MS), owners)

    def named(q: str) -> list[tuple[str, list[int], str | None]]:
        return [(item["client_id"], item["brokers"], item["owner"]) for item in clients.page(found, q, "client_id", 0, 9, NOW_MS)["items"]]

    app, web = ("app", [2, 10], None), ("web-1", [3], "web")
    assert named("") == [app, web]
    assert named("broker:10") == named("broker:2 broker:10") == named("broker:<3") == named('owner:""') == [app]
    assert named("broker:3") == named("-broker:2") == named("owner:WEB") == [web]
    assert named("broker:1") == []


def test_orders_and_pages(hostile: Path) -> None:
    span = Span(NOW_MS - DAY_MS, NOW_MS)
    named = seen(hostile, span, 'client_id:plain-1,plain-2,""', "-client_id")["items"]
    assert [item["client_id"] for item in named] == ["plain-2", "plain-1", None], "who has none comes last"
    versions = [item["software_version"] for item in seen(hostile, span, sort="version")["items"]]
    assert versions == sorted(versions, key=lambda version: [int(part) for part in version.split(".")])
    first, second = (seen(hostile, span, sort="-last_seen", offset=offset, limit=5) for offset in (0, 5))
    assert first["total"] == second["total"] == len(HOSTILE) + 3
    assert [item["last_seen_ms"] for item in first["items"] + second["items"]] == [NOW_MS - (number + 2) * HOUR_MS for number in range(10)]
    assert seen(hostile, span, offset=100)["items"] == []
    assert seen(hostile, Span(0, DAY_MS), sort="client_id,-version", q="x -y software:z version:<3 connections:2")["items"] == [], (
        "nobody at all"
    )


def test_too_many_clients_are_refused(hostile: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients, "MOST_CLIENTS", 5)
    with pytest.raises(NoAnswer, match="more than 5 clients") as wide:
        seen(hostile, Span(NOW_MS - DAY_MS, NOW_MS))
    assert wide.value.status == 400 and wide.value.hint
