"""Apprise in the receiver's thread: what it may connect to, what it sends, and that nothing of its secrets is said."""

from __future__ import annotations

import base64
import html
import json
import logging
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import requests
from alert_receivers import SECRET, command, hang, message, receiver, serving, status
from every import every
from listeners import taking
from made_findings import leak, made
from refusals import refused

from clientscope.model.client import Application
from sinks.alerts import apprise
from sinks.alerts.message import MOST_BODY, Message, Texts
from sinks.alerts.sending import AllowedHosts, SendResult

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:apprise", "ignore::DeprecationWarning:slixmpp")

EVIL = "<!channel> & @everyone [x](https://evil.example)\r\nBcc: evil@example.com"


@pytest.fixture(autouse=True)
def isolated(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As in deliver's process, and taken back."""
    logger, root = logging.getLogger("apprise"), logging.getLogger()
    before = logger.handlers, logger.propagate, [list(handler.filters) for handler in root.handlers]
    monkeypatch.setenv("NETRC", "")
    apprise.isolate()
    yield
    logger.handlers, logger.propagate = before[0], before[1]
    for handler, filters in zip(root.handlers, before[2], strict=False):
        handler.filters = filters


def sent_to(url: str, sent: Message | None = None, **fields: Any) -> SendResult:
    return apprise.send(receiver("chat", kind="apprise", urls=(url,), **fields), sent or message(), Texts())


def test_a_message_is_delivered_and_a_redirect_is_not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving() as inside, serving(status(204), status(302, Location=inside.url)) as server, serving() as proxy:
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.port}")
        apprise.isolate()
        url = f"json://127.0.0.1:{server.port}/x?redirect=yes"
        assert sent_to(url, message(made(message=EVIL))).ok
        sent = json.loads(server.got[0].body)
        assert sent["title"] == "OPEN, high: AN101 acks_zero"
        assert "‹!channel› ＆ ＠everyone ［x］(https:∕∕evil.example)��Bcc: evil＠example.com\n" in sent["message"]
        assert sent_to(url).reason == "HTTP 302"
        assert (inside.got, proxy.got, len(server.got)) == ([], [], 2)


@pytest.mark.parametrize(
    ("severity", "kind"), [("info", "info"), ("low", "info"), ("medium", "warning"), ("high", "failure"), ("critical", "failure")]
)
def test_a_message_is_of_a_kind_by_its_severity_and_a_success_once_it_is_over(severity: str, kind: str) -> None:
    with serving() as server:
        for status in ("firing", "ended"):
            assert sent_to(f"json://127.0.0.1:{server.port}/x", message(made(severity=severity), status=status)).ok
    assert [json.loads(got.body)["type"] for got in server.got] == [kind, "success"]


@pytest.mark.parametrize("host", ["localhost", "0x7f000001"])
def test_f33_what_a_name_is_resolved_to_is_checked_at_the_connect_itself(host: str) -> None:
    with serving() as server:
        result = sent_to(f"json://{host}:{server.port}/canary-token", allowed_hosts=AllowedHosts.of(("10.0.0.0/8", "example.com")))
        assert result.reason in ("refused: 127.0.0.1 is not in allowed_hosts", "refused: ::1 is not in allowed_hosts")
        assert server.got == []


