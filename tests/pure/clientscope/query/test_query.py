"""The search grammar: what queries mean, where mistakes are, and that nothing breaks the reader."""

from __future__ import annotations

import ast
from typing import Any

import pytest
from golden import cases, is_golden
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


@pytest.mark.parametrize(("expected", "query"), cases(__file__, "holds.txt"))
def test_it_holds_or_does_not(expected: str, query: str) -> None:
    assert holds(query) is (expected == "holds"), parse(query, CLIENTS, NOW_MS)


@pytest.mark.parametrize(("expected", "changes", "query"), cases(__file__, "holds_of_another.txt"))
def test_it_holds_of_another_or_does_not(expected: str, changes: str, query: str) -> None:
    assert holds(query, **ast.literal_eval(changes)) is (expected == "holds")


def test_a_mistake_is_shown_at_its_place() -> None:
    """Each mistake from its place on, with what is possible there."""
    text = ""
    for (query,) in cases(__file__, "mistakes.txt"):
        with pytest.raises(QueryError) as caught:
            parse(query, CLIENTS, NOW_MS)
        error = caught.value
        text += f"{query}\n{' ' * error.position}{'^' * error.length}| {error}\n{error.hint}\n\n"
    assert is_golden(text, __file__, "mistakes.txt")


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
