"""The search grammar: what queries mean, where mistakes are, and that nothing breaks the reader."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from places import ROOT

from clientscope.query import BROKERS, CLIENTS, FINDINGS, QueryError, matches, parse, parse_sort, term_text, version_order
from clientscope.query import terms as fields
from clientscope.query.parsing import LONGEST, MOST_DEEP, MOST_STARS, MOST_TERMS, MOST_VALUES

NOW_MS = 1_795_330_000_000
HOUR_MS = 3_600_000

CLIENT: dict[str, Any] = {
    "software": "librdkafka",
    "version": "2.5.3",
    "client_id": "orders-7",
    "application": "orders",
    "owner": "payments",
    "principal": "User:alice",
    "address": "10.0.0.1",
    "listener": "CLIENT",
    "protocol": "SASL_SSL",
    "broker": 1,
    "cluster": "c",
    "gateway": "gw",
    "instance": None,
    "finding": (("high", "SK001"), ("low", "AN101")),
    "risk": ("loss", "secret"),
    "connections": 3,
    "since": NOW_MS - 2 * HOUR_MS,
}
SEARCH = "orders-7\nuser:alice\n10.0.0.1\nlibrdkafka\n2.5.3"


def holds(query: str, **changes: Any) -> bool:
    return matches(parse(query, CLIENTS, NOW_MS), CLIENTS, CLIENT | changes, SEARCH)


@pytest.mark.parametrize(
    "query",
    [
        "",
        "software:librdkafka version:<2.6 finding:>=high",
        "SOFTWARE:LibRDKafka",
        "client-id:orders-7",
        "version:2.5.3",
        "version:2.5.*",
        "software:librdkafka version:>=2.5.3",
        "version:<2.5.10 software:lib*",
        "software:sarama OR version:2.5.3",
        "broker:2 OR broker:1 connections:3",
        "(broker:2 OR broker:1) AND connections:3",
        "(software:sarama version:<9) OR (software:librdkafka version:<2.6)",
        "(software:sarama OR software:librdkafka) version:<2.6",
        "-(broker:2 OR connections:>3)",
        "-(software:librdkafka -(finding:high))",
        "((((((((orders))))))))",
        'orders "2.5.3" OR nothing',
        "owner:payments OR owner:web-*",
        "client_id:a,orders-*,b",
        'client_id:"orders-7"',
        'client_id:"orders"*',
        "-client_id:payments*",
        "-principal:User:bob",
        "orders",
        "User:ALICE",
        "ord*-7",
        "client_id:*o*r*-7*",
        '"10.0.0.1"',
        'instance:""',
        "-instance:*",
        'principal:* -principal:""',
        "broker:1,2",
        "connections:>2 connections:<=3",
        "risk:loss",
        "risk:stall,secret -risk:cost",
        "finding:high",
        "finding:SK001",
        "finding:an1*",
        "-finding:critical",
        "since:>1h",
        "since:<3h",
        "since:<=2026-11-22T12:00",
        "since:2026-11-22",
        "protocol:sasl_*",
    ],
)
def test_it_holds(query: str) -> None:
    assert holds(query), parse(query, CLIENTS, NOW_MS)


@pytest.mark.parametrize(
    "query",
    [
        "software:librd",
        "software:librdkafka version:<2.5",
        "software:librdkafka version:>2.5.3",
        "broker:2 OR connections:>3",
        "(broker:2 OR broker:1) connections:4",
        "broker:1 connections:4 OR broker:2",
        "-(broker:1 OR connections:>3)",
        "or nothing",
        '"OR" nothing',
        "orders(1)",
        'client_id:"orders-*"',
        "-orders",
        "nothing",
        "7*orders",
        "client_id:*ers*7*7",
        "broker:2",
        "finding:low",
        "finding:<high",
        "risk:stall",
        'risk:""',
        "finding:none",
        "finding:not-judged",
        "since:<1h",
        "since:2026-11-21",
        'principal:""',
    ],
)
def test_it_does_not_hold(query: str) -> None:
    assert not holds(query)


def test_not_judged_is_not_clean() -> None:
    assert holds("finding:not-judged -finding:none", finding=None)
    assert holds("finding:none -finding:not-judged", finding=())
    for query in ("finding:none", "finding:>=info", "finding:<critical", "finding:SK*"):
        assert not holds(query, finding=None)


def test_an_unknown_version_holds_in_no_comparison() -> None:
    for query in ("software:* version:<9", "software:* version:>=0"):
        assert not holds(query, version="unknown")
    assert holds("software:* version:unknown -version:<9", version="unknown")


@pytest.mark.parametrize(
    ("query", "position", "length"),
    [
        ("version:<2.6", 0, 12),
        ("broker:1 -version:>=3", 9, 12),
        ("version:<2.6 -software:librdkafka", 0, 12),
        ("software:librdkafka OR version:<2.6", 23, 12),
        ("(software:librdkafka OR broker:1) version:<2.6", 34, 12),
        ("-(software:librdkafka) version:<2.6", 23, 12),
        ("version:2.5.3,<2", 0, 16),
    ],
)
def test_versions_are_compared_within_a_library(query: str, position: int, length: int) -> None:
    """One bound for all would say that Sarama 1.43 is older than librdkafka 2.6."""
    with pytest.raises(QueryError, match="version compares releases of one library") as caught:
        parse(query, CLIENTS)
    assert (caught.value.position, caught.value.length) == (position, length)
    assert caught.value.expected[0] == "software:librdkafka version:<2.6"


def test_one_of_several_numbers_is_enough() -> None:
    for query in ("broker:2", "broker:>3", "broker:1 broker:4"):
        assert holds(query, broker=(1, 2, 4))
    assert not holds("broker:3", broker=(1, 2, 4))


@pytest.mark.parametrize(
    ("query", "position", "length", "expected"),
    [
        ("sofware:x", 0, 7, "software"),
        ("broker:1 version:<x", 17, 2, "<2.6"),
        ("(a b", 0, 1, ")"),
        ("a OR (b (c)", 5, 1, ")"),
        ("a )", 2, 1, '")"'),
        ("a ) b", 2, 1, '")"'),
        ("a OR", 2, 2, "a OR b"),
        ("OR a", 0, 2, "a OR b"),
        ("a OR OR b", 2, 2, "a OR b"),
        ("(a OR ) b", 3, 2, "a OR b"),
        ("AND a", 0, 3, "a b"),
        ("a AND", 2, 3, "a b"),
        ("a AND OR b", 2, 3, "a b"),
        ("a () b", 2, 2, "(a OR b)"),
        ("a -()", 2, 3, "(a OR b)"),
        ("(client_id:) b", 11, 0, "text"),
        ("version:", 8, 0, "2.6.1"),
        ("software:>a", 9, 2, "text*"),
        ("broker:one", 7, 3, ">=5"),
        ("finding:bad", 8, 3, "SK001"),
        ("finding:>=SK001", 8, 7, "high"),
        ("since:1h", 6, 2, "<1h"),
        ("risk:lost", 5, 4, "loss"),
        ("since:<tomorrow", 6, 9, "2026-12-31"),
        ('client_id:"abc', 10, 4, '"'),
        ("a -", 2, 1, "-word"),
        ("client_id:a,,b", 12, 0, "text"),
        ('""', 0, 2, "word"),
    ],
)
def test_a_mistake_is_shown_at_its_place(query: str, position: int, length: int, expected: str) -> None:
    with pytest.raises(QueryError) as caught:
        parse(query, CLIENTS, NOW_MS)
    assert (caught.value.position, caught.value.length) == (position, length)
    assert expected in caught.value.expected


def test_findings_have_fields_of_their_own() -> None:
    parse("severity:>=high state:open,stopped owner:team-* code:SK*", FINDINGS)
    parse("version:<4", BROKERS)  # which are of one software
    for query in ("state:gone", "severity:SK001", "software:java"):
        with pytest.raises(QueryError):
            parse(query, FINDINGS)


@pytest.mark.parametrize(
    "query",
    [
        "x" * (LONGEST + 1),
        "a " * (MOST_TERMS + 1),
        "broker:" + ",".join("1" * (MOST_VALUES + 1)),
        "client_id:" + "a*" * (MOST_STARS + 1),
        "(a OR b) " * (MOST_TERMS // 2 + 1),
        "(" * (MOST_DEEP + 1) + "a" + ")" * (MOST_DEEP + 1),
        "(" * LONGEST,
        "-(" * (LONGEST // 2),
        "a\x00b",
    ],
)
def test_a_query_is_bounded(query: str) -> None:
    with pytest.raises(QueryError):
        parse(query, CLIENTS)


@given(
    st.text(max_size=60)
    | st.lists(st.sampled_from(["(", ")", "-", "OR", "AND", " ", " ", "a", "broker:1", "version:<2", "software:x", '"'])).map("".join)
    | st.from_regex(r"-?(software|version|since|finding|broker|x):[<>=]{0,2}[\w.*\", \\-]{0,20}", fullmatch=True)
)
def test_any_text_is_read_or_refused_at_a_place_in_it(query: str) -> None:
    try:
        parsed = parse(query, CLIENTS, NOW_MS)
    except QueryError as error:
        assert 0 <= error.position <= len(query)
        assert error.position + error.length <= len(query)
        return
    matches(parsed, CLIENTS, CLIENT, SEARCH)
    for term in parsed.each():
        assert query[term.position : term.position + term.length].strip() == query[term.position : term.position + term.length]


_SHOWABLE = st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=40)


@given(_SHOWABLE)
def test_a_term_that_is_written_finds_just_its_value(value: str) -> None:
    query = parse(term_text("principal", value), CLIENTS)
    assert matches(query, CLIENTS, CLIENT | {"principal": value or None})
    assert not matches(query, CLIENTS, CLIENT | {"principal": value + "x"})


@given(st.lists(st.integers(0, 10**8), min_size=1, max_size=5), st.lists(st.integers(0, 10**8), min_size=1, max_size=5))
def test_versions_sort_as_their_numbers_do(one: list[int], other: list[int]) -> None:
    def padded(numbers: list[int]) -> list[int]:
        return numbers + [0] * (5 - len(numbers))

    first, second = (version_order(".".join(map(str, numbers))) for numbers in (one, other))
    assert first is not None
    assert second is not None
    assert (first < second) == (padded(one) < padded(other))
    assert (first == second) == (padded(one) == padded(other))


def test_versions_that_begin_with_no_number_have_no_order() -> None:
    assert version_order("unknown") is version_order("") is None
    assert version_order("v3.9.0-ccs") == version_order("3.9")


def test_an_order_is_read_or_refused_at_its_place() -> None:
    assert parse_sort("-connections, client_id", CLIENTS) == (("connections", True), ("client_id", False))
    assert parse_sort("", CLIENTS) == ()
    for text, position, length in (("conections", 0, 10), ("broker,,since", 7, 0), ("broker,-broker", 7, 7)):
        with pytest.raises(QueryError) as caught:
            parse_sort(text, CLIENTS)
        assert (caught.value.position, caught.value.length) == (position, length)


@pytest.mark.parametrize(
    ("of", "known"),
    [
        ("clients, connections", fields.CLIENTS),
        ("clients in history", fields.HISTORY_CLIENTS),
        ("findings", fields.FINDINGS),
        ("findings in history", fields.HISTORY_FINDINGS),
        ("brokers", fields.BROKERS),
        ("connections of one gateway (`clientscope connections`)", fields.CONNECTIONS),
        ("readiness (`clientscope readiness --search`)", fields.READINESS),
        ("rules (`clientscope rules`)", fields.RULES),
    ],
)
def test_the_docs_list_every_field(of: str, known: fields.Fields) -> None:
    assert f"| {of} | {' '.join(f'`{name}`' for name in known)} |" in (ROOT / "docs" / "page.md").read_text()
