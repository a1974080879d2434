"""Cost of the live page in a browser: 100,000 connections, 1,000 changes a second, one real Chromium with the list of clients open.

    python -m bench.page_browser [--connections 100000] [--changes 1000] [--times 40] [--minutes 10]

First how long it takes from a click, or from the last key, until the new rows are painted; then the list is left open and followed, and
what the page holds is looked at every half minute, once all that nobody needs any more was collected.  Nothing else should run meanwhile.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import socket
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import uvicorn
from playwright.sync_api import CDPSession, Page, sync_playwright

from bench.page_load import Load, aside, page_app, read
from sinks.dashboard.server import settle
from sinks.dashboard.state.state import State

CHROMIUM = "/usr/bin/chromium"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SAMPLE_S = 30.0
LIST = "?view=clients"
SORTS = ("Software", "Principal", "Address", "Connections", "Findings", "Since", "Listener", "Broker", "Client id")

# From the last event of this type until the frame in which this address shows another table of rows, or a client's page.
_PAINTED = """
([type, view, name, value]) => {
  const rows = () => document.querySelector(".list tbody:has(tr.row)");
  const before = rows();
  let begin = null;
  addEventListener(type, (event) => { begin = event.timeStamp; }, { capture: true });
  const there = () => {
    const query = new URLSearchParams(location.search);
    if (begin === null || query.get("view") !== view || (value !== null && query.get(name) !== value)) return false;
    if (view === "client") return document.querySelector(".one-client h2") !== null;
    return rows() !== null && rows() !== before;
  };
  window.painted = new Promise((resolve) => {
    const observer = new MutationObserver(() => {
      if (!there()) return;
      observer.disconnect();
      requestAnimationFrame(() => {
        const after = new MessageChannel();
        after.port1.onmessage = () => resolve(performance.now() - begin);
        after.port2.postMessage(0);
      });
    });
    observer.observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true });
  });
}
"""


_COUNT_UPDATES = """
() => {
  window.updates = 0;
  new MutationObserver(() => { window.updates += 1; }).observe(document.body, { attributeFilter: ["data-version"] });
}
"""


def main() -> int:
    """Prints a table of milliseconds, and one of what the page held; 1 where that grew by a tenth from its first third to its last."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--connections", type=int, default=100_000)
    parser.add_argument("--changes", type=int, default=1_000, help="a second")
    parser.add_argument("--times", type=int, default=40, help="for each of sort, filter, page and open")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=_serve, args=(theirs, chosen.connections, chosen.changes), daemon=True)
    server.start()
    url = f"http://127.0.0.1:{ours.recv()}/"
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=FLAGS)
            page = browser.new_page(viewport={"width": 1920, "height": 1080}, timezone_id="UTC")
            page.goto(url + LIST)
            _whole(page)
            waits = {name: list(act(page, chosen.times)) for name, act in ACTS.items()}
            samples = list(_samples(page, url + LIST, chosen.minutes))
            browser.close()
        ours.send("figures")
        applied = ours.recv()
    finally:
        server.terminate()
        server.join()
    thirds = _thirds(samples)
    if chosen.json:
        print(json.dumps({"changes_per_second": applied, "ms": waits, "samples": samples, "thirds": thirds}))
        return _grew(thirds)
    print(f"{chosen.connections:,} connections, {chosen.changes:,} changes/s wanted, {applied:,.0f} applied\n")
    print(f"{'':24}{'times':>7}{'p50':>8}{'p95':>8}{'max':>8}  ms until painted")
    for name, times in waits.items():
        p95 = statistics.quantiles(times, n=20, method="inclusive")[-1]
        print(f"{name:24}{len(times):7}{statistics.median(times):8.0f}{p95:8.0f}{max(times):8.0f}")
    print(f"\n{'after':>8}{'heap MB':>10}{'nodes':>9}{'listeners':>11}{'updates':>9}{'busy %':>8}")
    for each in samples:
        print(f"{each['s']:6.0f} s{each['heap_mb']:10.2f}{each['nodes']:9}{each['listeners']:11}{each['updates']:9}{each['busy']:8.0f}")
    for name, least in thirds.items():
        print(f"the least {name} of each third: {', '.join(f'{each:,.2f}' if name == 'heap_mb' else f'{each:,.0f}' for each in least)}")
    return _grew(thirds)


def _sort(page: Page, times: int) -> Iterator[float]:
    """Clicks on one column's head after the other; what the page still has of earlier answers is dropped before they come again."""
    for number in range(times):
        if number % len(SORTS) == 0:
            page.goto(page.url.partition("?")[0] + LIST)
            _whole(page)
        head = page.locator("th a.sort", has_text=SORTS[number % len(SORTS)]).first
        yield _timed(page, head.click, "click")


