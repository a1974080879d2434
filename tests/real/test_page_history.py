"""The page's History in a real browser, from tables that delta-rs wrote: every list, every state, and what other views show of it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import page_past
import pytest
from page_browser import Opens, follow, lacks, leads_to, press, reads, searched, sees, shows, the_table, there_are, types
from page_fleet import HOSTILE, Fleet
from page_server import PageServer, serving
from past_tables import DAY_MS, HOUR_MS, NOW_MS, append, connection, gauge
from playwright.sync_api import ConsoleMessage, Locator, Page, expect

from clientscope.clock import now_ms
from clientscope.model.enums import Kind

STATES = (400, 404, 503)


@pytest.fixture(scope="module")
def shared(folder: Path) -> Iterator[PageServer]:
    """Nobody changes what it shows."""
    fleet = Fleet(now_ms())
    page_past.write(fleet, folder)
    with serving(fleet, history_dir=folder) as server:
        yield server


def is_allowed(message: ConsoleMessage) -> bool:
    """A browser writes to its console what is shown on the page as one of its states."""
    of_history = "/api/v1/history" in message.location.get("url", "")
    return of_history and any(f"status of {status}" in message.text for status in STATES)


def rows(page: Page) -> list[str]:
    """What the list's rows begin with."""
    return page.locator(".list tr.row td:first-child").all_inner_texts()


def test_connections_over_time_in_ranges_that_the_address_names(shared: PageServer, opens: Opens) -> None:
    page = opens(f"{shared.url}?view=history")
    reads(page, "h1", "History")
    shows(page, ".legend li >> nth=0", "librdkafka 2.5.3")
    sees(page, '.foot:has-text("The most at once in each 30 min")')
    press(page, "30 d")
    leads_to(page, "range=30d")
    sees(page, '.foot:has-text("The most at once in each 2 h")')
    press(page, "as a table")
    table = the_table(page, "Connections by software version", exact=True)
    steps = table.locator("tbody tr")
    expect(steps.nth(359)).to_be_visible()
    assert steps.count() in (360, 361)  # at the end of a step, 30 days are whole steps
    silent = table.locator('tbody tr:has-text("–")')
    expect(silent.nth(1)).not_to_contain_text("0,")  # a time when the job didn't run is not zero
    assert silent.count() > 3
    page.reload()
    expect(steps.nth(359)).to_be_visible()

    day = page.evaluate("new Date(Date.now() - 3 * 86400000).toISOString().slice(0, 10)")
    page.get_by_label("from").fill(day)
    page.get_by_label("to", exact=True).fill(day)
    leads_to(page, f"from={day}&to={day}")
    shows(table, "thead th >> nth=0", "5 min")
    there_are(table, "tbody tr", 288)
    page.get_by_label("to", exact=True).fill("2020-01-01")
    shows(page, "main", "The first day must come before the last one")
    page.get_by_role("link", name="The last 7 days").first.click()
    shows(table, "thead th >> nth=0", "30 min")


def test_who_used_a_version_and_what_they_pushed(shared: PageServer, opens: Opens) -> None:
    page = opens(f"{shared.url}?view=history&range=30d")
    shows(page, ".pager", f"1–50 of {2 * len(shared.fleet.members) + 1} clients")
    shows(page, ".list tr.row >> nth=0", "connected")
    reads(page, ".list [data-complete]", re.compile(r"^History is complete until \d\d:\d\d:\d\dZ"))
    follow(page, "?view=history&from=2020-01-01&to=2020-01-02")
    shows(page, ".list", "History has no records of this time: not yet, or no more.")
    lacks(page, ".list", "No client was connected")
    follow(page, "?view=history&range=30d")
    page.fill("#search", "version:0.9.1")
    shows(page, ".pager", f"of {len(shared.fleet.members)} clients")
    there_are(page, '.list tr.row:has-text("connected")', 0)
    press(page, "Next page")
    shows(page, ".pager", "51–100")
    page.fill("#search", "lisener:x")
    reads(page, ".mistake mark", "lisener")
    shows(page, ".mistake", "first_seen")
    page.fill("#search", "no-such-thing")
    sees(page, "[data-state=no-match]")
    press(page, "Clear filters")
    sees(page, ".list tr.row >> nth=0")
    page.fill("#search", "'\\ or img")
    sees(page, "[data-state=no-match]")
    page.fill("#search", '"<img"')
    there_are(page, ".list tr.row", 1)
    shows(page, ".list tr.row", HOSTILE)
    shows(page, ".list tr.row", "' OR 1=1 --")
    page.click(".list tr.row a.to")
    shows(page, ".whose-starts", HOSTILE)
    shows(page, ".list", "Nothing was pushed in this time.")

    name = shared.fleet.members[0].client_id
    follow(page, f'?view=history&range=30d&q=client_id:"{name}"')
    there_are(page, ".list tr.row", 2)
    types(page, "j", "Enter")
    there_are(page, ".starts > li", 5)
    newest = page.locator(".starts > li").first
    for text in ("acks", "all", "1 withheld", "producer"):
        expect(newest).to_contain_text(text)
    expect(page.locator(".starts > li").last).to_contain_text("The first start that is known.")
    page.go_back()
    there_are(page, ".list tr.row", 2)


