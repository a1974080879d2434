"""The frame around the page's views, in a real browser: states, themes, widths, prefixes, tabs, sizes, and memory over days."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest
from every import every
from page_browser import (
    IN_BAR,
    SECONDS,
    Opens,
    is_live,
    is_there,
    lacks,
    leads_to,
    offers,
    press,
    reads,
    sees,
    serious,
    shows,
    started,
    there_are,
    types,
    watched,
    wrong_request,
)
from page_server import PageServer, serving
from places import TESTS
from playwright.sync_api import Browser, CDPSession, ConsoleMessage, Page, Route, expect
from quality_batches import UNBALANCED, append, connections

from clientscope import cli
from clientscope.clock import now_ms
from clientscope.model.topics import CONNECTIONS
from sinks.dashboard.http.access import Access, Token
from sinks.quality.process import checking_process

REQUEST_LOG = TESTS / "fixtures" / "request_logs" / "broker-3.9.log"
HIDEABLE = """
let hidden = false;
Object.defineProperty(document, "hidden", { get: () => hidden });
globalThis.hide = (wanted) => { hidden = wanted; document.dispatchEvent(new Event("visibilitychange")); };
"""


@pytest.fixture(scope="module")
def shared() -> Iterator[PageServer]:
    with serving(12) as server:
        yield server


def is_allowed(message: ConsoleMessage) -> bool:
    """What a browser writes of answers that these tests make on purpose."""
    return wrong_request(message) or any(each in message.text for each in ("status of 401", "status of 503", "ERR_CONNECTION_REFUSED"))


def test_the_theme_and_times_are_one_choice_for_all(shared: PageServer, opens: Opens) -> None:
    page = opens(f"{shared.url}?view=clients", color_scheme="light", timezone_id="Asia/Tokyo")
    shows(page, "footer", "Times in Asia/Tokyo (UTC+09:00)")
    since = page.locator(".list tr.row td[data-label=Since] time").first
    expect(since).to_have_text(re.compile(r"\d\d:\d\d:\d\d$"))
    since.hover()
    expect(since).to_have_attribute("title", re.compile(r"ago \(\d{4}-.* UTC\)"))
    page.get_by_label("Display settings").click()
    page.get_by_text("Relative").click()
    expect(since).to_have_text(re.compile("ago$"))
    page.get_by_text("UTC", exact=True).click()
    shows(page, "footer", "Times in UTC")
    press(page, "Dark theme", "button")
    page.goto(f"{shared.url}?view=findings")  # kept for every view
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    reads(page, ".state-cell time >> nth=0", re.compile("ago$"))


def test_nothing_yet_says_what_to_do(opens: Opens) -> None:
    with serving() as server:
        page = opens(server.url)
        shows(page, "section:has(#over-time)", "clientscope gateway")
        shows(page, "section:has(#to-fix)", "Nothing was judged yet")
        lacks(page, "main", "No finding is open")
        for view, text in (
            ("clients", "no gateway has sent a heartbeat"),
            ("findings", "Nothing was judged yet"),
            ("brokers", "no gateway has reported"),
            ("readiness", "no gateway has recorded what its clients request"),
        ):
            page.goto(f"{server.url}?view={view}")
            shows(page, "main [data-state=nothing]", text)


def test_catching_up_shows_progress_and_never_a_zero(opens: Opens) -> None:
    with serving(live=False) as server:
        server.state.catching_up(30, 120)
        page = opens(server.url)
        reads(page, "#feed", "Catching up")
        reads(page, ".figure .value >> nth=0", "–")
        for view in ("overview", "clients", "findings", "brokers"):
            page.goto(f"{server.url}?view={view}")
            expect(page.locator("main [data-state=catching] progress").first).to_have_attribute("value", "30")
            lacks(page, "main", "0 clients")
        server.state.live()
        is_live(page)
        sees(page, "main [data-state=nothing]")


def test_what_fails_can_be_tried_again(shared: PageServer, opens: Opens) -> None:
    page = opens("about:blank")

    def fail(route: Route) -> None:
        route.fulfill(status=503, json={"detail": "the topics are still being read"})

    for view, resource in (("clients", "clients?*"), ("findings", "findings?*"), ("brokers", "brokers")):
        page.route(f"**/api/v1/{resource}", fail)
        page.goto(f"{shared.url}?view={view}")
        shows(page, "[data-state=failed] >> nth=0", "still being read")
        page.unroute(f"**/api/v1/{resource}")
        page.locator("[data-state=failed]").get_by_role("button", name="Try again").first.click()
        sees(page, ".list tr.row >> nth=0")


def test_a_server_that_goes_away_is_reported_and_found_again(shared: PageServer, opens: Opens) -> None:
    page = opens(shared.url)
    is_live(page)
    page.route("**/api/v1/events", lambda route: route.fulfill(status=204))
    page.reload()
    reads(page, "#feed", "Connection lost")
    expect(page.get_by_role("button", name="Try again").first).to_be_visible()
    page.unroute("**/api/v1/events")
    is_live(page)


def test_a_token_is_asked_for_once(opens: Opens) -> None:
    access = Access(tokens=[Token("ada", "s3cret-of-ada-which-is-long", "reader")])
    with serving(5, access=access) as server:
        page = opens(f"{server.url}?view=findings")
        offers(page, "Sign in")
        assert page.locator(".list").count() == 0
        page.get_by_label("Token").fill("not it")
        press(page, "Sign in", "button")
        expect(page.get_by_role("alert")).to_contain_text("invalid token")
        page.get_by_label("Token").fill("s3cret-of-ada-which-is-long")
        press(page, "Sign in", "button")
        is_live(page)
        page.click(".list tr.row a.to >> nth=0")
        shows(page, "section:has(#decide)", "takes the role admin")
        page.reload()
        sees(page, "#decide")
        page.get_by_label("Display settings").click()
        press(page, "Sign out", "button")
        offers(page, "Sign in")


def test_under_a_path_prefix(opens: Opens) -> None:
    with serving(10, prefix="/tools/kafka/") as server:
        page = opens(server.url)
        for name in ("Clients", "Findings", "Brokers", "Overview"):
            press(page.locator(".ways"), name)
            reads(page, "main h1", name)
        page.goto(f"{server.url}?view=clients")
        page.click(".list tr.row a.to >> nth=0")
        sees(page, "#identity")
        page.reload()
        sees(page, "#identity")
        page.go_back()
        there_are(page, ".list tr.row", 10)
        assert server.proxy.outside == []


def all_follow(server: PageServer, *shown: Page) -> None:
    """Something changes, and each of these shows it."""
    server.apply(server.fleet.opened(server.fleet.members[0], 1, now_ms()))
    for each in shown:
        each.wait_for_function("version => Number(document.body.dataset.version) >= version", arg=server.state.version)


def test_eight_tabs_hold_one_stream(opens: Opens) -> None:
    with serving(10) as server:
        address = f"{server.url}?view=brokers"
        tabs = [opens(address, init=HIDEABLE)]
        is_live(tabs[0])
        for _ in range(7):
            tabs[-1].evaluate("hide(true)")
            tabs.append(opens(address, init=HIDEABLE, context=tabs[0].context))
            is_live(tabs[-1])
        tabs[-1].wait_for_timeout(600)
        assert server.proxy.streams == 1
        for tab in tabs:
            tabs[-1].evaluate("hide(true)")
            tab.evaluate("hide(false)")
            all_follow(server, tab)
            tab.evaluate("hide(true)")
        tabs[0].wait_for_timeout(600)
        assert server.proxy.streams == 0


@pytest.mark.long
def test_eight_visible_windows_stay_live_by_one_stream(opens: Opens) -> None:
    with serving(10) as server:
        windows = [opens(f"{server.url}?view=brokers")]
        windows += [opens(f"{server.url}?view=clients", context=windows[0].context) for _ in range(7)]
        for window in windows:
            is_live(window)
            assert not window.evaluate("document.hidden")

        all_follow(server, *windows)
        assert server.proxy.streams == 1
        windows[0].close()  # it was the first, so it has the stream
        all_follow(server, *windows[1:])
        for window in windows[1:]:
            is_live(window)
        windows[1].wait_for_timeout(600)
        assert server.proxy.streams == 1
        late = opens(server.url, context=windows[1].context)
        is_live(late)
        all_follow(server, *windows[1:], late)
        assert server.proxy.streams == 1


def test_data_docs_open_from_the_page_and_need_nothing_but_themselves(browser: Browser, tmp_path: Path) -> None:
    # In a sandbox not even Playwright's own script may run, and only that one tries.
    with (
        serving(data_docs_dir=tmp_path / "data-docs") as server,
        watched(browser, lambda message: "Blocked script execution" in message.text) as opens,
    ):
        _look_at_data_docs(server.url, opens, tmp_path)


def _look_at_data_docs(address: str, opens: Opens, tmp_path: Path) -> None:
    page = opens(address)
    is_live(page)
    expect(page.locator("#data-docs")).to_be_hidden()
    append(tmp_path, CONNECTIONS, connections(UNBALANCED))
    with closing(checking_process(str(tmp_path))) as process:
        process.ask({CONNECTIONS: 0})

    requests: list[str] = []
    page = opens(address)
    page.click("#data-docs")
    expect(page).to_have_title("Data quality")
    page.on("request", lambda request: requests.append(request.url))
    page.locator("a", has_text=re.compile("^20")).click()
    failed = page.locator('.ge-section:has-text("counts_add_up")')
    expect(failed).to_contain_text("1 unexpected values found. ≈1.961% of 51 total rows.")
    assert page.evaluate("self.origin") == "null", "an origin of its own"
    page.click('a:has-text("clientscope.connections") >> nth=0')
    shows(page, "body", "no gateway uses a number twice in one epoch")
    page.click('a:has-text("Home")')
    expect(page).to_have_title("Data quality")
    assert requests and all(url.startswith(f"{address}data-docs/") for url in every(requests)), requests
    press(page, "Back to clientscope")
    expect(page).to_have_url(address)
    is_live(page)


@pytest.mark.parametrize("command", ["xray", "readiness"])
def test_mailed_report_fits_a_telephone(opens: Opens, tmp_path: Path, command: str) -> None:
    report, target = tmp_path / "report.html", ["--target", "4.4"] if command == "readiness" else []
    cli.main([command, str(REQUEST_LOG), "--broker-release", "3.9", "--html", str(report), *target])
    page = opens(report.as_uri(), viewport={"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    beyond = "cells => cells.filter((cell) => cell.getBoundingClientRect().right > innerWidth).map((cell) => cell.textContent)"
    assert page.locator("td, code, h3, p, li").evaluate_all(beyond) == []
    if command == "xray":
        offending = page.locator("article").filter(has_text="AN116").locator("td", has=page.get_by_text("acks = 1", exact=True)).first
        expect(offending).to_be_visible()
        assert offending.evaluate("cell => getComputedStyle(cell, '::before').content").startswith('"Settings')
    assert serious(page) == []


def test_every_view_of_the_bar_has_its_key_its_title_and_its_line_in_the_help(shared: PageServer, opens: Opens) -> None:
    page = opens(f"{shared.url}?view=clients")
    is_there(page)
    assert len(IN_BAR) == page.locator("nav.ways a").count() > 0
    for name, title, key in (*IN_BAR[1:], IN_BAR[0]):
        types(page, "g", key)
        leads_to(page, f"[?]view={name}$")
        shows(page, "nav.ways a[aria-current=page]", title)
        expect(page).to_have_title("clientscope" if name == "overview" else f"{title} · clientscope")
    types(page, "?")
    for _, title, key in IN_BAR:
        shows(page, "dialog dl.keys", re.compile(f"g\\s*{key}\\s*{title}"))
    types(page, "?")
    page.goto(f"{shared.url}?view=findings")
    page.click(".list tr.row a.to >> nth=0")
    leads_to(page, "[?]view=finding&")
    expect(page).to_have_title("Finding · clientscope")
    shows(page, "nav.ways a[aria-current=page]", "Findings")
    fresh = opens(page.url)  # with nothing to go back to
    is_there(fresh)
    types(fresh, "Escape")
    leads_to(fresh, "[?]view=findings$")


ROUNDS = 8


@pytest.mark.long
def test_rows_that_come_and_go_leave_nothing_behind() -> None:
    with serving(95) as server, started() as browser, watched(browser) as opens:
        guests = (replace(server.fleet.members[0], client_id=f"a-guest-{number}", number=1_000 + number) for number in count())
        guest = next(guests)
        server.apply(server.fleet.opened(guest, 1, now_ms()))
        page = opens(f"{server.url}?view=clients")
        session = page.context.new_cdp_session(page)
        there_are(page, ".list tr.row", 96)
        held = []
        for _ in range(3):
            for _ in range(ROUNDS):  # each goes once the next one is there, so that what is drawn always has one that will go
                last, connection, guest = guest, server.fleet.newest, next(guests)
                server.apply(server.fleet.opened(guest, 1, now_ms()))
                expect(page.locator(".list tr.row")).to_have_count(97, timeout=3 * SECONDS)
                server.apply([server.fleet.closed(last, now_ms(), connection)])
                expect(page.locator(".list tr.row")).to_have_count(96, timeout=3 * SECONDS)
            held.append(_held(session))
    _, (bytes_before, nodes_before), (bytes_after, nodes_after) = held
    assert bytes_after < 1.2 * bytes_before, held
    assert nodes_after < 1.1 * nodes_before, held


def _held(session: CDPSession) -> tuple[float, int]:
    """Bytes of the heap, and nodes, once all that nobody needs any more was collected."""
    for _ in range(2):
        session.send("HeapProfiler.collectGarbage")
    return session.send("Runtime.getHeapUsage")["usedSize"], session.send("Memory.getDOMCounters")["nodes"]
