"""Every view of the page in a real browser, from made-up records: what it shows, and what never moves."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest
from page_browser import SECONDS, Opens, is_live, leads_to, press, reads, searched, sees, shows, the_table, there_are, types
from page_browser import wrong_request as is_allowed  # noqa: F401  read by the fixture of pages
from page_fleet import Fleet
from page_server import PageServer, serving
from patience import until
from playwright.sync_api import Page, Route, expect

from clientscope.clock import now_ms


@pytest.fixture(scope="module")
def shared() -> Iterator[PageServer]:
    """Nobody changes what it shows."""
    with serving(Fleet(now_ms())) as server:
        yield server


@pytest.fixture
def own() -> Iterator[PageServer]:
    with serving(30) as server:
        yield server


def rows(page: Page) -> list[str]:
    """The keys of the main table's rows, in their order."""
    found: list[str] = page.locator(".list tr.row").evaluate_all("rows => rows.map((row) => row.dataset.key)")
    return found


def test_the_overview_answers_at_a_glance(shared: PageServer, opens: Opens) -> None:
    page = opens(shared.url)
    is_live(page)
    fleet = shared.fleet
    figure = page.locator('.figure:has-text("Connections") .value')
    expect(figure).to_have_text(f"{sum(member.connections for member in fleet.members):,}")
    there_are(page, ".health .chip", 5)
    shows(page, '.health .chip:has-text("Queries")', "640 records behind Kafka")
    sees(page, "#over-time")
    sees(page, ".plot canvas >> nth=0")
    shows(page, ".legend >> nth=0", "librdkafka 2.5.3")
    expect(page.locator("section:has(#to-fix) li a.plain .mark").first).to_have_attribute("data-severity", "critical")
    shows(page, "section:has(#mix) tr.row >> nth=0", "librdkafka 2.5.3")
    there_are(page, "section:has(#newest) tr.row", 8)

    press(page.locator("section:has(#over-time)"), "as a table")
    table = the_table(page, "Connections by software version", exact=True).first
    there_are(table, "tbody tr", 60)
    unknown = table.locator("tbody tr", has_text=re.compile("–"))
    expect(unknown.first).not_to_contain_text("0,")  # a minute without a report is not zero
    assert "versions=table" in page.url

    page.click("section:has(#mix) tr.row a >> nth=0")
    reads(page, "h1", "Clients")
    searched(page, re.compile("librdkafka.*2.5.3"))
    shows(page, ".pager", "client")


def test_a_silent_gateway_is_amber_and_named(own: PageServer, opens: Opens) -> None:
    own.apply(own.fleet.statuses(stale=True))
    page = opens(own.url)
    expect(page.locator('.health .chip:has-text("Gateways")')).to_have_attribute("data-tone", "warn")
    shows(page, ".unwell", "gateway gw-2 is stale. Nothing was heard of it")
    page.get_by_role("button", name="Details").first.click()
    shows(the_table(page, "Each process"), 'tr:has-text("gw-2")', "stale")


