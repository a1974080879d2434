"""Live updates beside what a person fills in: no update touches a form, on any view."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import page_past
import pytest
from every import every
from page_browser import Opens, follow, is_live, is_there, offers, press, shows
from page_browser import wrong_request as is_allowed  # noqa: F401  read by the fixture of pages
from page_fleet import Fleet
from page_server import PageServer, serving
from playwright.sync_api import Page, expect

from clientscope.clock import now_ms
from clientscope.model.decision import Decision

REASON, UNTIL = re.compile("^Why"), re.compile("^Until")
FIELDS = "main :is(input:not([type=radio], [type=checkbox]), textarea)"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[PageServer]:
    fleet = Fleet(now_ms(), clients=30)
    page_past.write(fleet, tmp_path)
    with serving(fleet, history_dir=tmp_path) as server:
        yield server


def day(days: int) -> str:
    return (datetime.now(UTC) + timedelta(days=days)).date().isoformat()


def update(server: PageServer, page: Page) -> None:
    """Live updates of everything arrive, and are drawn; Kafka is lost, and is back."""
    fleet = server.fleet
    server.apply(fleet.opened(fleet.members[0], 2, now_ms()))
    server.apply(fleet.heartbeats(now_ms()))
    server.apply([fleet.finding(replace(each, last_seen_ms=now_ms())) for each in fleet.findings()])
    page.wait_for_function("version => Number(document.body.dataset.version) >= version", arg=server.state.version)
    server.state.unreachable("no broker answers")
    expect(page.locator("#feed")).not_to_have_text("Live")
    server.state.live()
    is_live(page)
    page.wait_for_timeout(600)  # the lists are read again a moment later


def an_open_finding(server: PageServer, page: Page, q: str) -> str:
    """Opens the first finding's form; returns its fingerprint."""
    page.goto(f"{server.url}?view=findings&q={q}")
    page.click(".list tr.row a.to >> nth=0")
    expect(page.get_by_label(REASON)).to_be_visible()
    is_live(page)
    return str(page.evaluate("new URLSearchParams(location.search).get('id')"))


STATE = """() => filled.map((field) =>
    [field.isConnected, field.value, field === document.activeElement, field.type === "date" ? 0 : field.selectionStart])"""


def test_stores_date_and_reason_as_typed_while_updates_arrive(server: PageServer, opens: Opens) -> None:
    page = opens(server.url)
    for q, choice in (("severity:low", None), ("code:SK001", "Accepted: the risk is known")):
        fingerprint = an_open_finding(server, page, q)
        if choice:
            page.get_by_label(choice).check()
        expect(page.get_by_label(UNTIL)).not_to_have_value("")
        page.get_by_label(UNTIL).fill(day(9))
        update(server, page)
        page.get_by_label(REASON).fill("known until the release")
        update(server, page)
        expect(page.get_by_label(UNTIL)).to_have_value(day(9))
        press(page, "Accept", "button")
        shows(page, ".decide .notice", "Closed by local")
        decided, value = server.decisions[-1]
        assert decided == fingerprint and value is not None
        stored = json.loads(value)
        assert (stored["until"], stored["why"]) == (day(9), "known until the release")


def test_keeps_form_when_finding_is_decided_elsewhere(server: PageServer, opens: Opens) -> None:
    page = opens(server.url)
    fingerprint = an_open_finding(server, page, "severity:low")
    page.get_by_label(REASON).fill("known")
    finding = server.state.finding(fingerprint)
    assert finding is not None
    today = datetime.now(UTC).date()
    decided = Decision(fingerprint=fingerprint, resolution="accepted", by="anna", why="also known", at_ms=now_ms(), until=today)
    server.apply([server.fleet.finding(replace(finding, state="closed", decided=decided))])
    shows(page, ".since", "closed")
    shows(page, ".decide", "Meanwhile this finding was closed")
    expect(page.get_by_label(UNTIL)).to_be_visible()
    offers(page, "Accept")
    expect(page.get_by_label(REASON)).to_have_value("known")
    press(page, "Discard", "button")
    offers(page, "Take the decision back")
    expect(page.get_by_label(REASON)).to_have_value("")


def test_updates_touch_no_field_of_any_view(server: PageServer, opens: Opens) -> None:
    page = opens(server.url)
    client = server.state.clients(1).items[0].key
    finding = server.fleet.findings()[0].fingerprint
    views = {"clients": 1, f"client&key={client}": 1, "findings": 1, f"finding&id={finding}": 2, "brokers": 1, "history": 3}
    for view, fields in views.items():
        follow(page, f"?view={view}")
        is_there(page)
        page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
        opened = page.locator("details[open]").count()
        found = page.locator(FIELDS)
        expect(found).to_have_count(fields)
        for field in reversed(found.all()):
            if field.get_attribute("type") == "date":
                field.fill(day(-2))
            else:
                field.press_sequentially("acks and ")
                page.wait_for_timeout(300)  # what is searched becomes part of the address
                field.press_sequentially("more")
                field.evaluate("field => field.setSelectionRange(3, 6)")
        page.evaluate("selector => { globalThis.filled = [...document.querySelectorAll(selector)]; }", FIELDS)
        before = page.evaluate(STATE)
        assert all(value for _, value, *_ in every(before))
        assert sum(focused for _, _, focused, _ in before) == min(fields, 1)
        update(server, page)
        assert page.evaluate(STATE) == before, view
        assert page.locator("details[open]").count() == opened, view
