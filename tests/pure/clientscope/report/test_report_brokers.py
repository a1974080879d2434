"""Output of api-versions and brokers: differences between brokers, and brokers without an answer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from golden import cases, is_golden
from printed import printed
from refusals import refused

from clientscope.catalog.releases import Range, releases
from clientscope.cluster.api_versions import AnswerState, Broker, BrokerAnswer, Cluster
from clientscope.cluster.comparison import compare
from clientscope.cluster.software import FoundSoftware, SoftwareSource, find_all
from clientscope.report.brokers import api_report, broker_software_table, choose_apis, declared, require_known, summary

BY_RELEASE = {entry.release: {**entry.fixed, **entry.forwarded} for entry in releases() if entry.mode == "kraft"}
OLD, NEW = BY_RELEASE[4, 3], BY_RELEASE[4, 4]


def answered(broker_id: int, ranges: dict[int, Range], **more: Any) -> BrokerAnswer:
    return BrokerAnswer(Broker(broker_id, f"broker-{broker_id}", 9092, "rack-a"), AnswerState.ANSWERED, version=4, ranges=ranges, **more)


def silent(broker_id: int, state: AnswerState, reason: str) -> BrokerAnswer:
    return BrokerAnswer(Broker(broker_id, f"broker-{broker_id}", 9092), state, reason)


UPGRADE = Cluster("c", [answered(1, OLD), answered(2, OLD), answered(3, NEW), silent(4, AnswerState.CLOSED, "it closes")])


RUN = Cluster(
    "c",
    [
        BrokerAnswer(Broker(1, "b1", 9092, "r", controller=True), AnswerState.ANSWERED),
        BrokerAnswer(Broker(2, "b2", 9092, controller=False), AnswerState.ANSWERED),
        silent(3, AnswerState.UNREACHABLE, "refused"),
    ],
)
RUNS = {1: FoundSoftware("Kafka", "3.3–3.4", SoftwareSource.INFERRED), 2: FoundSoftware(None, "7.6.0-ccs", SoftwareSource.JMX)}


SUMMARIES = {
    "half upgraded": UPGRADE.answers,
    "alike": [answered(1, NEW), answered(2, NEW)],
    "of no release": [answered(1, {18: (0, 4)})],
    "telemetry is no upgrade": [answered(1, NEW), answered(2, {**NEW, 71: (0, 0), 72: (0, 0)})],
}


def test_what_is_shown() -> None:
    shown = [printed(api_report(UPGRADE, keys)) for keys in ([0, 18, 94], [0, 1324])]
    assert "≠" not in shown[1], "alike in what was asked for: one column"
    shown += [f"{name}\n" + "\n".join(summary(compare(answers))) for name, answers in SUMMARIES.items()]
    first, *others = find_all(RUN.answers, RUNS, {})
    shown.append(printed(broker_software_table(RUN, [replace(first, problem="no JMX"), *others])))
    assert is_golden("\n\n".join(shown) + "\n", __file__, "brokers.txt")


@pytest.mark.parametrize(("api", "keys"), cases(__file__, "apis.txt"))
def test_choosing(api: str, keys: str) -> None:
    assert str(choose_apis(api)) == keys


def test_an_api_that_is_none_is_said_with_those_near() -> None:
    with refused("there is no API 'Produze'") as caught:
        choose_apis("Fetch,Produze")
    assert (caught.value.hint or "").startswith("did you mean Produce")
    with refused("no API is named"):
        choose_apis(" , ")


def test_what_a_broker_says_is_text_alone() -> None:
    hostile = "[red]x[/red]\x1b[31m"
    cluster = Cluster(hostile, [BrokerAnswer(Broker(1, hostile, 1, hostile), AnswerState.UNREACHABLE, hostile)])
    found = find_all(cluster.answers, {1: FoundSoftware(hostile, hostile, SoftwareSource.JMX)}, {})
    text = printed(broker_software_table(cluster, found)) + printed(api_report(cluster, []))
    assert "[red]" in text
    assert "\x1b" not in text


def test_declarations() -> None:
    assert declared({1: "Kafka/4.4.0", 2: "redpanda"}) == {
        1: FoundSoftware("Kafka", "4.4.0", SoftwareSource.DECLARED),
        2: FoundSoftware("redpanda", None, SoftwareSource.DECLARED),
    }
    with refused("--jmx: the cluster has no broker 7"):
        require_known("jmx", {7: "http://x/"}, {1, 2})
