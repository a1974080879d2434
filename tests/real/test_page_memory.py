"""A page that stays open for days: removed rows and closed views leave nothing in the browser's memory."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

import pytest
from page_browser import SECONDS, started, there_are, watched
from page_fleet import Fleet
from page_server import serving
from playwright.sync_api import CDPSession, expect

from clientscope.clock import now_ms

ROUNDS = 8


@pytest.mark.long
def test_rows_that_come_and_go_leave_nothing_behind() -> None:
    with serving(Fleet(now_ms(), clients=95)) as server, started() as browser, watched(browser) as opens:
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
