"""Five questions that operators ask, answered on the command line and in a real browser, about a played fleet of 200 clients."""

from __future__ import annotations

import json
import re
import urllib.parse
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from conftest import Installation
from forked import clientscope
from observe import page
from page_browser import Opens, lacks, press, searched, shows
from patience import until
from played_fleet import MAY_LOSE, SECRET, STORM_ADDRESS, STORM_CLOSED, PlayedFleet
from playwright.sync_api import expect

from clientscope.clock import now_ms
from clientscope.digest import DigestKey


@dataclass(frozen=True)
class Site:
    """What runs, and when the orders were restarted with other settings."""

    internal: str
    page: str
    key_file: Path
    owners_file: Path
    changed_ms: int

    def cli(self, *arguments: str, stdin: str = "", ended: int = 0) -> str:
        """What a command prints on a wide terminal."""
        done = clientscope(*arguments, stdin=stdin, COLUMNS="140")
        assert done.returncode == ended, (done.returncode, done.stdout, done.stderr)
        return done.stdout

    def past(self, what: str, **asked: Any) -> list[dict[str, Any]]:
        """What history has until now; the job makes a table with the first record for it."""
        query = urllib.parse.urlencode({**asked, "to": now_ms()})
        status, text = page(f"{self.page}/api/v1/history/{what}?{query}")
        assert status in (200, 404), what
        return list(json.loads(text)["items"]) if status == 200 else []

    def rows(self, *arguments: str) -> Any:
        """What a command that asks the page prints as JSON."""
        return json.loads(self.cli(*arguments, "--url", self.page, "-o", "json"))

    def findings(self, code: str) -> list[dict[str, Any]]:
        """The open findings of a rule."""
        found: list[dict[str, Any]] = json.loads(
            self.cli("findings", "list", "--bootstrap-servers", self.internal, f"code:{code}", "-o", "json")
        )
        return found


@pytest.fixture(scope="module")
def site(installation: Installation) -> Site:
    internal, folder = installation.internal, installation.data_dir
    fleet = PlayedFleet(internal, DigestKey.read(folder / "digest.key"))
    fleet.starts()
    made = Site(internal, installation.page_url.rstrip("/"), folder / "digest.key", folder / "owners.toml", 0)
    until(lambda: len(made.rows("clients", "application:orders")), 10)
    until(lambda: len(made.past("starts", application="orders")), 10)
    changed_ms = now_ms()
    fleet.orders_start_otherwise()
    fleet.storm()
    return replace(made, changed_ms=changed_ms)


def test_which_teams_must_upgrade_before_kafka_4(site: Site, opens: Opens) -> None:
    found = json.loads(
        site.cli(
            "readiness", "--bootstrap-servers", site.internal, "--owners", str(site.owners_file), "--target", "4.0.0",
            "--group-by", "owner", "-o", "json", ended=1,
        )
    )  # fmt: skip
    breaks = {row["owner"].split(" ")[0]: row["breaks"] for row in found if row["breaks"]}
    assert breaks == {"web": 12}

    page = opens(f"{site.page}/?view=readiness&target=4.0.0")
    press(page, "Owners", exact=True)
    first = page.locator(".list tr.row").first
    expect(first).to_contain_text("web")
    expect(first).to_contain_text(re.compile(r"breaks.*12"))
    lacks(page, '.list tr.row:has-text("payments")', "breaks")


def test_which_producers_may_lose_data(site: Site, opens: Opens) -> None:
    def at_risk() -> dict[str, int]:
        counted: dict[str, int] = {}
        for client in site.rows("clients", "risk:loss"):
            counted[client["application"]] = counted.get(client["application"], 0) + 1
        return counted

    until(at_risk, MAY_LOSE)
    assert {client["owner"] for client in site.rows("clients", "risk:loss", "application:clicks")} == {"data"}
    assert {finding["severity"] for finding in site.findings("AN101")} == {"high"}
    assert {finding["severity"] for finding in site.findings("AN116")} == {"medium"}, "milder"

    page = opens(f"{site.page}/?view=clients&group=application")
    risk = page.locator("aside.facets section", has=page.get_by_role("heading", name="risk", exact=True))
    press(risk, re.compile("^loss"))
    searched(page, "risk:loss")
    rows = page.locator(".list tr.row")
    expect(rows).to_have_count(len(MAY_LOSE))
    for application, clients in MAY_LOSE.items():
        expect(rows.filter(has_text=application)).to_contain_text(str(clients))


