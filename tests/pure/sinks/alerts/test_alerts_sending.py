"""F30, F33: receivers that misbehave, and hosts that aren't allowed, over real sockets; Standard Webhooks, checked by its own library."""

from __future__ import annotations

import base64
import json
import socket
import threading
import urllib.request
from contextlib import nullcontext

import pytest
import standardwebhooks
from alert_receivers import SECRET, cut, hang, message, receiver, serving, status
from golden import cases
from made_findings import leak, made

from clientscope.model.client import Application
from sinks.alerts import webhook
from sinks.alerts.message import Texts
from sinks.alerts.sending import AllowedHosts, SendResult, check_url, only_to, post

OLD_SECRET = b"fedcba9876543210fedcba9876543210"


def posted(url: str, *allowed: str, timeout_s: float = 5.0) -> SendResult:
    hosts = AllowedHosts.of(allowed) if allowed else None
    return post(receiver(timeout_s=timeout_s, allowed_hosts=hosts, headers={"Authorization": "canary-7"}), url, b"{}", {})


@pytest.mark.parametrize(("code", "header", "is_final", "retry_after_s"), cases(__file__, "answers.txt"))
def test_f30_answers(code: str, header: str, is_final: str, retry_after_s: str) -> None:
    headers = dict([header.split(": ")] if header else [])
    with serving(status(int(code), **headers), status(204)) as server:
        result = posted(server.url)
        assert result.reason == f"HTTP {code}" + ": redirects are not followed, set the address itself" * (code < "400")
        assert (result.ok, result.is_final, result.retry_after_s) == (False, is_final == "yes", float(retry_after_s))
        assert posted(server.url).ok


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("https://hooks.example.com:443/!~?a=b", ""),
        *(
            (f"https://hooks.example.com/{character}", "it has a space, a backslash, a control character, or one beyond ASCII$")
            for character in " \x1f\x7f\\é"
        ),
        *((url, "it is no HTTP address") for url in ("ftp://a/", "http://:80/", "http://a:0/", "http://a:65536/", "http://a/#b", "a")),
        ("http://user@hooks.example.com/", "it has a user or password"),
    ],
)
def test_which_addresses_can_be_posted_to(url: str, said: str) -> None:
    with pytest.raises(ValueError, match=f"^{said}") if said else nullcontext():
        check_url(url, None)


@pytest.mark.parametrize(("answer", "reason"), [(hang, "no answer in time"), (cut, "the connection failed")])
def test_f30_a_receiver_that_answers_never_is_left_in_time(answer: object, reason: str) -> None:
    with serving(answer) as server:  # type: ignore[arg-type]
        assert posted(server.url, timeout_s=0.5).reason == reason


def test_who_never_accepts_has_no_name_or_does_not_speak_tls() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        assert posted(f"http://127.0.0.1:{closed.getsockname()[1]}/canary").reason == "connection refused"
    assert posted("http://nowhere.invalid/canary").reason == "its name can't be resolved"
    with serving() as server:
        assert posted(f"https://127.0.0.1:{server.port}/canary").reason == "TLS failed"


@pytest.mark.parametrize("allowed", ["127.0.0.0/8", "localhost"])
def test_f33_an_allowed_network_or_name_is_connected_to(allowed: str) -> None:
    with serving() as server:
        assert posted(f"http://localhost:{server.port}/", allowed, "::1").ok


def test_f33_a_name_that_resolves_elsewhere_is_refused_at_the_connect(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving() as server:
        result = posted(f"http://localhost:{server.port}/", "hooks.example.com", "10.0.0.0/8")
        assert result.reason in ("refused: 127.0.0.1 is not in allowed_hosts", "refused: ::1 is not in allowed_hosts")
        resolve = socket.getaddrinfo
        monkeypatch.setattr(socket, "getaddrinfo", lambda host, *more, **named: resolve("localhost", *more, **named))
        assert posted(f"http://rebound.example:{server.port}/", "10.0.0.0/8").reason.startswith("refused: ")
        assert server.got == []


def test_f33_whatever_the_library_and_in_that_thread_alone() -> None:
    with serving() as server, only_to(AllowedHosts.of(("hooks.example.com",))) as refused:
        with pytest.raises(OSError, match="not in allowed_hosts"):
            urllib.request.urlopen(f"http://127.0.0.1:{server.port}/")
        assert refused() == "127.0.0.1 is not in allowed_hosts"
        with socket.socket(socket.AF_UNIX) as local, pytest.raises(PermissionError):
            local.connect("/run/docker.sock")
        other = threading.Thread(target=posted, args=(server.url,))
        other.start()
        other.join()
        assert len(server.got) == 1


def test_f33_a_proxy_of_the_environment_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving() as proxy, serving() as server:
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.port}")
        assert posted(server.url).ok
        assert (len(proxy.got), len(server.got)) == (0, 1)


@pytest.mark.parametrize("secrets", [(SECRET,), (SECRET, OLD_SECRET), (OLD_SECRET, SECRET)])
def test_a_message_is_signed_by_standard_webhooks(secrets: tuple[bytes, ...]) -> None:
    sent = message(made(message="naïve – “quoted”"))
    with serving(status(500)) as server:
        hook = receiver(urls=(server.url,), secrets=secrets, headers={"Authorization": "Bearer x"})
        assert [webhook.send(hook, sent, Texts()).ok for _ in range(2)] == [False, True]
    for got in server.got:
        checked = standardwebhooks.Webhook(base64.b64encode(SECRET).decode()).verify(got.body, dict(got.headers))
        assert checked["data"]["findings"][0]["message"] == "naïve – “quoted”"
        assert (got.headers["webhook-id"], got.headers["authorization"], got.path) == (sent.id, "Bearer x", "/hook")
        with pytest.raises(standardwebhooks.WebhookVerificationError):
            standardwebhooks.Webhook(base64.b64encode(b"another secret of thirty-two byt").decode()).verify(got.body, dict(got.headers))


def test_a_body_is_below_twenty_kilobytes_whatever_is_in_it() -> None:
    name = "\N{PILE OF POO}" * 256
    hostile = {"message": '\N{PILE OF POO}"\\' * 333, "use_instead": "\N{PILE OF POO}" * 1_000}
    findings = [leak(number, **hostile, application=Application(principal=name, client_id=name, group=name)) for number in range(500)]
    body = webhook.payload(message(*findings), Texts("https://clientscope.example.com/"))
    assert len(body) < webhook.MOST_BYTES
    sent = json.loads(body)
    assert (sent["type"], sent["data"]["count"]) == ("clientscope.findings.firing", 500)
    assert sent["data"]["findings"]
    many = json.loads(webhook.payload(message(*(made(number) for number in range(500))), Texts()))
    assert 5 < len(many["data"]["findings"]) < 500
    assert many["data"]["findings"][0]["key"] == "00000000000000000000000000000000/1"
