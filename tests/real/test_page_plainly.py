"""What the page says, in a real browser: counts say of what, nothing is cut off or overlaps, and nothing is decided for the reader."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest
from made_findings import leak, made
from observe import page as answer_of
from page_browser import Opens, lacks, leads_to, press, reads, sees, serious, shows, the_table, there_are, wrong_request
from page_fleet import Fleet
from page_server import PageServer, serving
from page_state import result
from playwright.sync_api import ConsoleMessage, expect

from clientscope import cli
from clientscope.clock import now_ms

SEEN_ONLY = "seen-only"
"""A client that pushed nothing."""


@pytest.fixture(scope="module")
def shared() -> Iterator[PageServer]:
    """Nobody changes what it shows."""
    fleet = Fleet(now_ms(), clients=90)
    with serving(fleet) as server:
        first = fleet.members[0]
        two = {"application": {"principal": first.principal, "client_id": first.application}, "client_count": 2}
        about = {**two, "opened_ms": fleet.now_ms, "first_seen_ms": fleet.now_ms, "last_seen_ms": fleet.now_ms}
        client = fleet.findings()[-1].clients[0]
        server.apply(
            [
                fleet.finding(
                    made(801, code="AN101", severity="high", message="it sets ``acks=0``: set acks=all", clients=[client], **about)
                ),
                fleet.finding(made(802, code="AN111", severity="info", message="its batches never fill", clients=[client], **about)),
                fleet.finding(made(803, code="AN104", severity="critical", message="of nobody now", **{**about, "client_count": 0})),
                fleet.finding(leak(804, state="stopped", client_count=0, ended_ms=fleet.now_ms)),
            ]
        )
        at_ms = now_ms() - 90_000
        seen = {"origin": "observed", "client_id": SEEN_ONLY, "not_evaluable": [f"AN{number}" for number in range(900, 918)]}
        server.apply(result(70_000 + number, at_ms=at_ms, **seen) for number in range(11))
        yield server


def is_allowed(message: ConsoleMessage) -> bool:
    return wrong_request(message) or "/api/v1/rules/AN999" in message.location.get("url", "")


def first_client(server: PageServer) -> str:
    """The address of the first member's page."""
    found = server.state.clients(1, q=f'client_id:"{server.fleet.members[0].client_id}"').items
    return f"{server.url}?view=client&key={found[0].key}"


def test_a_severity_beside_a_number_says_that_it_is_the_worst(shared: PageServer, opens: Opens) -> None:
    member = shared.fleet.members[0]
    page = opens(f'{shared.url}?view=clients&q=client_id:"{member.client_id}"')
    cell = page.locator(".list tr.row td[data-label=Findings]")
    expect(cell).to_have_text(re.compile(r"^worst: critical \d+ findings$"))
    count = int(re.findall(r"\d+", cell.inner_text())[0])
    page.click(".list tr.row a.to")
    there_are(page, ".findings-list tr.row", count)

    page.goto(f"{shared.url}?view=clients&group=broker")
    row = page.locator('.list tr.row:has-text("prod-eu-1 1")').first
    reads(row, "td[data-label=Findings]", re.compile(r"^worst: critical \d+ clients with findings$"))
    named = int(re.findall(r"\d+", row.locator("td[data-label=Findings]").inner_text())[0])
    page.goto(f"{shared.url}?view=clients&q=broker:1 finding:>=info")
    reads(page, ".pager", f"{named} clients")


def number_in(text: str) -> int:
    return int(re.findall(r"[\d,]+", text)[0].replace(",", ""))


def test_same_noun_has_same_number_everywhere(shared: PageServer, opens: Opens, capsys: pytest.CaptureFixture[str]) -> None:
    page = opens(shared.url)
    overview = shared.state.overview(now_ms())
    found = overview.findings
    assert found is not None and found.low_confidence and found.to_rotate
    figure = page.locator(".figure").filter(has=page.get_by_text("Findings", exact=True))
    badge = page.locator("nav.ways .badge")
    by = {name: found.by_severity[name] for name in ("critical", "high", "medium", "low", "info")}
    reads(figure, ".value", str(found.total))
    urgent = by["critical"] + by["high"]
    expect(figure).to_contain_text(f"{urgent} of them high or above, {found.to_rotate} leaked secrets to rotate")
    expect(badge).to_have_text(str(found.total))
    said = f"{found.total} findings: {', '.join(f'{number} {name}' for name, number in by.items())}"
    expect(badge).to_have_attribute("title", said)
    expect(page.get_by_role("link", name="All", exact=False).first).to_have_text(f"All {found.total} findings")
    assert [number_in(text) for text in page.locator(".severities .pill").all_inner_texts()] == list(by.values())

    for link, number in (("Findings", found.total), (f"{urgent} of them", urgent), ("leaked secrets to rotate", found.to_rotate)):
        page.goto(shared.url)
        press(figure, link)
        shows(page, ".pager", f"{number} findings")

    assert cli.main(["findings", "--url", shared.url]) == 0
    assert f"{said}; {found.low_confidence} more of low confidence" in capsys.readouterr().err
    assert json.loads(answer_of(f"{shared.url}api/v1/findings?confidence=high&limit=1")[1])["total"] == found.total

    numbers = (
        ("Connections", ".note", f"{overview.clients} clients", "clients"),
        ("Software versions", ".value", f"{overview.software_versions}", "clients&group=software"),
    )
    for label, where, number, view in numbers:
        page.goto(shared.url)
        shows(page.locator(".figure", has_text=label), where, number)
        page.goto(f"{shared.url}?view={view}")
        shows(page, ".pager", number)


