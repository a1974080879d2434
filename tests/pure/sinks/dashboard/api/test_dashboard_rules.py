"""The page's documentation of rules."""

from __future__ import annotations

import re

import pytest
from fastapi.testclient import TestClient
from page_state import NOW_MS, live

from sinks.dashboard.api.app import create_app
from sinks.dashboard.api.routes_rules import page
from sinks.dashboard.http import assets
from udfs.rules.engine.rule import Rule
from udfs.rules.registry import EVERY_RULE


@pytest.mark.parametrize("rule", EVERY_RULE, ids=lambda rule: rule.code)
def test_every_rule_has_a_page_with_nothing_left_to_fill_in(rule: Rule) -> None:
    made = page(rule)
    assert made.links and all(link.startswith("https://") for link in made.links)
    for text in (made.fired, made.not_evaluable):
        assert not re.search(r"\{\w*\}", text), text
    for text in (made.what, made.why, made.example, made.use_instead):
        assert text
        assert text.count("``") % 2 == 0, text
        assert not re.search(r"[^\n]\n[^\n]", text), "no line breaks of the source code"


def test_one_is_asked_for_by_its_code() -> None:
    app = create_app(live(), assets.load(), lambda: NOW_MS, loopback_only=True)
    client = TestClient(app, base_url="http://localhost")
    found = client.get("/api/v1/rules/AN110").json()
    assert (found["name"], found["severity"]) == ("batch_size_small", "high")
    assert re.search(r"set batch.size=\d+ or more", found["fired"])
    assert client.get("/api/v1/rules/AN999").status_code == 404
    assert client.get("/api/v1/rules/<script>").status_code == 422
