"""The page's History in a real browser, from tables that delta-rs wrote: every list, every state, and what other views show of it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import page_past
import pytest
from page_browser import Opens, follow
from page_fleet import HOSTILE, Fleet
from page_server import PageServer, serving
from past_tables import DAY_MS, HOUR_MS, NOW_MS, append, connection, gauge
from playwright.sync_api import ConsoleMessage, Locator, Page, expect

from clientscope.clock import now_ms
from clientscope.records.enums import Kind

STATES = (400, 404, 503)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PageServer]:
    """Nobody changes what it shows."""
    fleet, folder = Fleet(now_ms()), tmp_path_factory.mktemp("history")
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
    expect(page.locator("h1")).to_have_text("History")
    expect(page.locator(".legend li").first).to_contain_text("librdkafka 2.5.3")
    expect(page.locator(".foot", has_text="The most at once in each 30 min")).to_be_visible()
    page.get_by_role("link", name="30 d").click()
    expect(page).to_have_url(re.compile("range=30d"))
    expect(page.locator(".foot", has_text="The most at once in each 2 h")).to_be_visible()
    page.get_by_role("link", name="as a table").click()
    table = page.get_by_role("table", name="Connections by software version", exact=True)
    steps = table.locator("tbody tr")
    expect(steps.nth(359)).to_be_visible()
    assert steps.count() in (360, 361)  # at the end of a step, 30 days are whole steps
    silent = table.locator("tbody tr", has_text="–")
    expect(silent.nth(1)).not_to_contain_text("0,")  # a time when the job didn't run is not zero
    assert silent.count() > 3
    page.reload()
    expect(steps.nth(359)).to_be_visible()

    day = page.evaluate("new Date(Date.now() - 3 * 86400000).toISOString().slice(0, 10)")
    page.get_by_label("from").fill(day)
    page.get_by_label("to", exact=True).fill(day)
    expect(page).to_have_url(re.compile(f"from={day}&to={day}"))
    expect(table.locator("thead th").first).to_contain_text("5 min")
    expect(table.locator("tbody tr")).to_have_count(288)
    page.get_by_label("to", exact=True).fill("2020-01-01")
    expect(page.locator("main")).to_contain_text("The first day must come before the last one")
    page.get_by_role("link", name="The last 7 days").first.click()
    expect(table.locator("thead th").first).to_contain_text("30 min")


def test_who_used_a_version_and_what_they_pushed(shared: PageServer, opens: Opens) -> None:
    page = opens(f"{shared.url}?view=history&range=30d")
    expect(page.locator(".pager")).to_contain_text(f"1–50 of {2 * len(shared.fleet.members) + 1} clients")
    expect(page.locator(".list tr.row").first).to_contain_text("connected")
    expect(page.locator(".list [data-complete]")).to_have_text(re.compile(r"^History is complete until \d\d:\d\d:\d\dZ"))
    follow(page, "?view=history&from=2020-01-01&to=2020-01-02")
    expect(page.locator(".list")).to_contain_text("History has no records of this time: not yet, or no more.")
    expect(page.locator(".list")).not_to_contain_text("No client was connected")
    follow(page, "?view=history&range=30d")
    page.locator("#search").fill("version:0.9.1")
    expect(page.locator(".pager")).to_contain_text(f"of {len(shared.fleet.members)} clients")
    expect(page.locator(".list tr.row", has_text="connected")).to_have_count(0)
    page.get_by_role("link", name="Next page").click()
    expect(page.locator(".pager")).to_contain_text("51–100")
    page.locator("#search").fill("lisener:x")
    expect(page.locator(".mistake mark")).to_have_text("lisener")
    expect(page.locator(".mistake")).to_contain_text("first_seen")
    page.locator("#search").fill("no-such-thing")
    expect(page.locator("[data-state=no-match]")).to_be_visible()
    page.get_by_role("link", name="Clear filters").click()
    expect(page.locator(".list tr.row").first).to_be_visible()
    page.locator("#search").fill("'\\ or img")
    expect(page.locator("[data-state=no-match]")).to_be_visible()
    page.locator("#search").fill('"<img"')
    expect(page.locator(".list tr.row")).to_have_count(1)
    expect(page.locator(".list tr.row")).to_contain_text(HOSTILE)
    expect(page.locator(".list tr.row")).to_contain_text("' OR 1=1 --")
    page.locator(".list tr.row a.to").click()
    expect(page.locator(".whose-starts")).to_contain_text(HOSTILE)
    expect(page.locator(".list")).to_contain_text("Nothing was pushed in this time.")

    name = shared.fleet.members[0].client_id
    follow(page, f'?view=history&range=30d&q=client_id:"{name}"')
    expect(page.locator(".list tr.row")).to_have_count(2)
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.locator(".starts > li")).to_have_count(5)
    newest = page.locator(".starts > li").first
    for text in ("acks", "all", "1 withheld", "producer"):
        expect(newest).to_contain_text(text)
    expect(page.locator(".starts > li").last).to_contain_text("The first start that is known.")
    page.go_back()
    expect(page.locator(".list tr.row")).to_have_count(2)


def test_findings_as_they_were(shared: PageServer, opens: Opens) -> None:
    page = opens(f"{shared.url}?view=history")
    page.get_by_role("link", name="Findings at its end").click()
    expect(page.locator(".list tr.row")).to_have_count(3)
    assert rows(page) == ["critical", "high", "low"]
    expect(page.locator(".list tr.row").first).to_contain_text(HOSTILE)
    page.locator("#search").fill("severity:>=high -code:SK*")
    expect(page.locator(".list tr.row")).to_have_count(1)
    page.get_by_role("link", name="Findings that ended").click()
    expect(page.locator(".list tr.row")).to_have_count(1)
    expect(page.locator(".list tr.row")).to_contain_text("resolved")
    expect(page.locator("#search")).to_have_value("")
    before = page.evaluate("new Date(Date.now() - 8.5 * 86400000).toISOString().slice(0, 10)")
    follow(page, f"?view=history&show=findings&to={before}")
    expect(page.locator(".list tr.row").first).to_contain_text("critical")
    expect(page.locator(".list tr.row", has_text="let batches fill")).to_have_count(0)


def test_what_other_views_show_of_it(shared: PageServer, opens: Opens) -> None:
    page = opens(shared.url)
    page.locator("section", has=page.locator("#over-time")).get_by_role("link", name="30 d").click()
    expect(page.locator(".foot", has_text="The most at once in each 2 h")).to_be_visible()
    page.locator("section", has=page.locator("#over-time")).locator(".legend a").first.click()
    expect(page.locator("h1")).to_have_text("History")
    expect(page.locator("#search")).to_have_value(re.compile("librdkafka.*2.5.3"))
    expect(page).to_have_url(re.compile("range=30d"))
    page.keyboard.press("Escape")
    page.locator("h1").click()
    page.keyboard.press("g")
    page.keyboard.press("o")
    expect(page.locator("section", has=page.locator("#over-time")).get_by_role("link", name="1 h")).to_have_attribute(
        "aria-current", "true"
    )

    follow(page, f'?view=clients&q=client_id:"{shared.fleet.members[0].client_id}"')
    page.locator(".list tr.row a.to").first.click()
    page.get_by_role("link", name="Older starts").click()
    expect(page.locator(".starts").nth(1).locator("li")).to_have_count(5)
    page.get_by_role("link", name="all of them in History").click()
    expect(page.locator(".starts > li")).to_have_count(5)


def one_client(page: Page, fleet: Fleet, number: int = 0) -> Locator:
    """Goes to a client of the fleet; the part of its page that has its own metrics."""
    follow(page, f'?view=clients&q=client_id:"{fleet.members[number].client_id}"')
    page.locator(".list tr.row a.to").first.click()
    return page.locator("section", has=page.locator("#own-metrics"))


def test_what_a_client_measured_itself_beside_its_settings(shared: PageServer, opens: Opens) -> None:
    page = opens(shared.url)
    own = one_client(page, shared.fleet)
    expect(own.locator("h3")).to_have_text(["As a producer", "As a consumer"])
    expect(own.locator(".muted", has_text="2 instances together, 5 min from")).to_be_visible()
    expect(own.locator("figcaption", has_text="Request latency")).to_have_count(1)
    queue = own.locator("figure", has_text="Wait in the send queue")
    expect(queue.locator("li")).to_have_count(2)
    expect(queue.locator("p")).to_have_text("linger.ms=5")
    shown = queue.locator("b").all_inner_texts()
    errors = own.locator("figure", has_text="Failed records")
    expect(errors.locator("b")).to_have_text(["0", "0"])
    queue.locator(".plot .u-over").hover(position={"x": 60, "y": 20})
    expect(queue.locator("b").first).not_to_have_text(shown[0])
    page.mouse.move(0, 0)
    expect(queue.locator("b").first).to_have_text(shown[0])

    own.get_by_role("link", name="24 h").click()
    expect(page).to_have_url(re.compile("metrics=24h"))
    expect(own.locator(".foot")).to_contain_text("Each point is of 15 min")
    own.get_by_role("link", name="as a table").click()
    table = own.get_by_role("table", name="Metrics of the producer", exact=True)
    expect(table.locator("tbody tr").first.locator("td").nth(2)).to_contain_text("ms")
    assert table.locator("tbody tr").count() in (95, 96, 97)
    own.get_by_role("link", name="as curves").click()
    expect(own.locator("figure").first).to_be_visible()

    own = one_client(page, shared.fleet, 1)
    expect(own).to_contain_text("It pushed no metrics in the last 3 h.")
    expect(own).to_contain_text("Java's clients from 3.7.2 on")


def test_nothing_yet_and_failures_say_what_to_do(opens: Opens, tmp_path: Path) -> None:
    with serving() as server:
        page = opens(f"{server.url}?view=history")
        expect(page.locator("[data-state=nothing]")).to_contain_text("clientscope serve --history-dir DIR")
        follow(page, "?view=overview")
        expect(page.locator("#over-time")).to_be_visible()
        expect(page.get_by_role("link", name="30 d")).to_have_count(0)
        page.close()
    with serving(Fleet(now_ms(), clients=3), history_dir=tmp_path) as server:
        page = opens(f"{server.url}?view=history")
        expect(page.locator("[data-state=nothing]").first).to_contain_text("history has no table gauges yet")
        expect(page.locator(".list [data-state=nothing]")).to_contain_text("clientscope stream writes it")
        own = one_client(page, server.fleet)
        expect(own).to_contain_text("No client's metrics are recorded.")
        expect(own).to_contain_text("clientscope stream … --client-telemetry")
        append(tmp_path, "gauges", [gauge(NOW_MS - 3_000 * DAY_MS, 1)])
        follow(page, "?view=history&range=24h")
        expect(page.locator("[data-state=nothing]").first).to_contain_text("Nothing was recorded in this time.")

        log = tmp_path / "gauges" / "_delta_log" / "00000000000000000000.json"
        shutil.copy(log, tmp_path / "kept")
        log.write_text("{")
        follow(page, "?view=history&range=30d")
        failed = page.locator("[data-state=failed]")
        expect(failed).to_contain_text("history can't be read now: try again")
        shutil.copy(tmp_path / "kept", log)
        append(tmp_path, "gauges", [gauge(now_ms() - HOUR_MS, 7)])
        failed.get_by_role("button", name="Try again").click()
        expect(page.locator(".legend li").first).to_contain_text("librdkafka 2.6.1")
        follow(page, "?view=clients")
        expect(page.locator(".list tr.row")).to_have_count(3)  # the rest of the page still works
        page.close()


def test_a_single_sample_is_drawn_and_the_chart_follows_the_search(opens: Opens, tmp_path: Path) -> None:
    at = now_ms() - 20 * HOUR_MS
    append(tmp_path, "gauges", [gauge(at, 7, "librdkafka", "2.5.3")])
    orders = {"client_id": "orders-1", "client_software_name": "Sarama", "client_software_version": "1.46"}
    append(tmp_path, "connections", [connection(at, Kind.CLOSED, 1, **orders), connection(at, Kind.CLOSED, 2)])
    with serving(Fleet(now_ms(), clients=3), history_dir=tmp_path) as server:
        page = opens(f"{server.url}?view=history&range=24h", color_scheme="light")
        expect(page.locator(".legend li")).to_contain_text("librdkafka 2.5.3")
        expect(page.locator(".card .notice")).to_have_count(0)
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
        page.locator("#search").fill("client_id:orders-*")
        expect(page.locator(".legend li")).to_contain_text("Sarama 1.46")
        expect(page.locator(".legend li")).to_have_count(1)
        expect(page.locator(".foot", has_text="gaps are times")).to_contain_text("All that were open at any moment of each 5 min;")
        page.get_by_role("link", name="Findings at its end").click()
        page.locator("#search").fill("code:AN101")
        expect(page.locator(".card .notice")).to_have_text("The chart is of all clients: this search is for findings.")
        expect(page.locator(".legend li")).to_contain_text("librdkafka 2.5.3")
