"""Apprise in its own process: what it may connect to, what it says, and that it ends."""

from __future__ import annotations

import html
import json
import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from alert_receivers import LOOPBACK, hang, message, receiver, serving, status
from made_findings import leak, made

from clientscope.errors import SettingsError
from clientscope.findings.record import Application
from sinks.alerts import apprise_process
from sinks.alerts.kinds import apprise
from sinks.alerts.kinds.apprise import AppriseSender, require_known
from sinks.alerts.message import MOST_BODY, Texts

EVIL = "<!channel> & @everyone [x](https://evil.example)\r\nBcc: evil@example.com"


def sender_to(url: str, **fields: Any) -> AppriseSender:
    return AppriseSender(receiver("chat", kind="apprise", urls=(url,), **fields), Texts())


def test_a_message_is_delivered_and_a_redirect_is_not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving() as inside, serving(status(204), status(302, Location=inside.url)) as server, serving() as proxy:
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.port}")
        sender = sender_to(f"json://127.0.0.1:{server.port}/x?redirect=yes", allow_networks=LOOPBACK)
        assert sender(message(made(message=EVIL))).outcome == "ok"
        sent = json.loads(server.got[0].body)
        assert sent["title"] == "OPEN, high: AN101 acks_zero"
        assert sent["type"] == "failure"
        assert "‹!channel› ＆ ＠everyone ［x］(https:∕∕evil.example)��Bcc: evil＠example.com\n" in sent["message"]
        result = sender(message())
        assert (result.outcome, result.reason) == ("failed", "HTTP 302")
        assert (inside.got, proxy.got, len(server.got)) == ([], [], 2)


@pytest.mark.parametrize("host", ["localhost", "0x7f000001"])
def test_what_a_name_is_resolved_to_is_looked_at_at_the_connect_itself(host: str) -> None:
    with serving() as server:
        result = sender_to(f"json://{host}:{server.port}/canary-token")(message())
        assert result.outcome == "failed"
        assert result.reason.startswith("refused: 127.0.0.1 is loopback or private")
        assert server.got == []


def test_what_it_answers_has_no_secret_and_it_ends_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apprise, "START_S", 2.0)
    with serving(status(401), always=hang) as server:
        sender = sender_to(f"json://user:canary-9@127.0.0.1:{server.port}/canary-10", allow_networks=LOOPBACK, timeout_s=0.5)
        results = [sender(message()), sender(message())]
    assert results[0].reason == "HTTP 401"
    assert results[1].outcome == "failed"
    assert "canary" not in str(results)


def test_an_address_that_apprise_does_not_know_is_said_at_the_start() -> None:
    with pytest.raises(SettingsError, match="receiver chat: it is no address that Apprise knows"):
        require_known(receiver("chat", kind="apprise", urls=("nosuchservice://canary/",)))


@contextmanager
def mail_server() -> Iterator[tuple[int, list[bytes]]]:
    """A server that takes one mail."""
    said: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection, connection.makefile("rwb") as stream:
                stream.write(b"220 hello\r\n")
                stream.flush()
                for line in stream:
                    said.append(line)
                    answer = b"354 go on\r\n" if line.upper().startswith(b"DATA") else b"250 ok\r\n"
                    if line.upper().startswith(b"DATA"):
                        stream.write(answer)
                        stream.flush()
                        while (text := stream.readline()) not in (b".\r\n", b""):
                            said.append(text)
                        answer = b"250 ok\r\n"
                    stream.write(b"221 bye\r\n" if line.upper().startswith(b"QUIT") else answer)
                    stream.flush()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listener.getsockname()[1], said
        thread.join(10)


def test_mail_has_no_header_by_a_client() -> None:
    with mail_server() as (port, said):
        url = f"mailto://127.0.0.1:{port}?smtp=127.0.0.1&from=clientscope@example.com&to=oncall@example.com"
        evil = made(name=EVIL, message=EVIL, application=Application(client_id=EVIL, principal=EVIL))
        assert sender_to(url, allow_networks=LOOPBACK)(message(evil)).outcome == "ok"
    header = b"".join(said[: said.index(b"\r\n")])
    assert b"Subject: " in header
    assert not re.search(rb"(?mi)^bcc:", b"".join(said))
    # Python 3.13's smtplib writes "rcpt to", earlier ones "rcpt TO".
    assert [line.lower() for line in said if line.upper().startswith(b"RCPT")] == [b"rcpt to:<oncall@example.com>\r\n"]


@pytest.mark.parametrize("blocks", ["yes", "no"])
def test_slack_texts_are_escaped_once_and_at_most_three_thousand_characters(blocks: str) -> None:
    findings = [
        leak(number, message="&<" * 500, evidence=[EVIL], application=Application(client_id=EVIL + str(number))) for number in range(9)
    ]
    texts = Texts("https://clientscope.example.com/?a=1&b=2")
    request = {
        "url": f"slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ/#general?blocks={blocks}", "timeout_s": 1, "allow_networks": [],
        "message": {
            "title": texts.title(message(*findings)), "body": texts.body(message(*findings)), "status": "firing", "severity": "high",
        },
    }  # fmt: skip
    # In a process of its own too, since Apprise is: what it would post is printed instead.
    code = (
        "import json, requests, sys; from sinks.alerts import apprise_process\n"
        "def send(session, request, **more):\n"
        "    body = request.body if isinstance(request.body, str) else request.body.decode()\n"
        "    print(json.dumps([request.url, body, more['allow_redirects']]))\n"
        "    answer = requests.Response(); answer.status_code, answer._content = 200, b'ok'; return answer\n"
        "requests.Session.send = send\n"
        "print(json.dumps(apprise_process.notify(json.load(sys.stdin), lambda: '')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=json.dumps(request), capture_output=True, text=True, check=True, env=os.environ
    )
    posted, answer = (json.loads(line) for line in done.stdout.splitlines())
    assert answer["ok"]
    url, payload, redirects = posted
    assert url.startswith("https://hooks.slack.com/") and redirects is False
    attachment = json.loads(payload)["attachments"][0]
    sent = [attachment["text"]] if blocks == "no" else [block["text"]["text"] for block in attachment["blocks"] if "text" in block]
    assert all(len(text) <= MOST_BODY for text in sent)
    assert html.escape(texts.body(message(*findings)), quote=False) in sent, "escaped, and once"
    assert not any(mark in text for text in sent for mark in ("<!", "<@", "<http", "@everyone"))


def test_the_guard_refuses_what_is_no_address_of_a_network() -> None:
    guard = apprise_process.Guard([])
    with socket.socket(socket.AF_UNIX) as local, socket.socket() as inet:
        for event, arguments in [
            ("socket.connect", (local, "/run/docker.sock")),
            ("socket.connect", (inet, ("localhost", 80))),
            ("socket.sendto", (inet, ("169.254.169.254", 53))),
            ("subprocess.Popen", ("sh", [], None, None)),
        ]:
            with pytest.raises(PermissionError):
                guard(event, arguments)
        guard("socket.connect", (inet, ("93.184.216.34", 443)))
        guard("open", ("/etc/hosts", "r", 0))
    assert guard.refused == "it is no address of a network"
