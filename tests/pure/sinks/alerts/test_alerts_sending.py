"""F30: attacks of a receiver on deliver, over real sockets; and Standard Webhooks, checked by its own library."""

from __future__ import annotations

import base64
import json
import socket
from datetime import UTC, datetime

import pytest
import standardwebhooks
from alert_receivers import LOOPBACK, SECRET, cut, drip, hang, message, receiver, serving, status
from made_findings import leak, made

from clientscope.findings.record import Application
from sinks.alerts import signing
from sinks.alerts.kinds.webhook import MOST_BYTES, Webhook, payload
from sinks.alerts.message import Texts
from sinks.alerts.sending import Route, post

OLD_SECRET = b"fedcba9876543210fedcba9876543210"


@pytest.mark.parametrize(
    ("code", "headers", "outcome", "retry_after_s"),
    [
        (200, {}, "ok", None),
        (204, {}, "ok", None),
        (302, {"Location": "http://127.0.0.1/"}, "failed", None),
        (400, {}, "failed", None),
        (410, {}, "gone", None),
        (429, {"Retry_After": "7"}, "failed", 7.0),
        (429, {"Retry_After": "soon"}, "failed", None),
        (503, {"Retry_After": "Wed, 21 Oct 2015 07:28:00 GMT"}, "failed", 0.0),
        (500, {"Retry_After": "7"}, "failed", None),
    ],
)
def test_f30_answers(code: int, headers: dict[str, str], outcome: str, retry_after_s: float | None) -> None:
    with serving(status(code, **headers)) as server:
        result = post(server.url, b"{}", {}, Route(LOOPBACK))
        assert (result.outcome, result.retry_after_s) == (outcome, retry_after_s)


@pytest.mark.parametrize("answer", [hang, drip, cut])
def test_f30_who_answers_slowly_or_never_is_left_in_time(answer: object) -> None:
    with serving(answer) as server:  # type: ignore[arg-type]
        result = post(server.url, b"{}", {"Authorization": "canary-7"}, Route(LOOPBACK, timeout_s=0.6))
        assert result.outcome == "failed"
        assert result.reason == ("the connection failed" if answer is cut else "no answer in time"), (
            "a drip ends by itself, with another reason"
        )


def test_who_never_accepts_or_does_not_speak_tls() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        assert post(f"http://127.0.0.1:{port}/", b"{}", {}, Route(LOOPBACK, timeout_s=1)).reason == "connection refused"
    with serving() as server:
        assert post(f"https://127.0.0.1:{server.port}/", b"{}", {}, Route(LOOPBACK, timeout_s=1)).reason == "TLS failed"


def test_a_name_without_an_address() -> None:
    def unknown(host: str, port: int) -> list[str]:
        raise socket.gaierror(-2, "Name or service not known")

    assert post("https://nowhere.example/", b"{}", {}, Route(resolve=unknown)).reason == "its name can't be resolved"


@pytest.mark.parametrize("secrets", [(SECRET,), (SECRET, OLD_SECRET), (OLD_SECRET, SECRET)])
def test_a_message_is_signed_by_standard_webhooks(secrets: tuple[bytes, ...]) -> None:
    with serving() as server:
        hook = receiver(urls=(server.url,), secrets=secrets, headers=(("Authorization", "Bearer x"),), allow_networks=LOOPBACK)
        sent = message(made(message="naïve – “quoted”"))
        assert Webhook(hook, Texts())(sent).outcome == "ok"
    got = server.got[0]
    checked = standardwebhooks.Webhook(base64.b64encode(SECRET).decode()).verify(got.body, dict(got.headers))
    assert checked["data"]["findings"][0]["message"] == "naïve – “quoted”"
    assert (got.headers["webhook-id"], got.headers["authorization"], got.path) == (sent.plan.id, "Bearer x", "/hook")
    with pytest.raises(standardwebhooks.WebhookVerificationError):
        standardwebhooks.Webhook(base64.b64encode(b"another secret of thirty-two byt").decode()).verify(got.body, dict(got.headers))


def test_f31_the_id_is_the_same_on_every_retry_and_the_timestamp_is_not() -> None:
    clock = iter((1_790_000_000.0, 1_790_000_060.0))
    with serving(status(500)) as server:
        send = Webhook(receiver(urls=(server.url,), allow_networks=LOOPBACK), Texts(), lambda: next(clock))
        assert [send(message()).outcome for _ in range(2)] == ["failed", "ok"]
    first, second = (got.headers for got in server.got)
    assert first["webhook-id"] == second["webhook-id"]
    assert (first["webhook-timestamp"], second["webhook-timestamp"]) == ("1790000000", "1790000060")
    assert first["webhook-signature"] != second["webhook-signature"]


def test_our_signature_is_the_librarys() -> None:
    moment = datetime(2026, 9, 21, tzinfo=UTC)
    theirs = standardwebhooks.Webhook(base64.b64encode(SECRET).decode()).sign("msg_1", moment, '{"a":1}')
    ours = signing.headers("msg_1", int(moment.timestamp()), b'{"a":1}', [SECRET])
    assert ours["webhook-signature"] == theirs


def test_a_body_is_below_twenty_kilobytes_whatever_is_in_it() -> None:
    name = "\N{PILE OF POO}" * 256
    hostile = {"message": '\N{PILE OF POO}"\\' * 333, "use_instead": "\N{PILE OF POO}" * 1_000}
    findings = [leak(number, **hostile, application=Application(principal=name, client_id=name, group=name)) for number in range(500)]
    body = payload(message(*findings), Texts("https://clientscope.example.com/"))
    assert len(body) < MOST_BYTES
    sent = json.loads(body)
    assert (sent["type"], sent["data"]["count"]) == ("clientscope.findings.firing", 500)
    assert sent["data"]["findings"]
    many = json.loads(payload(message(*(made(number) for number in range(500))), Texts()))
    assert 5 < len(many["data"]["findings"]) < 500
    assert many["data"]["findings"][0]["key"] == "00000000000000000000000000000000/1"
