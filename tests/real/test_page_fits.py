"""Every view on a desktop, a tablet and a telephone, in both themes: it fits, nothing overlaps or is cut, and axe finds nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import page_past
import pytest
from page_browser import IN_BAR, Opens, follow, serious, there_are
from page_fleet import Fleet
from page_server import PageServer, serving
from playwright.sync_api import expect

from clientscope.clock import now_ms

OVERLAPS = """() => {
  const found = [], walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  const texts = [];
  while (walker.nextNode()) {
    const node = walker.currentNode;
    const hidden = ".hidden, .changes, .plot, .scroll, .wide-table, thead, details:not([open]) > :not(summary), script, option, select";
    if (!node.data.trim() || node.parentElement.closest(hidden)) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const { left, right, top, bottom } of range.getClientRects()) {
      const box = { left, right, top, bottom };
      for (let around = node.parentElement; around; around = around.parentElement) {
        if (getComputedStyle(around).overflow === "visible") continue;
        const edge = around.getBoundingClientRect();
        box.left = Math.max(box.left, edge.left), box.right = Math.min(box.right, edge.right);
        box.top = Math.max(box.top, edge.top), box.bottom = Math.min(box.bottom, edge.bottom);
      }
      const cell = node.parentElement.closest("td, th, dd, li")?.getBoundingClientRect();
      if (cell && box.right > cell.right + 2) found.push(`${node.data.trim().slice(0, 40)} beyond its cell`);
      if (box.right - box.left > 1 && box.bottom - box.top > 1) texts.push([node.data.trim().slice(0, 40), box, node]);
    }
  }
  texts.forEach(([a, one, here], i) => texts.slice(i + 1).forEach(([b, two, there]) => {
    const wide = Math.min(one.right, two.right) - Math.max(one.left, two.left);
    const high = Math.min(one.bottom, two.bottom) - Math.max(one.top, two.top);
    if (here !== there && wide > 2 && high > 4) found.push(`${a} | ${b}`);
  }));
  return found;
}"""
"""Texts of the page's content that lie on one another; what scrolls by itself isn't looked at."""

CUT = """() => [...document.querySelectorAll("main *, .facets *")].filter((each) => {
  const text = [...each.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE).map((node) => node.data).join(" ");
  if (!/\\d+\\.\\d+\\.\\d+/.test(text) || each.closest(".hidden, option, script, .plot") || !each.checkVisibility()) return false;
  for (let around = each; around && around.tagName !== "MAIN"; around = around.parentElement) {
    if (getComputedStyle(around).overflowX === "hidden" && around.scrollWidth > around.clientWidth) return true;
  }
  return false;
}).map((each) => each.textContent.trim())"""
"""Texts with a version of which a part can't be seen."""


@pytest.fixture(scope="module")
def shared(folder: Path) -> Iterator[PageServer]:
    fleet = Fleet(now_ms(), clients=12)
    fleet.members[1] = replace(fleet.members[1], software=("confluent-kafka-python", "2.16.0-rdkafka-2.16.0"))
    client_id, principal, software = (f"{name}{'x' * 240}" for name in ("client", "principal", "software"))
    fleet.members[2] = replace(fleet.members[2], client_id=client_id, principal=principal, software=(software, "1" * 100))
    page_past.write(fleet, folder)
    with serving(fleet, history_dir=folder) as server:
        yield server


def views(server: PageServer) -> list[str]:
    """Each view of the bar, what a view shows in other ways, and one client, finding and rule."""
    client = server.state.clients(1, q=f'client_id:"{server.fleet.members[0].client_id}"').items[0].key
    starts = f"history&show=starts&client_id={server.fleet.members[0].client_id}"
    of_history = ("history&range=30d", "history&show=findings&range=30d", "history&show=ended&range=30d", "history&versions=table", starts)
    more = (
        "overview&health=open&versions=table",
        "overview&mix=all",
        "clients&group=software",
        "clients&group=broker",
        "findings&group=code",
    )
    one = (f"client&key={client}", f"client&key={client}&figures=table", f"finding&id={server.fleet.findings()[0].fingerprint}")
    return [*(name for name, *_ in IN_BAR), *more, "readiness&group=software", "rule&code=AN101", *one, *of_history]


@pytest.mark.parametrize(("scheme", "width"), [("light", 1440), ("light", 1024), ("dark", 360)])
def test_every_view_fits_and_can_be_read(shared: PageServer, opens: Opens, scheme: str, width: int) -> None:
    page = opens(shared.url, color_scheme=scheme, viewport={"width": width, "height": 900})
    ground = "rgb(244, 246, 245)" if scheme == "light" else "rgb(15, 20, 22)"
    expect(page.locator("body")).to_have_css("background-color", ground)
    for number, view in enumerate(views(shared)):
        follow(page, f"?view={view}")
        expect(page.locator("main :is(h1, tr.row, .starts, .plot, .state)").first).to_be_attached()
        there_are(page, "main .loading", 0)
        opened = page.locator("td.chevron button")
        if opened.count():
            opened.first.click()
        assert page.evaluate("document.documentElement.scrollWidth") <= width, view
        assert page.evaluate(CUT) == [], view
        assert width != 360 or "history" in view or page.evaluate(OVERLAPS) == [], view
        if width == 1440 or (width == 360 and number % 4 == 0):  # axe takes a second for each
            assert serious(page) == [], (view, scheme)
    there = page.get_by_role("navigation", name="Views").get_by_role("link", name="History").bounding_box()
    assert there is not None and there["x"] + there["width"] <= width, "in sight without scrolling"