def _filter(page: Page, times: int) -> Iterator[float]:
    """Types a word, each time another; counted from the last key."""
    box = page.locator("#search")
    for number in range(times):
        word = f"-{(number * 13 + 5) % 997}-"
        _clear(page)
        box.press_sequentially(f"client_id:*{word}", delay=20)
        yield _timed(page, lambda: box.press("*"), "keydown", name="q", value=f"client_id:*{word}*")
    _clear(page)


def _clear(page: Page) -> None:
    page.locator("#search").fill("")
    while "q=" in page.url:
        page.wait_for_timeout(20)
    page.locator(".list tr.row").first.wait_for()


def _page(page: Page, times: int) -> Iterator[float]:
    """Clicks on the next page."""
    for number in range(times):
        offset = 100 * (number + 1)
        yield _timed(page, page.locator("[aria-label='Next page']").click, "click", name="offset", value=str(offset))


def _open(page: Page, times: int) -> Iterator[float]:
    """Clicks on a row, each time another."""
    for number in range(times):
        row = page.locator(".list tr.row a.to").nth(number % 30)
        yield _timed(page, row.click, "click", view="client")
        page.go_back()
        page.locator(".list tr.row").first.wait_for()


ACTS: dict[str, Callable[[Page, int], Iterator[float]]] = {"sort": _sort, "filter": _filter, "page": _page, "open a client": _open}


def _whole(page: Page) -> None:
    """Waits for rows and filters: what comes later would move what is to be clicked."""
    page.locator(".list tr.row").first.wait_for()
    page.locator(".facets h2").first.wait_for()


def _timed(page: Page, act: Callable[[], None], event: str, view: str = "clients", name: str = "", value: str | None = None) -> float:
    page.wait_for_timeout(300)
    page.evaluate(_PAINTED, [event, view, name, value])
    act()
    waited = page.evaluate("Promise.race([painted, new Promise((done) => setTimeout(done, 10000, null))])")
    if waited is None:
        print(f"no new rows within 10 s at {page.url}", file=sys.stderr)
    return 10_000.0 if waited is None else float(waited)


def _samples(page: Page, url: str, minutes: float) -> Iterator[dict[str, Any]]:
    """What the page holds, while the list is left alone and follows what changes."""
    page.goto(url)
    page.mouse.move(2, 2)
    page.locator(".list tr.row").first.wait_for()
    page.evaluate(_COUNT_UPDATES)
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    begin = time.monotonic()
    busy = before = _busy_s(session), begin
    while time.monotonic() < begin + 60 * minutes:
        page.wait_for_timeout(SAMPLE_S * 1000)
        before, busy = busy, (_busy_s(session), time.monotonic())
        for _ in range(2):
            session.send("HeapProfiler.collectGarbage")
        held = session.send("Memory.getDOMCounters")
        yield {
            "s": time.monotonic() - begin,
            "heap_mb": session.send("Runtime.getHeapUsage")["usedSize"] / 1e6,
            "nodes": held["nodes"],
            "listeners": held["jsEventListeners"],
            "updates": page.evaluate("updates"),
            "busy": 100 * (busy[0] - before[0]) / (busy[1] - before[1]),
        }


def _busy_s(session: CDPSession) -> float:
    """Seconds that the page's main thread worked."""
    metrics = {each["name"]: each["value"] for each in session.send("Performance.getMetrics")["metrics"]}
    return float(metrics["TaskDuration"])


def _thirds(samples: list[dict[str, Any]]) -> dict[str, list[float]]:
    """The least of each third: what is held in any case."""
    size = -(-len(samples) // 3)
    parts = [samples[at : at + size] for at in range(0, len(samples), size)] if samples else []
    return {name: [min(each[name] for each in part) for part in parts] for name in ("heap_mb", "nodes", "listeners")}


def _grew(thirds: dict[str, list[float]]) -> int:
    return int(any(least[-1] > 1.1 * least[0] for least in thirds.values() if least))


def _serve(pipe: Any, connections: int, changes: int) -> None:
    """Serves, and applies changes, until it is ended."""
    load = Load(connections)
    state = State(connection_limit=connections + 10_000)
    read(state, [*load.gauges(), *load.findings(), *load.opened(), *load.pushes(10_000)])
    state.live()
    settle()
    listener = socket.create_server(("127.0.0.1", 0))
    applied, begin = [0], time.monotonic()
    load.change(state, changes, applied)
    app = page_app(state)

    def send_rate() -> None:
        pipe.recv()
        pipe.send(applied[0] / (time.monotonic() - begin))

    aside(send_rate)
    pipe.send(listener.getsockname()[1])
    uvicorn.Server(uvicorn.Config(app, lifespan="off", log_config=None, access_log=False)).run(sockets=[listener])


if __name__ == "__main__":
    sys.exit(main())
