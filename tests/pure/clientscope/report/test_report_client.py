"""``clientscope client show``: one client of a page that is served, by its key or its client.id."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from command_runs import Run
from golden import is_golden, session
from page_state import INSTANCE, NOW_MS, found, live, opened, pushed, result
from record_bytes import setting
from served_page import serving

from clientscope.catalog.value_states import ValueState
from clientscope.model.client_key import client_key
from clientscope.model.enums import Kind

HOSTILE = "a\x1b[31mb[red]c"
HOUR_MS = 3_600_000
SECRET = setting("sasl.jaas.config", None, state=ValueState.KEY_INFIX, length=90, digest=b"\xab" * 32)
KEY = client_key("c", None, "10.0.0.1", INSTANCE, "", 0, 0)
WHO = {"instance_id": INSTANCE, "software_name": "apache-kafka-java", "software_version": "2.8.1"}


@pytest.fixture(scope="module")
def page() -> Iterator[str]:
    pushes = [
        pushed(0, setting("acks", "all"), setting("linger.ms", "5"), SECRET, at_ms=NOW_MS - HOUR_MS, **WHO),
        pushed(
            1,
            setting("acks", "1"),
            setting("request.timeout.ms", "30000", default=True),
            SECRET,
            key=KEY,
            **WHO,
        ),
    ]
    state = live(
        opened(1, **WHO),
        opened(2, client_id="twice", address="10.0.0.2", software_name="go", software_version="1.0"),
        opened(3, client_id="twice", address="10.0.0.3", software_name="go", software_version="1.0"),
        opened(4, client_id=HOSTILE, address="10.0.0.4", software_name=HOSTILE, software_version="1.0"),
        opened(5, client_id="gone", address="10.0.0.5"),
        opened(6, client_id="gone", address="10.0.0.5", kind=Kind.CLOSED, connection=5, at_ms=NOW_MS - 30_000),
        *pushes,
        result(1, rules=["AN101"], instance_id=str(INSTANCE), software_name="apache-kafka-java", software_version="2.8.1"),
        found(1, message="acks=1 may lose records", use_instead="acks=all"),
    )
    values = {(push.partition, push.offset): push.value for push in pushes if push.value}
    with serving(state, values, at_ms=NOW_MS) as url:
        yield url


@pytest.fixture
def show(clientscope: Run, page: str) -> Run:
    return lambda *words: clientscope("client", "show", "--url", page, *words)


@pytest.fixture
def keys(clientscope: Run, page: str) -> Callable[[str], list[str]]:
    return lambda search: clientscope("clients", "--url", page, "-o", "name", search).printed.split()


def test_what_is_shown(show: Run, keys: Callable[[str], list[str]], clientscope: Run, page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One client by its client.id and by its key, one of several of a name, a hostile one, and one that has gone."""
    monkeypatch.setenv("COLUMNS", "120")
    (app,), (hostile,) = keys("client_id:app"), keys("address:10.0.0.4")
    said = session(show, ["app", "twice", keys("client_id:twice")[0], hostile, "gone"])
    assert "\x1b" not in said and is_golden(re.sub(r" \(\d+ \w+ ago\)", "", said), __file__, "client_show.txt")
    assert " gone " in clientscope("clients", "--url", page, "connected:no").printed.splitlines()[1]
    assert show(app).printed == show("app").printed


@pytest.mark.parametrize("given", ["nothing", "no such one", "*", "../overview", 'a"b\\', "a?b#c", "x" * 500])
def test_nobody_has_that_name(show: Run, given: str) -> None:
    error, hint = show(given).refused.splitlines()
    assert error.startswith("error: no client that is connected, or was lately, has the key or client.id")
    assert "History of the page" in hint and len(error) < 200
