"""Output of api-versions and brokers: differences between brokers, and brokers without an answer."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from clientscope.catalog.releases import Range, releases
from clientscope.cluster.api_versions import AnswerState, Broker, BrokerAnswer, Cluster
from clientscope.cluster.comparison import compare
from clientscope.cluster.software import BrokerWithSoftware, FoundSoftware, SoftwareSource
from clientscope.errors import SettingsError
from clientscope.report.api_versions import choose, report, summary
from clientscope.report.brokers import declared, require_known, table

BY_RELEASE = {entry.release: {**entry.fixed, **entry.forwarded} for entry in releases() if entry.mode == "kraft"}
OLD, NEW = BY_RELEASE[4, 3], BY_RELEASE[4, 4]


def answered(broker_id: int, ranges: dict[int, Range], **more: Any) -> BrokerAnswer:
    return BrokerAnswer(Broker(broker_id, f"broker-{broker_id}", 9092, "rack-a"), AnswerState.ANSWERED, version=4, ranges=ranges, **more)


def silent(broker_id: int, state: AnswerState, reason: str) -> BrokerAnswer:
    return BrokerAnswer(Broker(broker_id, f"broker-{broker_id}", 9092), state, reason)


def shown(content: Any, width: int = 120) -> str:
    out = io.StringIO()
    Console(file=out, width=width).print(content)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


UPGRADE = Cluster("c", [answered(1, OLD), answered(2, OLD), answered(3, NEW), silent(4, AnswerState.CLOSED, "it closes")])


def test_a_rolling_upgrade_seen_half_way() -> None:
    compared = compare(UPGRADE.answers)
    assert [group.ids for group in compared.groups] == [[1, 2], [3]]
    assert compared.differing == {key for key in NEW if OLD.get(key) != NEW[key]} == {18, 28, 42, 88, 89, 93, 94}
    text = shown(report(UPGRADE, None))
    rows = {line.split()[1]: line.split() for line in text.splitlines() if line.strip()[:1].isdigit()}
    assert rows["Produce"] == ["0", "Produce", "0–13", "0–13"]
    assert rows["ApiVersions"] == ["18", "ApiVersions", "0–4", "0–5", "≠"]
    assert rows["UnregisterController"] == ["94", "UnregisterController", "–", "0", "≠"]
    assert "BROKERS 1 AND 2" in text and "BROKER 3" in text
    assert summary(compared) == [
        "Brokers 1–3 differ in 7 of 77 APIs: a rolling upgrade half way?",
        "Brokers 1 and 2 as in Apache Kafka 4.3; broker 3 as in Apache Kafka 4.4.",
        "Broker 4: unknown (closed); it closes.",
    ]


def test_brokers_that_are_alike() -> None:
    both = Cluster("c", [answered(1, NEW), answered(2, NEW)])
    assert summary(compare(both.answers)) == ["Brokers 1 and 2: 77 APIs, all alike, as in Apache Kafka 4.4."]
    assert "≠" not in shown(report(both, None))
    assert summary(compare([answered(1, {18: (0, 4)})])) == ["Broker 1: 1 API, as in no release of Apache Kafka that we know."]


def test_telemetry_is_no_upgrade() -> None:
    compared = compare([answered(1, NEW), answered(2, {**NEW, 71: (0, 0), 72: (0, 0)})])
    assert summary(compared) == [
        "Brokers 1 and 2 differ in 2 of 79 APIs, and are all as in Apache Kafka 4.4: their configuration may differ."
    ]


def test_some_apis() -> None:
    text = shown(report(UPGRADE, [0, 1324]))
    assert [line.split()[:2] for line in text.splitlines()[3:5]] == [["0", "Produce"], ["1324", "PushConfig"]]
    assert "≠" not in text
    assert "BROKERS 1–3" in text, "alike in what was asked for: one column"
    assert "Brokers 1–3: 2 APIs, all alike.\n" in text


@pytest.mark.parametrize(
    ("api", "keys"),
    [("all", None), ("ALL", None), ("none", []), ("Produce,fetch", [0, 1]), ("18, 1324", [18, 1324]), ("PushConfig", [1324])],
)
def test_choosing(api: str, keys: list[int] | None) -> None:
    assert choose(api) == keys


def test_an_api_that_is_none_is_said_with_those_near() -> None:
    with pytest.raises(SettingsError, match="there is no API 'Produze'") as caught:
        choose("Fetch,Produze")
    assert (caught.value.hint or "").startswith("did you mean Produce")
    with pytest.raises(SettingsError, match="no API is named"):
        choose(" , ")


def brokers_found() -> list[BrokerWithSoftware]:
    return [
        BrokerWithSoftware(
            BrokerAnswer(Broker(1, "b1", 9092, "r", controller=True), AnswerState.ANSWERED),
            FoundSoftware("Kafka", "3.3–3.4", SoftwareSource.INFERRED),
            "no JMX",
        ),
        BrokerWithSoftware(
            BrokerAnswer(Broker(2, "b2", 9092, controller=False), AnswerState.ANSWERED),
            FoundSoftware(None, "7.6.0-ccs", SoftwareSource.JMX),
        ),
        BrokerWithSoftware(silent(3, AnswerState.UNREACHABLE, "refused"), FoundSoftware()),
    ]


def test_brokers_and_their_software() -> None:
    text = shown(table("c", brokers_found()))
    assert [line.split() for line in text.splitlines()[3:6]] == [
        ["1", "b1:9092", "r", "active", "Kafka", "3.3–3.4", "inferred"],
        ["2", "b2:9092", "–", "–", "unknown", "7.6.0-ccs", "jmx"],
        ["3", "broker-3:9092", "–", "?", "unknown", "unknown", "–"],
    ]
    assert text.endswith("Broker 3: unreachable; refused.\nBroker 1: no JMX.")


def test_what_a_broker_says_is_text_alone() -> None:
    hostile = "[red]x[/red]\x1b[31m"
    found = BrokerWithSoftware(
        BrokerAnswer(Broker(1, hostile, 1, hostile), AnswerState.ANSWERED), FoundSoftware(hostile, hostile, SoftwareSource.JMX), hostile
    )
    text = shown(table(hostile, [found])) + shown(report(Cluster(hostile, [silent(1, AnswerState.UNREACHABLE, hostile)]), []))
    assert "[red]" in text
    assert "\x1b" not in text


def test_declarations() -> None:
    assert declared({1: "Kafka/4.4.0", 2: "redpanda"}) == {
        1: FoundSoftware("Kafka", "4.4.0", SoftwareSource.DECLARED),
        2: FoundSoftware("redpanda", None, SoftwareSource.DECLARED),
    }
    with pytest.raises(SettingsError, match="--jmx: the cluster has no broker 7"):
        require_known("jmx", {7: "http://x/"}, {1, 2})