def test_clients_are_searched_sorted_grouped_and_opened(shared: PageServer, opens: Opens) -> None:
    page = opens(f"{shared.url}?view=clients")
    shows(page, ".pager", "1–100 of 180 clients")
    first = rows(page)
    press(page, "Next page")
    shows(page, ".pager", "101–180 of 180 clients")
    assert not set(first) & set(rows(page))
    page.go_back()
    shows(page, ".pager", "1–100 of 180")
    press(page, "Last page")
    shows(page, ".pager", "101–180 of 180")

    press(page, "Connections", exact=True)
    expect(page.get_by_role("columnheader", name="Connections")).to_have_attribute("aria-sort", "descending")
    shows(page, ".list tr.row >> nth=0", "24")
    page.fill("#search", "software:librdkafka version:<2.5")
    leads_to(page, r"q=software:librdkafka")
    there_are(page, '.list tr.row:has-text("2.5.3")', 0)
    there_are(page, '.list tr.row:has-text("apache-kafka-java")', 0)
    shows(page, ".list tr.row >> nth=0", "librdkafka")

    page.fill("#search", "software:librdkafka nope:3")
    reads(page, ".mistake mark", "nope")
    shows(page, ".mistake", "principal")
    page.fill("#search", "no-such-thing")
    sees(page, "[data-state=no-match]")
    press(page, "Clear filters")
    shows(page, ".pager", "of 180 clients")

    facet = page.locator('.facets section:has-text("software")').first
    press(facet, "franz-go")
    searched(page, "software:franz-go")
    shows(facet, "a[aria-current]", "franz-go")
    facet.locator("a[aria-current]").click()
    searched(page, "")

    press(page.locator(".segments"), "Principals")
    shows(page, ".list tr.row >> nth=0", "User:")
    page.click(".list tr.row a >> nth=0")
    searched(page, re.compile("^principal:"))

    page.goto(f"{shared.url}?view=clients&sort=-connections&q=connections:>=24")
    page.click("td.chevron button >> nth=0")
    there_are(the_table(page, "Connections", exact=True), "tbody tr", 24)
    page.reload()  # all of it is in the address
    there_are(the_table(page, "Connections", exact=True), "tbody tr", 24)
    with page.expect_download() as download:
        press(page, "CSV")
    lines = download.value.path().read_text().splitlines()
    assert len(lines) == 1 + sum(member.connections >= 24 for member in shared.fleet.members)


def test_not_judged_never_looks_like_clean(shared: PageServer, opens: Opens) -> None:
    page = opens(f"{shared.url}?view=clients&q=finding:not-judged")
    cells = page.locator(".list tr.row td[data-label=Findings]")
    expect(cells.first).to_have_text("–")
    assert set(cells.all_inner_texts()) == {"–"}
    page.goto(f"{shared.url}?view=clients&q=finding:none")
    expect(cells.first).to_have_text("0")
    assert set(cells.all_inner_texts()) == {"0"}


def test_one_client(shared: PageServer, opens: Opens) -> None:
    page = opens(f"{shared.url}?view=clients&q=finding:>=high&sort=client_id")
    name = page.locator(".list tr.row a.to").first.inner_text()
    page.click(".list tr.row a.to >> nth=0")
    reads(page, "h1", name)
    shows(page, "section:has(#identity)", "SASL_SSL")
    reads(page, ".findings-list .pill >> nth=0", re.compile("high|critical"))
    settings = the_table(page, "Settings")
    reads(settings, 'tr:has-text("linger.ms") .source', "set")
    shows(settings, 'tr:has-text("sasl.jaas.config")', "withheld: key infix, 90 bytes")
    shows(settings, 'tr:has-text("request.timeout.ms")', "default")
    press(page, re.compile("^redacted"))
    there_are(settings, 'tr:has-text("linger.ms")', 0)
    sees(settings, 'tr:has-text("sasl.jaas.config")')
    types(page, "Escape")
    leads_to(page, "view=client&")  # one step back: all sources
    types(page, "Escape")
    reads(page, "h1", "Clients")

    started_again = next(member for member in shared.fleet.members if member.push and member.number % 9 == 0)
    page.goto(f'{shared.url}?view=clients&q=client_id:"{started_again.client_id}"')
    page.click(".list tr.row a.to >> nth=0")
    changed = the_table(page, "Changes").first
    shows(changed, 'tr:has-text("acks")', re.compile("all.*→.*1"))
    shows(changed, 'tr:has-text("linger.ms")', re.compile("not set.*→.*5"))


