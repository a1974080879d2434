"""A real browser for the page's tests; an error on its console fails a test."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from re import Pattern
from typing import Any

from patience import LIMIT_S
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Locator, Page, expect, sync_playwright

import sinks.dashboard

CHROMIUM = "/usr/bin/chromium"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SECONDS = 1_000
IN_BAR = re.findall(
    r'name: "(\w+)", title: "(\w+)", key: "(\w)"', (Path(sinks.dashboard.__file__).parent / "static" / "views.js").read_text()
)
"""Name, title and key of each view that the bar lists."""
_REPORT_VIOLATIONS = "addEventListener('securitypolicyviolation', (e) => console.error('violates', e.violatedDirective, e.blockedURI))"

Opens = Callable[..., Page]


@contextmanager
def started() -> Iterator[Browser]:
    """Debian's Chromium, headless."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=FLAGS)
        yield browser
        browser.close()


@contextmanager
def watched(browser: Browser, allowed: Callable[[ConsoleMessage], bool] = lambda message: False) -> Iterator[Opens]:
    """Opens pages; any warning or error on a console, any dialog, and any violation of the policy, fails the test.

    Args:
        allowed: messages that are meant.
    """
    complaints: list[str] = []
    contexts: list[BrowserContext] = []

    def complain(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not allowed(message):
            complaints.append(f"{message.text} {message.location.get('url')}")

    def watch(page: Page) -> None:
        page.set_default_timeout(LIMIT_S * SECONDS)
        page.on("console", complain)
        page.on("pageerror", lambda error: complaints.append(f"{error} {error.stack}"))
        page.on("dialog", lambda dialog: (complaints.append("a dialog"), dialog.dismiss()))

    def opens(address: str, init: str = "", context: BrowserContext | None = None, **options: Any) -> Page:
        if context is None:
            context = browser.new_context(**{"timezone_id": "UTC", "locale": "en-GB", "strict_selectors": True, **options})
            context.add_init_script(_REPORT_VIOLATIONS)
            contexts.append(context)
        page = context.new_page()
        watch(page)
        if init:
            page.add_init_script(init)
        page.goto(address)
        return page

    try:
        yield opens
    finally:
        for context in contexts:
            context.close()
    assert not complaints, complaints


def wrong_request(message: ConsoleMessage) -> bool:
    """Whether a message is a browser's note of a status that is expected: 400 for an invalid search, 404 for a finding that is gone."""
    url = message.location.get("url", "")
    return ("status of 400" in message.text and "q=" in url) or ("status of 404" in message.text and "/api/v1/findings/" in url)


def shows(page: Page, selector: str, text: str | Pattern[str]) -> None:
    """Waits until the one place has the text in it."""
    expect(page.locator(selector)).to_contain_text(text)


def reads(page: Page, selector: str, text: Any) -> None:
    """Waits until the text is all that the place says, or each of these."""
    expect(page.locator(selector)).to_have_text(text)


def lacks(page: Page, selector: str, text: str) -> None:
    """Waits until the one place hasn't the text in it."""
    expect(page.locator(selector)).not_to_contain_text(text)


def sees(page: Page, selector: str) -> None:
    expect(page.locator(selector)).to_be_visible()


def is_live(page: Page) -> None:
    """Waits until it says that it follows what happens."""
    reads(page, "#feed", "Live")


def offers(page: Page, button: str) -> None:
    expect(page.get_by_role("button", name=button)).to_be_visible()


def leads_to(page: Page, address: str) -> None:
    """Waits until its address has this pattern in it."""
    expect(page).to_have_url(re.compile(address))


def the_table(page: Page, name: str, **how: Any) -> Locator:
    return page.get_by_role("table", name=name, **how)


def there_are(page: Page, selector: str, number: int) -> None:
    expect(page.locator(selector)).to_have_count(number)


def is_there(page: Page) -> None:
    """Whatever the view, its content is shown."""
    expect(page.locator("main :is(tr.row, .plot, h1)").first).to_be_attached()
    there_are(page, "main .loading", 0)


def press(page: Any, name: str | Pattern[str], role: str = "link", **how: Any) -> None:
    """Clicks the one link or button of that name."""
    page.get_by_role(role, name=name, **how).click()


def types(page: Page, *keys: str) -> None:
    """Presses these keys, one after the other."""
    for each in keys:
        page.keyboard.press(each)


def searched(page: Page, text: str | Pattern[str]) -> None:
    """Waits until this is what is searched for."""
    expect(page.locator("#search")).to_have_value(text)


def follow(page: Page, address: str) -> None:
    """As a click on a link of the page does: nothing is loaded again."""
    page.evaluate(
        "to => { const link = document.createElement('a'); link.href = to; document.body.append(link); link.click(); link.remove(); }",
        address,
    )


def serious(page: Page) -> list[str]:
    """What axe finds that is serious or worse."""
    if not page.evaluate("'axe' in globalThis"):
        script = resources.files("axe_playwright_python").joinpath("axe.min.js").read_text()
        session = page.context.new_cdp_session(page)
        session.send("Runtime.evaluate", {"expression": script})  # which no policy of the page concerns
        session.detach()
    found = page.evaluate("async () => JSON.stringify((await axe.run(document, { resultTypes: ['violations'] })).violations)")
    return [
        f"{each['id']}: {[node['target'] for node in each['nodes'][:3]]}"
        for each in json.loads(found)
        if each["impact"] in ("serious", "critical")
    ]