def test_what_changed_before_the_incident(site: Site, opens: Opens) -> None:
    def differences() -> list[dict[str, Any]]:
        return site.past("diff", application="orders", **{"from": site.changed_ms})

    until(lambda: [one["clients"] for one in differences()], [10])
    (one,) = differences()
    changes = {change["key"]: (change["before"], change["after"]) for change in one["changes"]}
    assert changes["acks"] == ("all", "1")
    assert changes["enable.idempotence"][0] == "true"
    assert "linger.ms" not in changes
    assert "acks = all" in site.cli("client", "show", "orders-3", "--url", site.page)

    page = opens(f"{site.page}/?view=clients&q=client_id:orders-3")
    page.click(".list tr.row a >> nth=0")
    changed = page.locator("section:has(#history)")
    expect(changed).to_contain_text(re.compile("acks.*all.*1", re.DOTALL))


def test_who_leaked_this_password_and_is_it_in_use(site: Site, opens: Opens) -> None:
    def said() -> str:
        return site.cli("findings", "who-has", "--digest-key-file", str(site.key_file), "--url", site.page, stdin=SECRET)

    # Two have left since they pushed, which the job may read a moment later.
    until(lambda: "Clients (4 connected)" in said())
    answer = " ".join(said().split())  # in whatever width
    assert "sasl.jaas.config" in answer
    assert "billing-0, " in answer and "connected now" in answer
    assert answer.count("last connected") == 2
    assert "Only the broker knows whether the password still works" in answer
    assert SECRET not in answer
    gone = site.rows("clients", "application:billing", "connected:no")
    assert len(gone) == 2
    assert sorted(client["client_id"] for client in gone) == ["billing-4", "billing-5"]

    digest = DigestKey.read(site.key_file).digest(SECRET).hex()
    page = opens(f"{site.page}/?view=findings&q=digest:{digest}")
    page.click(".list tr.row a >> nth=0")
    shows(page, "main", "billing-0")
    shows(page, "main", "4 clients that pushed it are connected now. Only the broker knows")
    expect(page.get_by_text("last connected").first).to_be_visible()


def test_who_overloads_broker_1_with_connections(site: Site, opens: Opens) -> None:
    (worst, *_) = site.rows("clients", "broker:1", "connected:yes,no", "--sort", "-opened_per_minute")
    assert (worst["client_id"], worst["address"], worst["software_version"]) == ("batch-job-0", STORM_ADDRESS, "2.0.2")
    assert worst["opened_per_minute"] == STORM_CLOSED / 5
    (busiest, *_) = site.rows("clients", "broker:1", "--sort", "-bytes_in_per_second")
    assert (busiest["client_id"], busiest["bytes_in_per_second"]) == ("reader-41", 41_000)

    def storms() -> list[dict[str, Any]]:
        return site.findings("AN404")

    until(lambda: len(storms()), 1)
    (storm,) = storms()
    assert storm["severity"] == "high"
    assert storm["evidence"][1:] == ["broker 1", f"address {STORM_ADDRESS}", "software kafka-python 2.0.2"]
    assert "batch-job-0" in [client["client_id"] for client in site.past("clients", q="broker:1")]

    page = opens(f"{site.page}/?view=clients&q=broker:1 connected:yes,no&sort=-opened_per_minute&columns=software,address,opened,in")
    first = page.locator(".list tr.row").first
    expect(first).to_contain_text("batch-job-0")
    expect(first).to_contain_text(STORM_ADDRESS)
    expect(first).to_contain_text("240")
    page.goto(f"{site.page}/?view=findings&q=code:AN404")
    page.click(".list tr.row a >> nth=0")
    for text in ("broker 1", STORM_ADDRESS, "kafka-python 2.0.2"):
        shows(page, "main", text)
