"""Text of a message, and that nothing in it is more than text."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from typing import Any

import pytest
from alert_receivers import message, receiver
from every import every
from golden import is_golden
from made_findings import NOW_MS, leak, made, resolved

from clientscope.commands.parser import parser
from clientscope.model.client import Application
from clientscope.model.decision import Decision
from clientscope.model.finding import AffectedClient, Alert, Finding, Owner, Suppressed
from sinks.alerts import webhook
from sinks.alerts.alertmanager import Alerts
from sinks.alerts.message import MOST_BODY, Texts
from sinks.alerts.outbox import Place

PAGE = "https://clientscope.example.com/kafka/"
HOSTILE = [
    "<!channel>", "<@U123>", "<https://evil.example|click>", "@everyone @here", "[click](https://evil.example)", "*bold* `code` ~gone~",
    "a\r\nBcc: evil@example.com", "a\u2028b\u202ec", "{{ .Labels }} ${HOME} $(id)", '"; rm -rf /; "', "www.evil.example", "<img onerror=x>",
    "x" * 64_000,
]  # fmt: skip


def alert(finding: Finding) -> dict[str, Any]:
    """As an Alertmanager is sent it."""
    alerts = Alerts(receiver("am", kind="alertmanager"), Texts())
    alerts.take(finding.fingerprint, finding, Place(0, 0), None, NOW_MS, 0.0)
    (sent,) = alerts.to_send(NOW_MS)
    return sent


SENTENCE = "This producer waits for no acknowledgement: set ``acks=all``."
SAID_TWICE = made(sentence=SENTENCE, message=f"orders, User:orders: {SENTENCE}", use_instead="``acks=all``, the default")
LOST = made(
    code="OP001", name="gateway_lost", kind="operation", application=Application(), clients=[], owner=None,
    subject='gateway "gw-1" of broker 3 in cluster c',
)  # fmt: skip
MESSAGES: dict[str, tuple[list[Finding], str]] = {
    "one": ([made()], "firing"),
    "who is said once, and code has no backticks": ([SAID_TWICE], "firing"),
    "an operational finding has no rule": ([LOST], "firing"),
    "a group": ([made(number, client_count=number) for number in range(1, 9)], "firing"),
    "reopened": ([made(alert=Alert(number=2, why="reopened", at_ms=NOW_MS))], "firing"),
    "a leak that is no longer pushed": ([leak(state="stopped")], "firing"),
    "resolved": ([resolved()], "ended"),
    "closed": ([made(state="closed", decided=Decision(fingerprint="f", resolution="accepted", by="ann", why="x", at_ms=1))], "ended"),
    "suppressed": ([made(suppressed=Suppressed(reason="x", until="2027-01-01", where="f:1"))], "ended"),
}


def test_what_a_message_says() -> None:
    text, texts = "", Texts(PAGE)
    for name, (findings, status) in MESSAGES.items():
        sent = message(*findings, status=status)
        text += f"--- {name}\n{texts.title(sent)}\n\n{texts.body(sent)}\n\n"
    assert is_golden(text, __file__, "messages.txt")
    assert "Page:" not in Texts().body(message(made()))


def test_the_same_of_other_receivers() -> None:
    alerts = [alert(finding) for finding in (made(), SAID_TWICE, LOST)]
    hooks = [json.loads(webhook.payload(message(finding), Texts(PAGE)))["data"] for finding in (made(), LOST)]
    assert is_golden(json.dumps([*alerts, *hooks], indent=1, ensure_ascii=False) + "\n", __file__, "alerts.json")


def test_commands_are_whole_lines_that_a_shell_takes_as_they_are() -> None:
    commands = Texts(PAGE).body(message(made())).split("Commands:\n")[1].splitlines()
    for command in commands:
        name, *words = shlex.split(command)
        assert name == "clientscope"
        _, unknown = parser().parse_known_args(words)
        assert unknown == []
    ended = Texts(PAGE).body(message(resolved(), status="ended"))
    assert "findings close" not in ended


@pytest.mark.parametrize("evil", HOSTILE)
def test_what_clients_chose_is_text(evil: str) -> None:
    client = AffectedClient(client_id=evil, software_name=evil, software_version=evil, address=evil)
    finding = made(
        application=Application(principal=evil, client_id=evil, group=evil), clients=[client], message=evil, use_instead=evil,
        link="javascript:alert(1)", name=evil, subject=evil,
    )  # fmt: skip
    plain = Texts().body(message(made(link="")))
    texts = Texts()
    body, title = texts.body(message(finding)), texts.title(message(finding))
    assert body.count("\n") == plain.count("\n"), "no further line"
    assert "\n" not in title and "\r" not in title
    assert not set("<>&@`*[]{}$|~\r\u2028\u202e") & set(body + title)
    assert "https://" not in body and "www." not in body and "javascript" not in body
    assert len(body) <= MOST_BODY
    assert len(title) <= 150, "Slack's limit of a header"
    sent = alert(finding)
    for value in [*sent["labels"].values(), *sent["annotations"].values()]:
        assert not set("<>&@`*[]{}$|~\r\n\u202e") & set(value)
        assert len(value) <= 600
    assert all(len(value) <= (80 if name == "alertname" else 200) for name, value in every(sent["labels"].items()))


def test_a_body_is_at_most_three_thousand_characters_and_whole() -> None:
    client = AffectedClient(client_id="c", software_name="s" * 256, software_version="v" * 256, address="a" * 256)
    long = made(
        message="x" * 1_000,
        use_instead="x" * 1_000,
        application=Application(principal="p" * 256, client_id="c" * 256),
        clients=[client] * 9,
        owner=Owner(team="t" * 256, contact="c" * 256),
        link="https://" + "l" * 240,
    )
    body = Texts("https://" + "a" * 290).body(message(*(replace(long, fingerprint=f"{n}") for n in range(9))))
    assert len(body) <= MOST_BODY
    assert body.startswith("OPEN, high: 9 findings of AN101\n")
    assert body.endswith("--why 'known, until then'"), "nothing was cut off"
    (hook,) = json.loads(webhook.payload(message(long), Texts()))["data"]["findings"]
    assert len(hook["message"]) == 500