def test_findings_as_they_were(shared: PageServer, opens: Opens) -> None:
    page = opens(f"{shared.url}?view=history")
    press(page, "Findings at its end")
    there_are(page, ".list tr.row", 3)
    assert rows(page) == ["critical", "high", "low"]
    shows(page, ".list tr.row >> nth=0", HOSTILE)
    page.fill("#search", "severity:>=high -code:SK*")
    there_are(page, ".list tr.row", 1)
    press(page, "Findings that ended")
    there_are(page, ".list tr.row", 1)
    shows(page, ".list tr.row", "resolved")
    searched(page, "")
    before = page.evaluate("new Date(Date.now() - 8.5 * 86400000).toISOString().slice(0, 10)")
    follow(page, f"?view=history&show=findings&to={before}")
    shows(page, ".list tr.row >> nth=0", "critical")
    there_are(page, '.list tr.row:has-text("let batches fill")', 0)


def test_what_other_views_show_of_it(shared: PageServer, opens: Opens) -> None:
    page = opens(shared.url)
    press(page.locator("section:has(#over-time)"), "30 d")
    sees(page, '.foot:has-text("The most at once in each 2 h")')
    page.click("section:has(#over-time) .legend a >> nth=0")
    reads(page, "h1", "History")
    searched(page, re.compile("librdkafka.*2.5.3"))
    leads_to(page, "range=30d")
    types(page, "Escape")
    page.click("h1")
    types(page, "g", "o")
    expect(page.locator("section:has(#over-time)").get_by_role("link", name="1 h")).to_have_attribute("aria-current", "true")

    follow(page, f'?view=clients&q=client_id:"{shared.fleet.members[0].client_id}"')
    page.click(".list tr.row a.to >> nth=0")
    press(page, "Older starts")
    there_are(page.locator(".starts").nth(1), "li", 5)
    press(page, "all of them in History")
    there_are(page, ".starts > li", 5)


def one_client(page: Page, fleet: Fleet, number: int = 0) -> Locator:
    """Goes to a client of the fleet; the part of its page that has its own metrics."""
    follow(page, f'?view=clients&q=client_id:"{fleet.members[number].client_id}"')
    page.click(".list tr.row a.to >> nth=0")
    return page.locator("section:has(#own-metrics)")


def test_what_a_client_measured_itself_beside_its_settings(shared: PageServer, opens: Opens) -> None:
    page = opens(shared.url)
    own = one_client(page, shared.fleet)
    reads(own, "h3", ["As a producer", "As a consumer"])
    sees(own, '.muted:has-text("2 instances together, 5 min from")')
    there_are(own, 'figcaption:has-text("Request latency")', 1)
    queue = own.locator('figure:has-text("Wait in the send queue")')
    there_are(queue, "li", 2)
    reads(queue, "p", "linger.ms=5")
    shown = queue.locator("b").all_inner_texts()
    errors = own.locator('figure:has-text("Failed records")')
    reads(errors, "b", ["0", "0"])
    queue.locator(".plot .u-over").hover(position={"x": 60, "y": 20})
    expect(queue.locator("b").first).not_to_have_text(shown[0])
    page.mouse.move(0, 0)
    reads(queue, "b >> nth=0", shown[0])

    press(own, "24 h")
    leads_to(page, "metrics=24h")
    shows(own, ".foot", "Each point is of 15 min")
    press(own, "as a table")
    table = the_table(own, "Metrics of the producer", exact=True)
    expect(table.locator("tbody tr").first.locator("td").nth(2)).to_contain_text("ms")
    assert table.locator("tbody tr").count() in (95, 96, 97)
    press(own, "as curves")
    sees(own, "figure >> nth=0")

    own = one_client(page, shared.fleet, 1)
    expect(own).to_contain_text("It pushed no metrics in the last 3 h.")
    expect(own).to_contain_text("Java's clients from 3.7.2 on")


