"""``clientscope serve`` on a real broker: signing in, one client's configuration and starts read from Kafka, a decision written to it."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from conftest import RunningBroker, running_processes
from observe import private_file, read_all, write
from page_state import found, opened, pushed
from patience import LIMIT_S, until
from record_bytes import setting

from clientscope.local.process import free_port
from clientscope.records.client_key import client_key
from clientscope.records.topics import DECISIONS
from sinks.dashboard.state.known import TopicRecord

TOKEN = "a-token-of-the-tests-only"
FINGERPRINT = f"{0x5E4E:032x}"


def records() -> list[TopicRecord]:
    now = int(time.time() * 1000)
    instances = [UUID(int=0x5E4E0 + number) for number in range(2)]
    of = {"client_id": "serve-api", "client_address": "10.5.5.5"}
    return [
        *(
            pushed(
                0,
                setting("acks", acks),
                setting("linger.ms", "5"),
                key=client_key("c", None, "10.5.5.5", instance, "", 0, 0),
                client_instance_id=instance,
                **of,
            )
            for acks, instance in zip(("all", "0"), instances, strict=True)
        ),
        opened(1, gateway="serve-api", at_ms=now, gateway_epoch=now, client_instance_id=instances[1], **of),
        found(0x5E4E, kind="leak", code="SK001", clients=[{"client_id": "serve-api", "address": "10.5.5.5"}]),
    ]


@pytest.fixture
def page(broker: RunningBroker, tmp_path: Path) -> Iterator[str]:
    for record in records():
        write(broker.internal, record.topic, (record.key, record.value))
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


def test_a_token_a_clients_page_and_a_decision(page: str, broker: RunningBroker) -> None:
    with pytest.raises(urllib.error.HTTPError, match="401"):
        ask(page + "clients")
    _, cookie = ask(page + "login", body={"token": TOKEN})
    me, _ = ask(page + "me", cookie)
    assert (me["name"], me["role"], me["external_url"]) == ("alice", "admin", "https://page.example/clients/")
    (client,) = ask(page + "clients?q=client_id:serve-api", cookie)[0]["items"]
    assert (client["findings"], client["connections"]) == ({"worst": "high", "count": 1}, 1)
    detail, _ = ask(page + f"clients/{client['key']}", cookie)
    settings = {each["key"]: (each["value"], each["source"]) for each in detail["configuration"]["settings"]}
    assert settings["acks"] == ("0", "pushed")
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
