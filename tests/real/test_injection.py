"""F36: strings that clients chose to do harm stay data: on pages, in metrics, queries, logs, JSON and CSV."""

from __future__ import annotations

import json
import re
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from conftest import RunningBroker
from dashboards import DASHBOARDS, dashboard, queries_as_written
from every import every
from observe import listed
from observe import page as page_of
from page_browser import Opens, follow, is_there, reads, searched, shows, there_are
from page_browser import wrong_request as is_allowed  # noqa: F401  read by the fixture of pages
from page_fleet import Fleet
from page_server import PageServer, serving
from patience import LIMIT_S, until
from playwright.sync_api import expect
from prometheus_client.parser import text_string_to_metric_families
from real_prometheus import prometheus

from clientscope.clock import now_ms
from clientscope.model.fields import clean
from clientscope.wire.messages import ApiVersionsRequest

LONG = "64K" + "x" * 65_533
HARMFUL = "javascript:alert(1)"
INJECTIONS = (
    "<img src=x onerror=alert(1)>",
    "<script>alert(1)</script>",
    "\"'><svg onload=alert(1)>",
    HARMFUL,
    "{{constructor.constructor('alert(1)')()}}",
    '"} or vector(1) or x{y="',
    'x"} 1\n# HELP owned x\n# TYPE owned counter\nowned 1\n',
    "a\\",
    "one\r\nSet-Cookie: owned=1\r\n\r\n<b>",
    "\x1b[31m\x1b]0;owned\x07red",
    "=cmd|'/C calc'!A0",
    "@SUM(1+1)*cmd|' /C calc'!A0",
    "\u202egnp.exe\u200b\u2066\ufeff",
    "${jndi:ldap://127.0.0.1/x}",
    "'; DROP TABLE clients; --",
    "nul\0byte",
    LONG,
)
DANGEROUS = "main script, main img, main iframe, main object, main svg[onload], [onerror], [onload], [onclick], a[href^='javascript' i]"


@pytest.fixture(scope="module")
def hostile() -> Iterator[PageServer]:
    """A page whose clients, findings, processes and brokers are all called so."""
    fleet = Fleet(now_ms(), clients=5)
    with serving(fleet) as server:
        for number, text in enumerate(INJECTIONS):
            server.apply(fleet.hostile(text, number))
        yield server


def test_f36_the_pages_dom_stays_inert_under_its_strict_policy(hostile: PageServer, opens: Opens) -> None:
    with urllib.request.urlopen(hostile.url, timeout=LIMIT_S) as response:
        policy = response.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "require-trusted-types-for 'script'" in policy and "unsafe" not in policy
    page = opens(f"{hostile.url}?view=clients")
    scripts = page.evaluate("document.scripts.length")

    def inert(view: str) -> None:
        assert page.locator(DANGEROUS).count() == 0, view
        assert page.evaluate("document.scripts.length") == scripts, view
        assert not re.search("[\\x00-\\x08\\x1b\\u202e\\u200b\\u2066\\ufeff]", page.locator("main").inner_text()), view

    shown = [re.sub(r"\s+", " ", clean(text)).strip() for text in INJECTIONS]
    there_are(page, ".list tr.row", 5 + len(INJECTIONS))
    listed = re.sub(r"\s+", " ", page.locator(".list").inner_text())
    assert [text for text in shown if text not in listed] == []
    inert("clients")
    # The search box gets each as a query, and each client its own page, with all that it pushed.
    hrefs = [
        page.locator(".list tr.row a.to").nth(number).get_attribute("href")
        for number in range(5 + len(INJECTIONS))
        if not re.fullmatch(r"[a-z-]+-\d+", page.locator(".list tr.row a.to").nth(number).inner_text())
    ]
    assert len(hrefs) == len(INJECTIONS)
    for href in hrefs:
        assert href is not None
        follow(page, href)
        expect(page.locator("h1")).not_to_have_text("Clients")
        there_are(page, "main .loading", 0)
        inert(href)
    for view in ("?health=open&mix=all", "?view=brokers", "?view=findings"):
        follow(page, view)
        is_there(page)
        shows(page, "main", HARMFUL)
        inert(view)
    page.locator(".list tr.row a.to", has_text=HARMFUL).click()
    reads(page, "h1", HARMFUL)
    inert("finding")
    for by in ("application", "principal", "software", "address"):
        follow(page, f"?view=clients&group={by}")
        is_there(page)
        inert(by)
        page.locator(".list tr.row a", has_text=HARMFUL).click()
        there_are(page, ".list tr.row", 1)  # its own term of the query finds it, and nothing else
    page.goto(f"{hostile.url}?view=clients&q={HARMFUL}&sort={HARMFUL}&offset={HARMFUL}")
    searched(page, HARMFUL)


