"""Lists of clients and connections: SQL against the grammar's own reading, order, pages, what is judged, groups, facets, files."""

from __future__ import annotations

import csv
import io
from dataclasses import asdict
from typing import Any

import pytest
from every import every
from fastapi.testclient import TestClient
from hypothesis import given, settings
from hypothesis import strategies as st
from page_state import INSTANCE, NOW_MS, beat, browser, found, live, opened, pushed, result, says

from clientscope.api.clients import ClientRow
from clientscope.model.connection import rates as rates_of
from clientscope.model.enums import Kind
from clientscope.model.finding import Owner
from clientscope.profiles.client_patterns import ClientPattern
from clientscope.profiles.owners import Owners
from clientscope.query import CLIENTS, QueryError, matches, parse, term_text
from sinks.dashboard.rows import writing
from sinks.dashboard.rows.sql import CLIENT_SORTS, CONNECTION_SORTS
from sinks.dashboard.state.known import TopicRecord
from sinks.dashboard.state.state import State

NAMES = ["orders-1", "Orders-2", "o%d_rs", 'a "b" \\c', "=1+1", "ünï", "x' OR 1=1 --", None, "", "orders-7c9f8b6d5d-x2b4k"]
SOFTWARE = [("librdkafka", "2.5.3"), ("librdkafka", "2.10.0"), ("Sarama", "1.46"), ("unknown", "unknown")]