def test_pushes_are_those_that_clients_pushed(shared: PageServer, opens: Opens) -> None:
    page = opens(shared.url)
    pushes = shared.state.overview(now_ms()).pushes
    reads(page, '.figure:has-text("Pushes in a day") .value', str(pushes))
    newest = page.locator("section:has(#newest)")
    there_are(newest, "tr.row", 8)
    assert newest.locator("tr.row", has_text=SEEN_ONLY).count() == 0
    assert json.loads(answer_of(f"{shared.url}api/v1/results?pushed=true&limit=1000")[1])["total"] == pushes
    shows(newest, 'tr.row:has-text("not judged") >> nth=0', re.compile(r"\d+ rules? not judged"))
    page.goto(f"{shared.url}?pushes=table")
    by_minute = the_table(page, "Pushes").locator("td")
    expect(by_minute).to_have_count(60)
    assert 0 < sum(number_in(text) for text in by_minute.all_inner_texts() if text != "–") <= (pushes or 0)


def test_shares_of_version_mix_add_up(shared: PageServer, opens: Opens) -> None:
    page = opens(f"{shared.url}?mix=all")
    shares = page.locator(".mix .share small")
    expect(shares.first).to_be_visible()
    texts = shares.all_inner_texts()
    small = texts.count("< 1 %")
    assert 100 - small <= sum(number_in(text) for text in texts if text != "< 1 %") <= 100, texts


def test_a_share_below_one_percent_is_shown_as_such(shared: PageServer, opens: Opens) -> None:
    page = opens(shared.url)
    cases = {
        (1, 1, 1): ["34 %", "33 %", "33 %"],
        (1,) * 1000: ["< 1 %"] * 1000,
        (9960, 40): ["100 %", "< 1 %"],
        (993, 7): ["99 %", "< 1 %"],
        (*[120] * 50, *[4] * 1000): ["2 %"] * 10 + ["1 %"] * 40 + ["< 1 %"] * 1000,
        (1, 0): ["100 %", "0 %"],
        (0, 0): ["0 %", "0 %"],
    }
    shares = "async (all) => { const { shares } = await import('/static/core/format.js'); return all.map(shares); }"
    assert page.evaluate(shares, [list(parts) for parts in cases]) == list(cases.values())


def test_what_could_not_be_judged_is_counted_and_explained(shared: PageServer, opens: Opens) -> None:
    page = opens(shared.url)
    overview = shared.state.overview(now_ms())
    note = page.locator('.figure:has-text("Connections") .note')
    expect(note).to_have_text(f"{overview.judged} of {overview.clients} clients could be judged")
    note.get_by_role("link").click()
    assert overview.clients is not None and overview.judged is not None
    reads(page, ".pager", f"{overview.clients - overview.judged} clients")

    page.goto(first_client(shared))
    unjudged = page.locator(".unjudged")
    reads(unjudged, "summary", "1 rule could not judge it")
    unjudged.locator("summary").click()
    expect(unjudged).to_contain_text("max.request.size")
    press(unjudged, "AN115")
    shows(page, "h1", "AN115 request size above broker")


def test_columns_are_chosen_and_the_address_has_them(shared: PageServer, opens: Opens) -> None:
    page = opens(f"{shared.url}?view=clients", viewport={"width": 1200, "height": 900})
    headings = page.locator(".list > .table-host th:visible")
    expect(headings.filter(has_text="Gateway")).to_have_count(0)
    page.click('summary:has-text("Columns")')
    page.get_by_label("Gateway", exact=True).check()
    page.get_by_label("Principal", exact=True).uncheck()
    leads_to(page, r"columns=software,owner,address,connections,findings,since,listener,broker,gateway")
    page.reload()
    expect(headings.filter(has_text="Gateway")).to_have_count(1)
    expect(headings.filter(has_text="Broker")).to_have_count(1)  # what is chosen is shown at any width
    expect(headings.filter(has_text="Principal")).to_have_count(0)
    assert serious(page) == []
    page.click('summary:has-text("Columns")')
    press(page, "Usual columns")
    expect(headings.filter(has_text="Principal")).to_have_count(1)


def test_numbers_and_names_say_of_what(shared: PageServer, opens: Opens) -> None:
    page = opens(f"{shared.url}?health=open")
    reads(page, ".bar .cluster", "Cluster prod-eu-1")
    shows(page, '.health .chip:has-text("Stream")', "643 records behind Kafka, the oldest 900 ms old")
    shows(page, '.health .chip:has-text("Gateways")', "last record")
    figures = the_table(page, "Each process").locator('tr:has-text("gw-1") td').last
    expect(figures).to_have_text("open connections: 812")