def test_f36_the_exposition_parses_and_a_real_prometheus_asks_for_each_by_an_escaped_name(hostile: PageServer, tmp_path: Path) -> None:
    shown = {clean(text) for text in INJECTIONS}
    families = list(text_string_to_metric_families(page_of(f"{hostile.url}metrics")[1]))
    assert {family.name.split("_")[0] for family in families} <= {"clientscope", "python", "process"}, "nobody adds a metric"
    (connections,) = (family for family in families if family.name == "clientscope_client_connections")
    exposed = {sample.labels["client_software_name"] for sample in connections.samples}
    assert exposed >= shown - {clean(LONG)}, "a gateway cuts that, and a gauge that none wrote is left out"
    assert all(len(name) <= 256 for name in every(exposed))
    with prometheus({"clientscope-serve": hostile.url.split("/")[2]}, tmp_path) as answer:
        until(lambda: len(answer("clientscope_client_connections")) >= len(shown) - 1)
        for name in shown - {clean(LONG)}:
            (found,) = answer(f"clientscope_client_connections{{client_software_name={json.dumps(name)}}}")
            assert found["metric"]["client_software_name"] == name


def test_f36_no_query_is_built_from_what_clients_chose() -> None:
    """Grafana's variables are all that is put into a query: each stands alone in a matcher, where Grafana escapes it."""
    variables = {each["name"] for path in DASHBOARDS for each in dashboard(path).get("templating", {}).get("list", ())}
    assert variables & {"software", "client", "principal"} == set()
    used = [(query, found) for query in queries_as_written() for found in re.finditer(r"\$\w+", query)]
    assert len(used) > 20
    for query, found in used:
        assert re.search(r'=~"$', query[: found.start()]) and query[found.end()] == '"', query


def test_f36_the_gateway_logs_a_line_each_and_answers_json(broker: RunningBroker, tmp_path: Path) -> None:
    log = tmp_path / "requests.log"
    flags = ("--request-log", str(log), "--policy-deadline-ms", "10000")
    texts = [*INJECTIONS[:-1], LONG[:32_000]]  # as long as a client id can be in a request
    with broker.gateway(tmp_path, *flags) as gateway, ExitStack() as stack:
        for text in texts:
            client = stack.enter_context(gateway.named(text, "injecting"))
            pushed = [(text[:3_000], text[:3_000], 1, False), ("acks", text[:3_000], 1, False)]
            assert client.push_config(pushed).error_code in (0, 40)
        named = stack.enter_context(gateway.connect("named"))
        for text in INJECTIONS[:-1]:  # the broker takes none of these as a software's name
            named.send(ApiVersionsRequest(version=4, client_software_name=text, client_software_version="1.0"))
            assert named.receive_frame()[4:6] == (42).to_bytes(2, "big")
        named.api_versions(LONG[:30_000], "1.0")  # of letters alone, so this it takes
        names = [LONG[:256], *("injecting" for _ in texts)]
        until(lambda: sorted(each["ClientName"] for each in listed(gateway)), names)
        assert {each["ClientId"] for each in listed(gateway)} >= {text[:256] for text in texts}
        families = text_string_to_metric_families(page_of(gateway.metrics_url)[1])
        assert {family.name.split("_")[0] for family in families} <= {"clientscope", "python", "process"}
    lines = log.read_bytes().splitlines()
    assert all(re.fullmatch(rb"[\x20-\x7e]+", line) for line in every(lines)), "ASCII, and no control character"
    assert {json.loads(line)["requestHeader"]["clientId"] for line in lines} >= {text[:256] for text in texts}
    assert len(lines) >= 2 * len(texts)
    said = (tmp_path / "gateway.log").read_text().splitlines()
    assert said and all(
        re.match(r"clientscope gateway: |\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} [A-Z]+ clientscope", line) for line in every(said)
    ), said