def test_nothing_that_it_answers_or_logs_has_a_secret_and_it_ends_in_time(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.handler.addFilter(lambda record: record.name.partition(".")[0] in ("clientscope", "sinks", "kafka"))
    with serving(status(401), always=hang) as server, caplog.at_level(logging.DEBUG):
        url = f"json://user:canary-9@127.0.0.1:{server.port}/canary-10"
        results = [sent_to(url, timeout_s=0.5), sent_to(url, timeout_s=0.5), sent_to("json://canary-11.invalid/canary-12")]
    assert [result.reason for result in results] == ["HTTP 401", "not delivered", "not delivered"]
    assert "canary" not in str(results) + caplog.text + "".join(capfd.readouterr())


def test_a_test_of_each_kind_is_marked_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "receivers.toml"
    with serving() as server:
        monkeypatch.setenv("CHAT", f"json://127.0.0.1:{server.port}/chat")
        monkeypatch.setenv("HOOK", "whsec_" + base64.b64encode(SECRET).decode())
        file.write_text(
            f'[[receiver]]\nname = "am"\nkind = "alertmanager"\nurls = ["{server.url}"]\n'
            f'[[receiver]]\nname = "hook"\nkind = "webhook"\nurl = "{server.url}"\nsecrets = ["env:HOOK"]\n'
            '[[receiver]]\nname = "chat"\nkind = "apprise"\nurl = "env:CHAT"\n'
        )
        assert command("deliver", "--test", "--receivers", str(file)) == 0
    assert capsys.readouterr().out == "am: ok\nhook: ok\nchat: ok\n"
    (alert,), hook, chat = (json.loads(got.body) for got in server.got)
    starts, ends = (datetime.fromisoformat(alert.pop(key)) for key in ("startsAt", "endsAt"))
    assert ends - starts == timedelta(minutes=1)
    assert alert == {
        "labels": {"alertname": "clientscope_test", "severity": "info", "source": "clientscope"},
        "annotations": {"summary": "A test by clientscope deliver --test; nothing is wrong."},
    }
    assert (hook["type"], hook["data"], hook["timestamp"][-1]) == ("clientscope.test", {"text": "nothing is wrong"}, "Z")
    assert (chat["title"], chat["type"]) == ("clientscope: a test", "info")
    assert chat["message"] == "A test by clientscope deliver --test; nothing is wrong."


def test_an_exception_of_a_library_is_named_by_its_class(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise RuntimeError("canary-13")

    monkeypatch.setattr("apprise.Apprise.notify", fails)
    assert sent_to("json://127.0.0.1/canary").reason == "Apprise failed with RuntimeError"


def test_an_address_that_apprise_does_not_know_is_said_at_the_start() -> None:
    with refused("receiver chat: it is no address that Apprise knows"):
        apprise.require_known(receiver("chat", kind="apprise", urls=("nosuchservice://canary/",)))


@contextmanager
def mail_server() -> Iterator[tuple[str, list[bytes]]]:
    """A server that takes one mail."""
    said: list[bytes] = []

    def take(connection: socket.socket) -> None:
        connection.sendall(b"220 hello\r\n")
        in_text = False
        for line in connection.makefile("rb"):
            said.append(line)
            if in_text and line != b".\r\n":
                continue
            in_text = line.upper().startswith(b"DATA")
            connection.sendall(b"354 go on\r\n" if in_text else b"250 ok\r\n")

    with taking(take) as address:
        yield address, said


def test_mail_has_no_header_by_a_client() -> None:
    with mail_server() as (address, said):
        url = f"mailto://{address}?smtp=127.0.0.1&from=clientscope@example.com&to=oncall@example.com"
        evil = made(name=EVIL, message=EVIL, application=Application(client_id=EVIL, principal=EVIL))
        assert sent_to(url, message(evil)).ok
    header = b"".join(said[: said.index(b"\r\n")])
    assert b"Subject: " in header
    assert not re.search(rb"(?mi)^bcc:", b"".join(said))
    # Python 3.13's smtplib writes "rcpt to", earlier ones "rcpt TO".
    assert [line.lower() for line in said if line.upper().startswith(b"RCPT")] == [b"rcpt to:<oncall@example.com>\r\n"]


@pytest.mark.parametrize("blocks", ["yes", "no"])
def test_slack_texts_are_escaped_once_and_at_most_three_thousand_characters(blocks: str, monkeypatch: pytest.MonkeyPatch) -> None:
    findings = [
        leak(number, message="&<" * 500, evidence=[EVIL], application=Application(client_id=EVIL + str(number))) for number in range(9)
    ]
    posted: list[tuple[str, Any, bool]] = []

    def post(session: requests.Session, request: requests.PreparedRequest, **more: Any) -> requests.Response:
        posted.append((str(request.url), json.loads(request.body or ""), more["allow_redirects"]))
        answer = requests.Response()
        answer.status_code, answer._content = 200, b"ok"
        return answer

    monkeypatch.setattr(requests.Session, "send", post)
    texts = Texts("https://clientscope.example.com/?a=1&b=2")
    slack = receiver("chat", kind="apprise", urls=(f"slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ/#general?blocks={blocks}",))
    assert apprise.send(slack, message(*findings), texts).ok
    ((url, payload, redirects),) = posted
    assert url.startswith("https://hooks.slack.com/") and redirects is False
    attachment = payload["attachments"][0]
    sent = [attachment["text"]] if blocks == "no" else [block["text"]["text"] for block in attachment["blocks"] if "text" in block]
    assert all(len(text) <= MOST_BODY for text in every(sent))
    assert html.escape(texts.body(message(*findings)), quote=False) in sent, "escaped, and once"
    assert not any(mark in text for text in every(sent) for mark in ("<!", "<@", "<http", "@everyone"))