def test_no_reason_is_chosen_before_the_reader_does(shared: PageServer, opens: Opens) -> None:
    page = opens(f"{shared.url}?view=findings&q=kind:leak state:open")
    page.click(".list tr.row a.to >> nth=0")
    there_are(page, ".decide input[type=radio]", 4)
    there_are(page, ".decide input[type=radio]:checked", 0)
    page.get_by_label(re.compile("^Why")).fill("of the test cluster")
    press(page, "Close", "button", exact=True)
    page.wait_for_timeout(300)
    assert shared.decisions == [], "the browser asks for a reason first"
    page.get_by_label("A test value").check()
    press(page, "Close", "button", exact=True)
    sees(page, ".decide .notice")
    fingerprint, value = shared.decisions[0]
    assert fingerprint in page.url and value is not None
    assert json.loads(value)["resolution"] == "test-value"


def test_rules_are_explained_on_the_page(shared: PageServer, opens: Opens) -> None:
    page = opens(f"{shared.url}?view=findings&group=code")
    row = page.locator('.list tr.row:has-text("AN101")')
    expect(row).to_contain_text("acks zero")
    expect(row).to_contain_text("acks=all")
    page.goto(f"{shared.url}?view=findings&q=code:AN101")
    page.click('.list tr.row:has-text("it sets") a.to')
    reads(page, "h1 code", "acks=0")  # and no backticks
    shows(page, ".pairs.details", "Why")
    shows(page, ".pairs.details", "lost without notice")
    press(page.locator(".pairs.details"), "AN101")
    leads_to(page, "view=rule&code=AN101")
    reads(page, "h1", "AN101 acks zero")
    outer = page.get_by_role("link", name="Apache Kafka, acks")
    assert (outer.get_attribute("target"), outer.get_attribute("rel")) == ("_blank", "noopener noreferrer")
    assert (outer.get_attribute("href") or "").startswith("https://kafka.apache.org/")
    lacks(page, "main", "``")
    assert serious(page) == []
    page.goto(f"{shared.url}?view=rule&code=AN999")
    shows(page, "main", "no such rule")


def test_clients_are_sorted_by_the_worst_finding(shared: PageServer, opens: Opens) -> None:
    page = opens(f"{shared.url}?view=clients")
    expect(page.get_by_role("columnheader", name="Findings")).to_have_attribute("aria-sort", "descending")
    shown = page.locator(".list tr.row td[data-label=Findings]").all_inner_texts()
    order = ["critical", "high", "medium", "low", "info", "0", "–"]
    places = [next(place for place, word in enumerate(order) if word in text) for text in shown]
    assert places == sorted(places)
    assert len(set(places)) >= 5


def test_a_finding_is_copied_as_markdown_and_has_a_permanent_link(shared: PageServer, opens: Opens) -> None:
    member = shared.fleet.members[0]
    evil = "@all **bold** [x](https://evil.example) `code` <img src=x>"
    finding = made(
        850,
        code="AN101",
        message=f"{evil}: set ``acks=all``",
        settings=[{"key": "client.rack", "value": "a`b``c", "origin": "set"}],
        clients=[{"client_id": evil, "address": member.address}],
        opened_ms=shared.fleet.now_ms,
    )
    shared.apply([shared.fleet.finding(finding)])
    page = opens(f"{shared.url}?view=finding&id={finding.fingerprint}&source=x", permissions=["clipboard-read", "clipboard-write"])
    shows(page, ".pairs.details", "Why")
    press(page, "Copy as Markdown", "button")
    expect(page.get_by_role("status").filter(has_text="Copied")).to_be_visible()
    text = str(page.evaluate("navigator.clipboard.readText()"))
    lines = text.splitlines()
    assert lines[0].startswith("**high, AN101 acks zero**: @\u2060all \\*\\*bold\\*\\* \\[x\\]\\(https\\://evil\\.example\\)")
    assert lines[0].endswith("set ` acks=all `")
    assert "- Settings: ``` client.rack=a`b``c ```" in lines
    assert "<img" not in text.replace("\\<img", "")
    permanent = f"{shared.url}?view=finding&id={finding.fingerprint}"
    assert f"- Finding: <{permanent}>" in lines
    link = page.get_by_role("link", name="Permanent link")
    assert link.get_attribute("href") == permanent
    link.click()
    expect(page).to_have_url(permanent)
    shows(page, "h1", "@all")
    assert serious(page) == []


def test_an_empty_system_says_how_the_first_client_connects(opens: Opens) -> None:
    with serving() as server:
        page = opens(f"{server.url}?view=clients")
        steps = page.locator(".first-client li")
        expect(steps).to_have_count(3)
        for step, word in enumerate(("advertised.listeners=", "clientscope gateway --bootstrap-servers", "import KafkaProducer")):
            shows(steps.nth(step), "code", word)
        server.apply(Fleet(now_ms(), clients=0).heartbeats(now_ms()))
        shows(page, ".list", "No client is connected.")
        expect(steps).to_have_count(3)
        reads(steps.first, "code", "bootstrap.servers=HOST:9092")
        assert serious(page) == []
        page.close()  # before the server, which it would still ask