def test_findings_are_ranked_filtered_and_explained(shared: PageServer, opens: Opens) -> None:
    page = opens(f"{shared.url}?view=findings")
    reads(page.locator(".list tr.row").first, ".pill", "critical")
    shows(page, ".foot", "1 finding of low confidence")
    page.click("td.chevron button >> nth=0")
    for text in ("sasl.jaas.config", "key infix, 90 bytes", "a file that only the client reads", "redacted at gw-1", "no owner"):
        shows(page, ".pairs.details", text)
    page.fill("#search", "severity:>=high")
    there_are(page, '.list tr.row .pill:has-text("medium")', 0)
    page.fill("#search", "")
    expect(page.locator('.list tr.row .pill:has-text("medium")')).not_to_have_count(0)
    press(page.locator(".segments"), "Rules")
    page.click('.list tr.row a:has-text("AN101")')
    searched(page, "code:AN101")
    shows(page, ".list tr.row >> nth=0", "AN101")
    expect(page.locator(".list tr.row").first.get_by_role("link", name="AN101")).to_have_attribute("href", "?view=rule&code=AN101")
    page.click(".list tr.row a.to >> nth=0")
    shows(page, "h1", "acks=1")
    sees(page, "#decide")
    page.goto(f"{shared.url}?view=finding&id={'0' * 32}")
    shows(page, "main", "No finding has this fingerprint")


def test_brokers_where_they_differ_and_are_searched(shared: PageServer, opens: Opens) -> None:
    page = opens(f"{shared.url}?view=brokers")
    third = the_table(page, "Brokers").locator('tr.row:has-text("kafka-3.internal")')
    expect(third).to_contain_text("Kafka 4.2 or 4.3")
    expect(third).to_contain_text("inferred")
    differ = the_table(page, "Differences")
    there_are(differ, "tbody tr", 2)
    shows(differ, 'tr:has-text("Fetch")', "4–17 at 1, 2")
    there_are(the_table(page, "API ranges"), "tr.differs", 2)

    table = the_table(page, "Brokers").locator("tr.row")
    expect(table).to_have_count(3)
    page.fill("#search", "source:inferred")
    expect(table).to_have_count(1)
    expect(table).to_contain_text("kafka-3.internal")
    expect(page.get_by_text("The search leaves one broker")).to_be_visible()
    page.fill("#search", "source:guessed")
    shows(page, ".mistake", "declared")
    page.fill("#search", "rack:nowhere")
    press(page, "Clear filters")
    expect(table).to_have_count(3)
    page.get_by_role("link", name="clients", exact=True).first.click()
    searched(page, "broker:1")


def test_readiness_lists_who_breaks_and_why(shared: PageServer, opens: Opens) -> None:
    page = opens(f"{shared.url}?view=readiness&target=4.0.0")
    table = the_table(page, "Readiness").locator("tr.row")
    expect(table.first).to_contain_text("breaks")
    expect(table.first).to_contain_text("unknown software")
    shows(page, ".verdicts", "A version that Kafka 4.0.0 doesn't serve was last seen")
    table.first.locator("td.chevron button").click()
    shows(page, ".why", "4.0.0 doesn't serve Produce 2: it was removed in 4.0.0.")
    press(page, "Software", exact=True)
    reads(table.first, "a.to, td.strong >> nth=0", "unknown software")
    expect(table.filter(has_text="kafkajs 2.2.4")).to_contain_text("can't be judged yet")
    page.get_by_label("Release of the brokers").select_option("3.9.2")
    leads_to(page, "target=3.9.2")
    shows(page, ".verdicts", "No version that Kafka 3.9.2 doesn't serve was seen since")
    press(page, "Principals", exact=True)
    table.filter(has_text="User:orders").locator("a.to").click()
    searched(page, 'principal:"User:orders"')