def test_nothing_yet_and_failures_say_what_to_do(opens: Opens, tmp_path: Path) -> None:
    with serving() as server:
        page = opens(f"{server.url}?view=history")
        shows(page, "[data-state=nothing]", "clientscope serve --history-dir DIR")
        follow(page, "?view=overview")
        sees(page, "#over-time")
        expect(page.get_by_role("link", name="30 d")).to_have_count(0)
        page.close()
    with serving(3, history_dir=tmp_path) as server:
        page = opens(f"{server.url}?view=history")
        shows(page, "[data-state=nothing] >> nth=0", "history has no table gauges yet")
        shows(page, ".list [data-state=nothing]", "clientscope stream writes it")
        own = one_client(page, server.fleet)
        expect(own).to_contain_text("No client's metrics are recorded.")
        expect(own).to_contain_text("clientscope stream … --client-telemetry")
        append(tmp_path, "gauges", [gauge(NOW_MS - 3_000 * DAY_MS, 1)])
        follow(page, "?view=history&range=24h")
        shows(page, "[data-state=nothing] >> nth=0", "Nothing was recorded in this time.")

        log = tmp_path / "gauges" / "_delta_log" / "00000000000000000000.json"
        shutil.copy(log, tmp_path / "kept")
        log.write_text("{")
        follow(page, "?view=history&range=30d")
        failed = page.locator("[data-state=failed]")
        expect(failed).to_contain_text("history can't be read now: try again")
        shutil.copy(tmp_path / "kept", log)
        append(tmp_path, "gauges", [gauge(now_ms() - HOUR_MS, 7)])
        press(failed, "Try again", "button")
        shows(page, ".legend li >> nth=0", "librdkafka 2.6.1")
        follow(page, "?view=clients")
        there_are(page, ".list tr.row", 3)  # the rest of the page still works
        page.close()


def test_a_single_sample_is_drawn_and_the_chart_follows_the_search(opens: Opens, tmp_path: Path) -> None:
    at = now_ms() - 20 * HOUR_MS
    append(tmp_path, "gauges", [gauge(at, 7, "librdkafka", "2.5.3")])
    orders = {"client_id": "orders-1", "software_name": "Sarama", "software_version": "1.46"}
    append(tmp_path, "connections", [connection(at, Kind.CLOSED, 1, **orders), connection(at, Kind.CLOSED, 2)])
    with serving(3, history_dir=tmp_path) as server:
        page = opens(f"{server.url}?view=history&range=24h", color_scheme="light")
        shows(page, ".legend li", "librdkafka 2.5.3")
        there_are(page, ".card .notice", 0)
        drawn = page.locator(".plot canvas").first.evaluate(
            """canvas => {
              const [red, green, blue] = [0x1f, 0x7f, 0x93];  // --series-0
              const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
              let pixels = 0;
              for (let i = 0; i < data.length; i += 4) pixels += data[i] === red && data[i + 1] === green && data[i + 2] === blue;
              return pixels;
            }"""
        )
        assert drawn > 12, "a point is there"
        page.fill("#search", "client_id:orders-*")
        shows(page, ".legend li", "Sarama 1.46")
        there_are(page, ".legend li", 1)
        shows(page, '.foot:has-text("gaps are times")', "All that were open at any moment of each 5 min;")
        press(page, "Findings at its end")
        page.fill("#search", "code:AN101")
        reads(page, ".card .notice", "The chart is of all clients: this search is for findings.")
        shows(page, ".legend li", "librdkafka 2.5.3")
