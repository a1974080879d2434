"""``clientscope serve`` on a real broker: signing in, one client's configuration and starts read from Kafka, a decision written to it."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from conftest import RunningBroker, RunningGateway, running_processes
from made_findings import fingerprint, leak
from observe import private_file, push_one, read_all, write
from patience import LIMIT_S, until

from clientscope.local.process import free_port
from clientscope.model.codec import encode_whole
from clientscope.model.topics import DECISIONS, FINDINGS

TOKEN = "a-token-of-the-tests-only"
FINGERPRINT = fingerprint(0x5E4E)


@pytest.fixture
def page(broker: RunningBroker, tmp_path: Path) -> Iterator[str]:
    finding = leak(0x5E4E, clients=[{"client_id": "serve-api", "address": "127.0.0.1"}])
    write(broker.internal, FINDINGS, (FINGERPRINT.encode(), encode_whole(finding)))
    tokens = private_file(tmp_path / "tokens", f"alice {TOKEN}\n")
    address = f"127.0.0.1:{free_port()}"
    with running_processes(tmp_path) as processes:
        processes.start(
            "serve", "serve", "--bootstrap-servers", broker.internal, "--listen", address, "--admin-token-file", str(tokens),
            "--external-url", "https://page.example/clients/",
        )  # fmt: skip
        processes.await_ready("serve")
        yield f"http://{address}/api/v1/"


def ask(url: str, cookie: str = "", body: Any = None) -> tuple[Any, str]:
    """The answer's JSON, and the cookie that it sets."""
    headers = {"cookie": cookie, "content-type": "application/json", "sec-fetch-site": "same-origin"}
    request = urllib.request.Request(url, None if body is None else json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=LIMIT_S) as answer:
        text = answer.read()
        return json.loads(text) if text else None, (answer.headers["set-cookie"] or "").partition(";")[0]


def test_a_token_a_clients_page_and_a_decision(page: str, broker: RunningBroker, gateway: RunningGateway) -> None:
    with gateway.named("serve-api", instance=uuid4()) as before:
        assert push_one(before, "all") == 0
    with gateway.named("serve-api", instance=uuid4()) as client:
        assert push_one(client, "0") == 0
        is_shown_and_decided(page, broker)


def is_shown_and_decided(page: str, broker: RunningBroker) -> None:
    with pytest.raises(urllib.error.HTTPError, match="401"):
        ask(page + "clients")
    _, cookie = ask(page + "login", body={"token": TOKEN})
    me, _ = ask(page + "me", cookie)
    assert (me["name"], me["role"], me["external_url"]) == ("alice", "admin", "https://page.example/clients/")
    (client,) = until(lambda: ask(page + "clients?q=client_id:serve-api", cookie)[0]["items"])
    assert (client["findings"], client["connections"]) == ({"worst": "critical", "count": 1}, 1)
    until(lambda: len(ask(page + f"clients/{client['key']}", cookie)[0]["starts"]), 2)
    detail, _ = ask(page + f"clients/{client['key']}", cookie)
    settings = {each["key"]: (each["value"], each["origin"]) for each in detail["configuration"]["settings"]}
    assert settings["acks"] == ("0", "set")
    assert [each["this"] for each in detail["starts"]] == [True, False]
    assert detail["starts"][0]["changes"] == [{"key": "acks", "before": "all", "after": "0"}]
    assert [each["fingerprint"] for each in detail["findings"]] == [FINGERPRINT]
    closing_it = {"resolution": "rotated", "why": "a new one since today"}
    taken, _ = ask(page + f"findings/{FINGERPRINT}/close", cookie, closing_it)
    assert (taken["by"], taken["resolution"]) == ("alice", "rotated")

    def written() -> list[Any]:
        return [json.loads(each.value) for each in read_all(broker.internal, DECISIONS) if each.key == FINGERPRINT.encode()]

    until(written)
    assert (written()[-1]["by"], written()[-1]["why"]) == ("alice", closing_it["why"])
