"""A client behind a gateway that is slow with a push, refuses it, or is bypassed: it works meanwhile, and the push arrives."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from conftest import RunningBroker, RunningGateway
from observe import configurations, make_topic, metrics
from patience import LIMIT_S, until

from clientscope.client import KafkaProducer
from clientscope.records.enums import Origin

TOPIC = "test.slow.push"
PUSHED = "configuration pushed: "

Held = Callable[..., AbstractContextManager[RunningGateway]]


@pytest.fixture
def gateway(spare: RunningBroker, tmp_path: Path) -> Held:
    """A gateway whose policy does as files say."""
    make_topic(spare.internal, TOPIC)

    def start(**settings: Path) -> AbstractContextManager[RunningGateway]:
        configs = ",".join(f"{name.replace('_', '.')}={path}" for name, path in settings.items())
        flags = ("--client-config-policy-configs", configs, "--policy-deadline-ms", "60000")
        return spare.gateway(tmp_path / "logs", *flags, advertised=True, policy="publishing_policies.HeldPublisher")

    return start


@pytest.fixture
def outcomes(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    caplog.set_level(logging.INFO, "clientscope.client")
    return lambda: [record.getMessage() for record in caplog.records if record.name == "clientscope.client"]


Outcomes = Callable[[], list[str]]


def works(producer: Any) -> None:
    assert producer.send(TOPIC, b"a").get(LIMIT_S).offset >= 0


def pushes_of(spare: RunningBroker, client_id: str) -> list[Any]:
    return list(configurations(spare.internal, client_id=client_id, origin=Origin.PUSHED))


def is_pushed_once(spare: RunningBroker, producer: Any, client_id: str, outcomes: Outcomes) -> None:
    until(outcomes)
    works(producer)
    (outcome,) = outcomes()
    assert outcome.startswith(PUSHED)
    assert {record.client_instance_id for record in pushes_of(spare, client_id)} == {str(producer.client_instance_id)}


def test_a_policy_that_takes_long_holds_nobody_up_and_its_late_answer_counts(
    spare: RunningBroker, gateway: Held, outcomes: Outcomes, tmp_path: Path
) -> None:
    released = tmp_path / "released"
    with gateway(held_until=released) as running, KafkaProducer(bootstrap_servers=running.address, client_id="held") as producer:
        works(producer)
        assert (outcomes(), pushes_of(spare, "held")) == ([], []), "it is still being judged"
        released.touch()
        is_pushed_once(spare, producer, "held", outcomes)
        assert len(pushes_of(spare, "held")) == 1


@pytest.mark.long
def test_the_guards_half_minute_is_waited_out(spare: RunningBroker, gateway: Held, outcomes: Outcomes, tmp_path: Path) -> None:
    ended = tmp_path / "ended"
    with gateway(ends_once=ended) as running, KafkaProducer(bootstrap_servers=running.address, client_id="guarded") as producer:
        works(producer)
        assert ended.exists()
        assert outcomes() == [], "the gateway sends it away for 30 s"
        is_pushed_once(spare, producer, "guarded", outcomes)


def test_under_bypass_it_is_tried_until_the_gateway_reads_again(
    spare: RunningBroker, gateway: Held, outcomes: Outcomes, tmp_path: Path
) -> None:
    released = tmp_path / "released"
    with gateway(held_until=released) as running:

        def bypass(is_on: bool) -> None:
            os.kill(running.pid, signal.SIGUSR1 if is_on else signal.SIGUSR2)
            until(lambda: metrics(running.metrics_url)[("clientscope_gateway_bypassed",)], is_on)

        with KafkaProducer(bootstrap_servers=running.address, client_id="bypassed") as producer:
            works(producer)
            bypass(True)
            works(producer)
            assert outcomes() == []
            released.touch()
            bypass(False)
            is_pushed_once(spare, producer, "bypassed", outcomes)