def many() -> State:
    records = []
    for number in range(120):
        name, version = SOFTWARE[number % 4]
        records.append(
            opened(
                number,
                client_id=NAMES[number % len(NAMES)],
                address=f"10.0.0.{number % 7}",
                principal=[None, "User:alice", "user:Alice", "User:b*"][number // 10 % 4],
                software_name=name,
                software_version=version,
                broker=number // 60,
                gateway=f"gw{number // 60}",
                at_ms=NOW_MS - number * 600_000,
                instance_id=INSTANCE if number % 11 == 0 else None,
            )
        )
    for number in range(200, 212):  # have gone
        client_id, at_ms = NAMES[number % len(NAMES)], NOW_MS - number * 1_000
        identity = {"client_id": client_id, "address": "10.0.1.1", "software_version": f"2.{number}"}
        records += [opened(number, at_ms=at_ms, **identity), opened(number, kind=Kind.CLOSED, at_ms=at_ms + 500, **identity)]
    of_orders = {"client_id": "orders", "principal": "User:alice"}
    records += [
        found(1, code="SK001", severity="critical", application=of_orders, clients=[], client_count=12),
        found(2, code="AN204", severity="low", clients=[{"client_id": "ünï", "address": "10.0.0.5", "principal": "User:alice"}]),
        pushed(3, client_id="orders-1", address="10.0.0.0"),
        result(3, client_id="orders-1", address="10.0.0.0"),
    ]
    return live(*records, owners=OWNERS)


OWNERS = Owners(
    (
        (ClientPattern(principal=("User:alice",)), Owner("payments", "#payments")),
        (ClientPattern(client_id=("o*", "O*")), Owner("Web shop", "web@example.com")),
    )
)
MANY = many()


def values(client: ClientRow) -> tuple[dict[str, Any], str]:
    """What the grammar's own reading needs, of an answer."""
    counted = [] if client.findings is None or not client.findings.count else [(client.findings.worst, CODE[client.findings.worst])]
    searched = (client.client_id, client.principal, client.address, client.software_name, client.software_version)
    return {
        "software": client.software_name, "version": client.software_version, "client_id": client.client_id,
        "application": client.application, "owner": client.owner,
        "principal": client.principal, "address": client.address, "listener": client.listener,
        "protocol": client.security_protocol, "broker": client.broker, "cluster": client.cluster, "gateway": client.gateway,
        "instance": client.instance_id, "connections": client.connections, "since": client.since_ms,
        "finding": None if client.findings is None else counted, "risk": tuple(client.risks),
        "connected": "yes" if client.disconnected_ms is None else "no", "disconnected": client.disconnected_ms,
        "opened_per_minute": client.opened_per_minute, "active": client.active_ms,
        "bytes_in_per_second": client.bytes_in_per_second, "bytes_out_per_second": client.bytes_out_per_second,
    }, "\n".join(text for text in searched if text).lower()  # fmt: skip


CODE = {"critical": "SK001", "low": "AN204"}

_TEXTS = [
    *(name for name in NAMES if name is not None),
    "User:alice",
    "User:b*",
    "librdkafka",
    "sarama",
    "10.0.0.1",
    "c",
    "gw1",
    str(INSTANCE),
]
_OF_TEXT = st.sampled_from(["software", "client_id", "principal", "address", "gateway", "instance", "application", "protocol", "cluster"])
_PIECE = st.sampled_from(["*", "o", "or", "rs", "-", "1", "_", "%", "U", "ü", "lib"])
_TERMS = st.one_of(
    st.builds(term_text, _OF_TEXT, st.sampled_from([*_TEXTS, None])),
    st.builds("{}:{}*".format, _OF_TEXT, st.lists(_PIECE, max_size=4).map("".join)),
    st.lists(_PIECE, min_size=1, max_size=4).map("".join).filter(lambda text: text.strip("*-")),
    st.builds("software:lib* version:{}{}".format, st.sampled_from(["<", "<=", ">", ">="]), st.sampled_from(["2", "2.5.3", "2.6", "10"])),
    st.sampled_from(["owner:payments", 'owner:"web shop"', 'owner:""', "owner:*a*", 'software:sarama,""']),
    st.sampled_from(["version:2.*", "version:unknown", "broker:0", "broker:>0", "broker:0,1", "connections:>1", "connections:1"]),
    st.sampled_from(["finding:none", "finding:not-judged", "finding:>=high", "finding:low", "finding:SK*", "finding:AN204,critical"]),
    st.sampled_from(["connected:no", "connected:yes,no", "disconnected:<205s", "disconnected:>205s", "opened_per_minute:0"]),
    st.sampled_from(["risk:secret", "risk:stall,loss", "risk:drift", 'risk:""']),
    st.sampled_from(["since:>2h", "since:<=90min", "since:2026-11-22", "since:<2026-11-22"]),
)


@settings(max_examples=150, deadline=None)
@given(
    st.recursive(
        st.builds("{}{}".format, st.sampled_from(["", "-"]), _TERMS),
        lambda inner: (
            st.builds("{}({})".format, st.sampled_from(["", "-"]), st.lists(inner, min_size=1, max_size=3).map(" OR ".join))
            | st.lists(inner, max_size=3).map(" ".join)
        ),
        max_leaves=5,
    )
)
def test_sql_finds_what_the_grammar_means(q: str) -> None:
    try:
        query = parse(q, CLIENTS, NOW_MS)
    except QueryError:
        with pytest.raises(QueryError):
            MANY.clients(10, q=q, now_ms=NOW_MS)
        return
    every = MANY.clients(1_000, q="connected:yes,no" if query.asks_for("connected") or query.asks_for("disconnected") else "").items
    meant = [client.key for client in every if matches(query, CLIENTS, *values(client))]
    answer = MANY.clients(1_000, q=q, now_ms=NOW_MS)
    assert [client.key for client in answer.items] == meant
    assert answer.total == len(meant)
    of_them = MANY.connections(1_000, q=q, now_ms=NOW_MS)
    assert of_them.total == len(of_them.items) == sum(client.connections for client in answer.items)
    assert MANY.facets(100, q=q, now_ms=NOW_MS).total == len(meant)


@pytest.mark.parametrize("field", CLIENT_SORTS)
@pytest.mark.parametrize("direction", ["", "-"])
def test_pages_of_any_order_together_are_the_list(field: str, direction: str) -> None:
    sort = direction + field
    whole = [client.key for client in MANY.clients(1_000, sort=sort).items]
    paged = [client.key for offset in range(0, 120, 7) for client in MANY.clients(7, offset=offset, sort=sort).items]
    assert paged == whole
    if field in CONNECTION_SORTS:
        found = MANY.connections(1_000, sort=sort)
        assert found.total == len({(each.gateway, each.connection) for each in found.items}) == 120
    assert len(set(whole)) == len(whole) == MANY.clients(1).total
    assert [client.key for client in MANY.export(sort=sort) or ()] == whole


def test_orders_mean_what_they_say() -> None:
    connections = [client.connections for client in MANY.clients(1_000, sort="-connections").items]
    assert connections == sorted(connections, reverse=True)
    since = [client.since_ms for client in MANY.clients(1_000, sort="since").items]
    assert since == sorted(since)
    versions = [client.software_version for client in MANY.clients(1_000, sort="version").items]
    assert list(dict.fromkeys(versions)) == ["1.46", "2.5.3", "2.10.0", "unknown"]
    worst = [client.findings for client in MANY.clients(1_000, sort="-finding").items]
    assert worst[0] is not None
    assert worst[0].worst == "critical"
    assert worst[-1] is None


def judged(state: State, q: str = "") -> str:
    """What is wrong with each client: the worst, and how much it is."""
    found = [client.findings for client in state.clients(10, q=q).items]
    return ", ".join("not judged" if each is None else f"{each.worst or 'clean'} {each.count}" for each in found)


def test_a_client_is_judged_once_a_rule_could_judge_its_push() -> None:
    state = live(opened(1))
    assert judged(state) == "not judged"
    state.apply([pushed(5)])
    assert judged(state) == "not judged"  # nobody has judged it yet
    state.apply([result(5, passed=())])
    assert judged(state) == "not judged"  # nor could anybody
    state.apply([pushed(6), result(6)])
    assert judged(state) == "clean 0"
    state.apply([found(1)])
    assert judged(state) == "high 1"
    records = [opened(1), pushed(5), result(5), found(1), found(2, severity="low", code="AN102")]
    assert judged(live(*records)) == judged(live(*reversed(records))) == "high 2", "whichever topic is read first"
    hidden = {"reason": "r", "until": "2027-01-01", "where": "x"}
    elsewhere = {"clients": [], "application": {"client_id": "other"}}
    for fields in ({"state": "resolved"}, {"suppressed": hidden}, {"confidence": "low"}, {"state": "closed"}, elsewhere):
        state.apply([found(1, **fields)])
        assert judged(state) == "clean 0", fields
    state = live(opened(1), pushed(9), result(9), pushed(5))
    assert judged(state) == "clean 0", "a push that lies behind counts no more"
    state.apply([TopicRecord("clientscope.configs", NOW_MS, b"gw/1/1", None)])
    assert judged(state) == "not judged"


def test_a_finding_of_more_clients_than_it_names_is_of_the_whole_application() -> None:
    many = found(1, client_count=50, clients=[], application={"client_id": "app", "principal": None})
    state = live(opened(1, client_id="app-17", address="10.9.9.9"), many)
    assert judged(state) == "high 1"
    state.apply([opened(2, client_id="app-18", principal="User:other")])
    assert judged(state, "client_id:app-18") == "not judged"


def test_a_push_older_than_its_result_counts_as_judged_where_anything_was() -> None:
    day = 25 * 3_600_000
    state = live(opened(1), pushed(5, at_ms=NOW_MS - day))
    state.tick(NOW_MS - 50_000)
    assert judged(state) == "not judged"
    state = live(opened(1), found(7, clients=[{"client_id": "b", "address": "b"}]), pushed(5, at_ms=NOW_MS - day))
    state.tick(NOW_MS - 50_000)
    assert judged(state) == "clean 0"


def test_a_topic_that_is_made_again_begins_with_low_offsets() -> None:
    state = live(opened(1), pushed(900), result(900))
    state.apply([pushed(0, at_ms=NOW_MS)])
    assert judged(state) == "not judged"  # that one isn't judged yet
    state.apply([result(0, at_ms=NOW_MS)])
    assert judged(state) == "clean 0"


@pytest.mark.parametrize("group", ["application", "principal", "software", "address", "broker"])
def test_groups_sum_up_and_their_query_leaves_just_them(group: Any) -> None:
    groups = MANY.client_groups(group, 1_000)
    assert groups.total == len(groups.items)
    assert sum(each.clients for each in groups.items) == MANY.clients(1).total
    assert sum(each.connections for each in groups.items) == 120
    for each in groups.items:
        members = MANY.clients(1_000, q=each.q).items
        assert (len(members), sum(client.connections for client in members)) == (each.clients, each.connections), each.q
        judged = [client.findings for client in members if client.findings is not None]
        assert each.not_judged == len(members) - len(judged)
        assert (each.findings is None) == (not judged)
        if each.findings is not None:
            assert each.findings.clients == sum(bool(findings.count) for findings in judged)
    paged = [each for offset in range(0, groups.total or 0, 2) for each in MANY.client_groups(group, 2, offset=offset).items]
    assert paged == groups.items
    by_clients = [each.clients for each in MANY.client_groups(group, 1_000, sort="-clients").items]
    assert by_clients == sorted(by_clients, reverse=True)


def test_the_first_owner_that_fits_is_the_client_s() -> None:
    owned = {client.client_id: client.owner for client in MANY.clients(1_000).items if client.principal is None}
    assert (owned["orders-1"], owned["ünï"]) == ("Web shop", None)
    assert {client.owner for client in MANY.clients(1_000, q="principal:User:alice").items} == {"payments", "Web shop", None}, "user:Alice"
    assert {client.principal for client in MANY.clients(1_000, q="owner:payments").items} == {"User:alice"}
    assert {each.owner for each in MANY.connections(1_000, q="owner:payments").items} == {"payments"}


def test_a_client_is_at_risk_by_its_findings_once_each() -> None:
    of_client = {"application": {"client_id": "app", "principal": "User:alice"}, "clients": [{"client_id": "app", "address": "10.0.0.1"}]}
    of_client["clients"][0]["principal"] = "User:alice"  # type: ignore[index]
    there = opened(1, client_id="app", address="10.0.0.1", principal="User:alice")
    twice = found(1, code="AN103", risks=["loss", "duplicates"], **of_client)
    state = live(there, twice, found(2, code="AN101", risks=["loss"], **of_client))
    (client,) = state.clients(5, q="risk:loss risk:duplicates").items
    assert client.risks == ("loss", "duplicates")
    assert state.clients(5, q="risk:stall").total == 0
    assert {value.q: value.clients for facet in state.facets(5).items if facet.field == "risk" for value in facet.values} == {
        "risk:loss": 1,
        "risk:duplicates": 1,
    }
    state.apply([found(1, code="AN103", state="resolved", **of_client)])
    (client,) = state.clients(5).items
    assert client.risks == ("loss",)


def test_facets_count_what_their_terms_leave() -> None:
    found = MANY.facets(2, q="connections:>0", now_ms=NOW_MS)
    assert [facet.field for facet in found.items][-1] == "finding"
    for facet in found.items:
        if facet.field != "risk":  # of which a client may have several, or none
            assert sum(each.clients for each in facet.values) + facet.others == found.total
        for each in facet.values:
            assert MANY.clients(1, q=f"connections:>0 {each.q}").total == each.clients, each.q


def test_who_has_gone_can_be_found_and_comes_back() -> None:
    identity = {"client_id": "batch", "address": "10.0.0.9"}
    state = live(opened(1, at_ms=NOW_MS - 9_000, **identity), opened(2, client_id="stays"))
    (key,) = [client.key for client in state.clients(5, q="batch").items]
    state.apply([opened(1, kind=Kind.CLOSED, at_ms=NOW_MS - 4_000, **identity)])
    assert [client.client_id for client in state.clients(5).items] == ["stays"]
    for q in ("connected:no", "disconnected:<5s", "batch connected:yes,no", "disconnected:>=2000-01-01"):
        (gone,) = state.clients(5, q=q, now_ms=NOW_MS).items
        assert (gone.key, gone.connections, gone.since_ms, gone.disconnected_ms) == (key, 0, NOW_MS - 9_000, NOW_MS - 4_000)
    assert state.clients(5, q="disconnected:>5s", now_ms=NOW_MS).total == 0
    assert state.facets(5, q="connected:no").total == 1
    assert state.connections(5, q="connected:no").total == 0
    assert [client.client_id for client in state.clients(5, q="connected:yes,no", sort="-disconnected").items] == ["batch", "stays"]
    state.apply([opened(3, at_ms=NOW_MS - 1_000, **identity)])
    assert state.clients(5, q="connected:no").total == 0
    (back,) = state.clients(5, q="batch").items
    assert (back.key, back.connections, back.since_ms, back.disconnected_ms) == (key, 1, NOW_MS - 1_000, None)
    state.apply([opened(4, at_ms=NOW_MS - 500, **identity), opened(3, kind=Kind.CLOSED, at_ms=NOW_MS, **identity)])
    (left,) = state.clients(5, q="batch").items
    assert (left.connections, left.since_ms) == (1, NOW_MS - 500), "of the connections that are left"


@pytest.mark.parametrize("is_live", [True, False], ids=["", "before the topics are read to their end"])
def test_the_first_that_left_are_forgotten_first(monkeypatch: pytest.MonkeyPatch, is_live: bool) -> None:
    monkeypatch.setattr(writing, "GONE_KEPT", 3)
    monkeypatch.setattr(writing, "MOST_WAITING", 10)
    state = live() if is_live else State()
    for number in range(50):
        of = {"client_id": f"batch{number}x", "at_ms": NOW_MS + number}
        state.apply([opened(number, **of), opened(number, kind=Kind.CLOSED, **of)])
    assert state.database.value("SELECT count(*) FROM clients") == 3, "though nothing was asked yet"
    assert state.database.value("SELECT count(*) FROM shapes") == 1
    state.live()
    found = state.clients(9, q="connected:no").items
    assert [(each.client_id, each.opened_per_minute) for each in found] == [(f"batch{number}x", 0.2) for number in (47, 48, 49)]


def test_openings_count_for_five_minutes_whoever_the_connection_turns_out_to_be() -> None:
    nobody = {"client_id": None, "software_name": "unknown", "software_version": "unknown"}
    state = live(opened(99, client_id="stays", at_ms=NOW_MS - 3_600_000))
    for number in range(30):
        of = {"connection": number, "at_ms": NOW_MS - number * 1_000}
        first = opened(3 * number, **of, **nobody)
        then = opened(3 * number + 1, kind=Kind.IDENTIFIED, client_id="batch", **of)
        last = opened(3 * number + 2, kind=Kind.CLOSED, client_id="batch", **of)
        cuts = ([first, then, last],), ([first], [then], [last]), ([first, then], [last]), ([first], [then, last])
        for part in cuts[number % 4]:
            state.apply(part)
    (batch,) = state.clients(5, q="connected:no").items
    assert (batch.client_id, batch.opened_per_minute) == ("batch", 6.0), "and nobody is a client of its own"
    assert [client.client_id for client in state.clients(5, q="opened_per_minute:>5 connected:yes,no").items] == ["batch"]
    assert state.clients(5, q="opened_per_minute:>6 connected:yes,no").total == 0
    (stays,) = state.clients(5).items
    assert stays.opened_per_minute == 0, "an hour ago"
    state.tick(NOW_MS + 360_000)
    (batch,) = state.clients(5, q="connected:no").items
    assert batch.opened_per_minute == 0


def test_bytes_per_second_are_those_of_the_last_heartbeat() -> None:
    def traffic(number: int, passed: dict[int, tuple[int, int]], at_ms: int) -> TopicRecord:
        return opened(number, at_ms=at_ms, kind=Kind.TRAFFIC, connection=-1, measured_ms=1_000, traffic=rates_of(1_000, passed))

    def rates() -> dict[str | None, tuple[int | None, int | None, int | None]]:
        found = state.clients(5).items
        return {each.client_id: (each.bytes_in_per_second, each.bytes_out_per_second, each.active_ms) for each in found}

    state = live(opened(1), opened(2), opened(3, client_id="quiet"), opened(4, client_id="gone"), beat(5, at_ms=NOW_MS))
    assert set(rates().values()) == {(None, None, None)}, "nothing was counted"
    state.apply([traffic(6, {1: (100, 5), 2: (20, 0), 4: (1, 1), 77: (9, 9)}, NOW_MS + 1_000)])
    assert rates() == {"app": (120, 5, NOW_MS + 1_000), "gone": (1, 1, NOW_MS + 1_000), "quiet": (None, None, None)}
    state.apply([opened(7, connection=4, kind=Kind.CLOSED, client_id="gone"), traffic(8, {3: (7, 0)}, NOW_MS + 2_000)])
    assert rates() == {"app": (0, 0, NOW_MS + 1_000), "quiet": (7, 0, NOW_MS + 2_000)}
    (gone,) = state.clients(5, q="connected:no").items
    assert gone.bytes_in_per_second is None
    assert [client.client_id for client in state.clients(5, sort="-bytes_in_per_second").items] == ["quiet", "app"]
    assert [client.client_id for client in state.clients(5, q="active:>=1s", now_ms=NOW_MS + 2_000).items] == ["app"]


def test_the_key_is_the_same_in_every_copy_and_fits_into_an_address() -> None:
    one, other = live(opened(1), opened(2, client_id="b")), live(opened(7, client_id="b"), opened(9))
    assert [client.key for client in one.clients(5).items] == [client.key for client in other.clients(5).items]
    assert all(len(client.key) == 24 and client.key.isalnum() for client in every(one.clients(5).items))


@pytest.fixture
def client() -> TestClient:
    return browser(MANY)


def test_a_wrong_query_is_refused_with_its_place(client: TestClient) -> None:
    assert says(client, __file__, "mistakes.txt")


def test_a_csv_has_just_what_is_filtered_and_no_formula(client: TestClient) -> None:
    response = client.get("/api/v1/clients/export?q=-client_id:ünï&sort=-connections")
    assert response.headers["content-type"] == "text/csv; charset=utf-8"
    rows = list(csv.DictReader(io.StringIO(response.text)))
    meant = MANY.clients(1_000, q="-client_id:ünï", sort="-connections", now_ms=NOW_MS).items
    assert [row["key"] for row in rows] == [each.key for each in meant]
    assert not [cell for row in rows for cell in row.values() if cell.startswith(("=", "+", "-", "@"))]
    assert any(row["client_id"] == "'=1+1" for row in rows)
    assert {(row["findings_worst"], row["findings_count"]) for row in rows} >= {("", ""), ("", "0"), ("critical", "1")}
    in_json = client.get("/api/v1/clients/export?format=json&q=software:sarama").json()
    assert in_json == [{**asdict(each), "risks": list(each.risks)} for each in MANY.clients(1_000, q="software:sarama").items]
    assert browser(State()).get("/api/v1/clients/export").status_code == 503, "not made of what is not known yet"
