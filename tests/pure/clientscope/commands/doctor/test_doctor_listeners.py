"""Listeners by a broker's settings, and the judgement on each."""

from __future__ import annotations

import pytest
from scripted_broker import ScriptedBroker

from clientscope.commands.doctor.listeners import AdvertisedListener, advertised, check_listeners, judge
from clientscope.commands.doctor.probing import Probed
from clientscope.commands.doctor.result import Outcome
from clientscope.commands.doctor.situation import Situation
from clientscope.config import KafkaSettings
from clientscope.local.process import free_port

GATEWAY, BROKER, NOBODY, SILENT = Probed(keys=frozenset({18, 1324})), Probed(keys=frozenset({18})), Probed("no connection"), Probed()


def test_advertised() -> None:
    found = advertised(
        3,
        {
            "advertised.listeners": "CLIENT://gw-3:9092, INTERNAL://[fd00::3]:19092,ODD://nowhere,BAD",
            "listener.security.protocol.map": "CLIENT:SASL_SSL,INTERNAL:PLAINTEXT",
            "inter.broker.listener.name": "INTERNAL",
        },
    )
    assert found == [
        AdvertisedListener(3, "CLIENT", "gw-3", 9092, "SASL_SSL", False),
        AdvertisedListener(3, "INTERNAL", "fd00::3", 19092, "PLAINTEXT", True),
    ]
    assert advertised(1, {"listeners": "SSL://b:1", "advertised.listeners": None})[0].protocol == "SSL"
    assert advertised(1, {}) == []


@pytest.mark.parametrize(
    ("name", "inside", "own", "probed", "outcome", "words"),
    [
        ("CLIENT", False, False, GATEWAY, Outcome.OK, "a gateway answers"),
        ("CLIENT", False, False, BROKER, Outcome.PROBLEM, "the broker itself answers, not a gateway"),
        ("CLIENT", False, False, NOBODY, Outcome.PROBLEM, "no connection"),
        ("CLIENT", False, False, SILENT, Outcome.NOT_CHECKED, "no answer to ApiVersions"),
        ("INTERNAL", True, True, BROKER, Outcome.OK, "the broker itself, for clientscope"),
        ("INTERNAL", True, True, GATEWAY, Outcome.WARNING, "on a listener for brokers"),
        ("REPLICATION", True, False, BROKER, Outcome.OK, "the broker itself, for brokers"),
        ("REPLICATION", True, False, NOBODY, Outcome.WARNING, "no connection"),
        ("OTHER", False, False, BROKER, Outcome.WARNING, "its clients bypass the gateways"),
        ("OTHER", False, False, GATEWAY, Outcome.OK, "a gateway answers"),
    ],
)
def test_judged(name: str, inside: bool, own: bool, probed: Probed, outcome: Outcome, words: str) -> None:
    found = judge(AdvertisedListener(1, name, "h", 9092, "PLAINTEXT", inside), probed, "CLIENT", own=own)
    assert found.outcome is outcome and words in found.text
    assert found.text.startswith(f"{name} of broker 1 advertises h:9092: ")
    assert bool(found.remedy) == (outcome is not Outcome.OK)


def test_a_hostile_host_is_in_no_command() -> None:
    found = judge(AdvertisedListener(1, "CLIENT", "h;rm -rf $HOME", 9092, "PLAINTEXT", False), NOBODY, "CLIENT", own=False)
    assert found.command == "clientscope gateway --listen HOST:9092"


def test_gateway_of_the_flag_without_a_broker() -> None:
    def checked(address: str) -> list[tuple[Outcome, str]]:
        found = check_listeners(Situation(KafkaSettings(), None, None, None, None, address))
        return [(each.outcome, each.text) for each in found]

    gateway, broker = ScriptedBroker(advertises=True), ScriptedBroker(advertises=False)
    try:
        assert checked(gateway.address)[0] == (Outcome.NOT_CHECKED, "no broker answers")
        assert checked(gateway.address)[1] == (Outcome.OK, f"--gateway {gateway.address}: a gateway answers")
        assert checked(broker.address)[1][0] is Outcome.PROBLEM and "no gateway" in checked(broker.address)[1][1]
    finally:
        gateway.close()
        broker.close()
    assert checked(f"127.0.0.1:{free_port()}")[1][0] is Outcome.PROBLEM
