"""The page's documentation of rules."""

from __future__ import annotations

import re

from every import every
from page_state import browser, live

from sinks.dashboard.api.routes import page
from udfs.rules.registry import EVERY_RULE


def test_every_rule_has_a_page_with_nothing_left_to_fill_in() -> None:
    for made in map(page, EVERY_RULE):
        assert made.links and all(link.startswith("https://") for link in every(made.links)), made.code
        for text in (made.fired, made.not_evaluable):
            assert not re.search(r"\{\w*\}", text), text
        for text in (made.what, made.why, made.example, made.use_instead):
            assert text, made.code
            assert text.count("``") % 2 == 0, text
            assert not re.search(r"[^\n]\n[^\n]", text), "no line breaks of the source code"


def test_one_is_asked_for_by_its_code() -> None:
    client = browser(live())
    found = client.get("/api/v1/rules/AN110").json()
    assert (found["name"], found["severity"]) == ("batch_size_small", "high")
    assert re.search(r"set batch.size=\d+ or more", found["fired"])
    assert client.get("/api/v1/rules/AN999").status_code == 404
    assert client.get("/api/v1/rules/<script>").status_code == 422
