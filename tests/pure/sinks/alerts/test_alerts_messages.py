"""Text of a message, and that nothing in it is more than text."""

from __future__ import annotations

import json
import re
import shlex
from typing import Any

import pytest
from alert_receivers import message, receiver
from made_findings import DAY_MS, NOW_MS, leak, made

from clientscope.commands.parser import parser
from clientscope.findings.record import Alert, Application, Client, Decided, Finding, FindingOwner, Suppressed
from sinks.alerts import alertmanager, webhook
from sinks.alerts.alertmanager import Alerts
from sinks.alerts.message import MOST_BODY, Texts, inert
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


def test_the_order() -> None:
    assert Texts(PAGE).body(message(made())).splitlines() == [
        "OPEN, high",
        "records are sent without waiting for an answer (acks=0): set acks=all",
        "Who: orders, principal User:orders, apache-kafka-java 3.9.2, 10.0.0.7",
        "Owner: shop (#shop-oncall)",
        "Since 2026-09-18 14:13:20 UTC, last seen 2026-09-21 14:12:20 UTC",
        "Clients that have it now: 1",
        "What to do: acks=all",
        "Page: https://clientscope.example.com/kafka/?view=finding&id=00000001000000000000000000000000",
        "Rule: https://kafka.apache.org/documentation/#producerconfigs_acks",
        "Commands:",
        "clientscope findings show 000000010000",
        "clientscope rules AN101",
        "clientscope findings close 000000010000 --as accepted --until 2026-12-20 --why 'known, until then'",
    ]


def test_who_is_said_once_and_code_has_no_backticks() -> None:
    sentence = "This producer waits for no acknowledgement: set ``acks=all``."
    finding = made(sentence=sentence, message=f"orders, User:orders: {sentence}", use_instead="``acks=all``, the default")
    texts = Texts()
    sent = f"{texts.title(message(finding))}\n{texts.body(message(finding))}"
    assert sent.count("User:orders") == 1
    assert len(re.findall(r"\borders\b(?<!User:orders)", sent)) == 1
    assert "set acks=all.\nSettings: acks\nWho: orders" in sent
    assert "What to do: acks=all, the default\n" in sent
    summary = alert(finding)["annotations"]
    assert "acks=all" in summary["summary"] and "ˋ" not in summary["summary"] + summary["description"]


def test_names_the_part_of_clientscope_that_an_operational_finding_is_about() -> None:
    subject = 'gateway "gw-1" of broker 3 in cluster c'
    lost = made(code="OP001", name="gateway_lost", kind="operation", application=Application(), clients=[], subject=subject, owner=None)
    sent, texts = message(lost), Texts()
    assert f"\nWho: {inert(subject)}\n" in texts.body(sent)
    assert "clientscope rules" not in texts.body(sent) and "What to do" not in texts.body(sent), "there is no rule"
    assert "runbook" not in alert(lost)["annotations"]
    assert dict(alertmanager.labels(lost))["subject"] == inert(subject)
    assert json.loads(webhook.payload(sent, texts))["data"]["findings"][0]["subject"] == subject


def test_commands_are_whole_lines_that_a_shell_takes_as_they_are() -> None:
    commands = Texts(PAGE).body(message(made())).split("Commands:\n")[1].splitlines()
    for command in commands:
        name, *words = shlex.split(command)
        assert name == "clientscope"
        _, unknown = parser().parse_known_args(words)
        assert unknown == []
    ended = Texts(PAGE).body(message(made(state="resolved", ended_ms=NOW_MS), status="ended"))
    assert "findings close" not in ended


def test_a_group() -> None:
    findings = [made(number, client_count=number) for number in range(1, 9)]
    text = Texts().body(message(*findings))
    assert text.startswith("OPEN, high: 8 findings of AN101\n")
    assert text.count("Who: ") == 5
    assert "+3 more\n" in text
    assert "Clients that have it now: 36\n" in text
    assert "\nclientscope findings list code:AN101\n" in text
    assert "?view=findings&q=code%3AAN101" in Texts(PAGE).body(message(*findings))
    assert Texts().title(message(*findings)) == "OPEN, high: AN101 acks_zero +7"


@pytest.mark.parametrize(
    ("finding", "status", "first"),
    [
        (made(alert=Alert(number=2, why="reopened", at_ms=NOW_MS)), "firing", "OPEN, high (reopened)"),
        (leak(state="stopped"), "firing", "STOPPED, critical"),
        (made(state="resolved", ended_ms=NOW_MS), "ended", "RESOLVED, high"),
        (made(state="closed", decided=Decided(resolution="accepted", by="ann", why="x", at_ms=1)), "ended", "CLOSED, high"),
        (made(suppressed=Suppressed(reason="x", until="2027-01-01", where="f:1")), "ended", "SUPPRESSED, high"),
    ],
)
def test_status_and_severity_come_first(finding: object, status: str, first: str) -> None:
    text = Texts().body(message(finding, status=status))  # type: ignore[arg-type]
    assert text.splitlines()[0] == first
    assert ("rotate" in text.split("What to do: ")[1].splitlines()[0]) == first.startswith("STOPPED")


@pytest.mark.parametrize("evil", HOSTILE)
def test_what_clients_chose_is_text(evil: str) -> None:
    client = Client(client_id=evil, software_name=evil, software_version=evil, address=evil)
    finding = made(
        application=Application(principal=evil, client_id=evil, group=evil), clients=[client], message=evil, use_instead=evil,
        link="javascript:alert(1)", name=evil,
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


def test_a_body_is_at_most_three_thousand_characters_and_whole() -> None:
    client = Client(client_id="c", software_name="s" * 256, software_version="v" * 256, address="a" * 256)
    long = made(
        message="x" * 1_000,
        use_instead="x" * 1_000,
        application=Application(principal="p" * 256, client_id="c" * 256),
        clients=[client] * 9,
        owner=FindingOwner(team="t" * 256, contact="c" * 256),
        link="https://" + "l" * 240,
    )
    body = Texts("https://" + "a" * 290).body(message(*(long.model_copy(update={"fingerprint": f"{n}"}) for n in range(9))))
    assert len(body) <= MOST_BODY
    assert body.startswith("OPEN, high: 9 findings of AN101\n")
    assert body.endswith("--why 'known, until then'"), "nothing was cut off"


def test_what_is_inert_can_still_be_read() -> None:
    assert inert("User:alice@EXAMPLE.COM") == "User:alice＠EXAMPLE.COM"
    assert inert("orders_eu-1.prod") == "orders_eu-1.prod"


def test_labels_are_identity_alone() -> None:
    before, after = made(), made(client_count=9_000, last_seen_ms=NOW_MS + DAY_MS, message="another sentence", revision=7)
    assert alertmanager.labels(before) == alertmanager.labels(after)
    assert dict(alertmanager.labels(before)) == {
        "alertname": "acks_zero", "code": "AN101", "severity": "high", "kind": "setting", "fingerprint": before.fingerprint,
        "principal": "User:orders", "client_id": "orders", "team": "shop", "source": "clientscope",
    }  # fmt: skip