def test_what_is_read_stays_where_it_is(own: PageServer, opens: Opens) -> None:
    page = opens(f"{own.url}?view=clients&sort=-connections")
    there_are(page, ".list tr.row", 30)
    before = rows(page)
    page.evaluate("globalThis.notReloaded = true")
    page.locator(".list tr.row").nth(3).hover()
    page.locator("td.chevron button").nth(3).click()
    sees(page, "tr.inner tbody tr >> nth=0")
    scrolled = page.evaluate("scrollTo(0, 200), scrollY")
    page.locator(".list tr.row").nth(8).hover()

    least = min(own.fleet.members, key=lambda member: member.connections)
    own.apply(own.fleet.opened(least, 60, now_ms()))
    own.apply(own.fleet.opened(replace(own.fleet.members[0], client_id="brand-new", number=777), 90, now_ms()))
    button = page.locator(".changes button")
    expect(button).to_have_text(re.compile("changes"), timeout=3 * SECONDS)
    assert rows(page) == before
    assert page.evaluate("scrollY") == scrolled
    row = page.locator(f'.list tr.row:has-text("{least.client_id}") td[data-label=Connections]').first
    expect(row).to_have_text(str(least.connections + 60))  # the number is updated in its row
    sees(page, "tr.inner tbody tr >> nth=0")

    button.click()
    page.mouse.move(0, 0)
    shows(page, ".list tr.row >> nth=0", "brand-new")
    sees(page, "tr.inner tbody tr >> nth=0")
    own.apply(own.fleet.opened(replace(own.fleet.members[0], client_id="at-once", number=778), 200, now_ms()))
    expect(page.locator(".list tr.row").first).to_contain_text("at-once", timeout=3 * SECONDS)  # nobody reads
    assert page.evaluate("globalThis.notReloaded")


def test_pace_paused_and_live_again(own: PageServer, opens: Opens) -> None:
    page = opens(f"{own.url}?view=clients&sort=-connections")
    there_are(page, ".list tr.row", 30)
    page.wait_for_timeout(SECONDS)  # the list is read again once the first event tells its version
    page.get_by_label("How often what is shown follows").select_option("paused")
    own.apply(own.fleet.opened(replace(own.fleet.members[0], client_id="later", number=779), 200, now_ms()))
    shows(page, ".fresh", "newer is there")
    there_are(page, '.list tr.row:has-text("later")', 0)
    page.get_by_label("How often what is shown follows").select_option("live")
    shows(page, ".list tr.row >> nth=0", "later")


@pytest.mark.parametrize(("view", "key"), [("clients", "c"), ("findings", "f")])
def test_search_key_waits_for_a_view_that_is_still_loaded(shared: PageServer, opens: Opens, view: str, key: str) -> None:
    page = opens(shared.url)
    is_live(page)
    held: list[Route] = []

    def hold(route: Route) -> None:  # Playwright takes no method of a list
        held.append(route)

    page.route(f"**/views/{view}.js", hold)
    types(page, "g", key)
    until(lambda: page.wait_for_timeout(10) or held)
    types(page, "/")
    page.evaluate("() => new Promise(requestAnimationFrame)")
    held[0].continue_()
    expect(page.locator("#search")).to_be_focused()
    assert page.url.endswith(f"?view={view}")


def test_keys(shared: PageServer, opens: Opens) -> None:
    page = opens(f"{shared.url}?view=clients")
    is_live(page)
    types(page, "/")
    expect(page.locator("#search")).to_be_focused()
    page.keyboard.type("jgk?")  # is text there
    searched(page, "jgk?")
    types(page, "Escape")
    searched(page, "")
    types(page, "Escape")
    expect(page.locator("#search")).not_to_be_focused()
    there_are(page, ".list tr.row", 100)
    types(page, "j", "j", "j", "k")
    second = page.locator(".list tr.row a.to").nth(1)
    expect(second).to_be_focused()
    name = second.inner_text()
    types(page, "Enter")
    reads(page, "h1", name)
    types(page, "Escape")
    reads(page, "h1", "Clients")
    expect(second).to_be_focused()
    types(page, "?")
    expect(page.get_by_role("dialog")).to_be_visible()
    types(page, "Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
