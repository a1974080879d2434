"""A policy that misbehaves for one client, behind a real gateway: pushes and records of all others are processed (F17)."""

from __future__ import annotations

import os
import signal
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import confluent_kafka
import pytest
from conftest import RunningBroker, RunningGateway
from every import every
from observe import children, count, make_topic, metrics, private_file, process_name, push_one, read_all
from patience import LIMIT_S, until

from clientscope.model.client_key import instance_of
from clientscope.model.topics import CONFIGS
from clientscope.wire.codes import NONE, THROTTLING_QUOTA_EXCEEDED

TOPIC = "test.isolation"
PUSH = [("acks", "all", 1, True), ("linger.ms", "5", 4, False)]
CLIENTS = 40
RECORDS = 500


@pytest.fixture(scope="module")
def gateway(spare: RunningBroker, folder: Path) -> Iterator[RunningGateway]:
    """A gateway with a policy that acts on the client's software name."""
    make_topic(spare.internal, TOPIC)
    flags = (
        "--push-burst-per-address",
        "10000",  # all clients here have one address, whose own quota isn't what is tested
        "--policy-deadline-ms",
        "3000",  # on a busy machine a good push takes longer than half a second, and would be blamed
    )
    with spare.gateway(folder / "isolation", *flags, advertised=True, policy="bad_policies.ActingPublisher") as running:
        yield running


def pushed(gateway: RunningGateway, name: str, instance: uuid.UUID) -> int:
    """One client connects, identifies itself, and pushes; returns the answer's error code."""
    with gateway.named(name, instance=instance) as client:
        return push_one(client)


def recorded(spare: RunningBroker) -> set[str | None]:
    """Instances whose pushes are on the topic."""
    return {instance_of((message.key or b"").decode()) for message in read_all(spare.internal, CONFIGS)}


def produced(address: str) -> int:
    """How many records another client could produce meanwhile."""
    delivered = []
    producer = confluent_kafka.Producer({"bootstrap.servers": address, "acks": "all"})
    for number in range(RECORDS):
        producer.produce(TOPIC, b"%d" % number, on_delivery=lambda error, message: delivered.append(error))
        producer.poll(0)
    producer.flush(LIMIT_S)
    return delivered.count(None)


@pytest.mark.parametrize(
    ("act", "reason"),
    [
        ("sleep", "policy_timeout"), ("loop", "policy_timeout"), ("exit", "policy_crash"), ("segfault", "policy_crash"),
        ("memory", "policy_"), ("raise", "policy_error"),
    ],
)  # fmt: skip
def test_f17_whatever_a_policy_does_to_one_client_the_others_are_served(
    spare: RunningBroker, gateway: RunningGateway, act: str, reason: str
) -> None:
    bad, others = uuid.uuid4(), [uuid.uuid4() for _ in range(CLIENTS)]
    with ThreadPoolExecutor(12) as pool:
        writing = pool.submit(produced, gateway.address)
        misbehaving = pool.submit(pushed, gateway, f"act-{act}", bad)
        answers = list(pool.map(lambda instance: pushed(gateway, "good", instance), others))
        assert set(answers) == {NONE}
        assert writing.result() == RECORDS
        misbehaving.result()
    until(lambda: {str(instance) for instance in others} <= recorded(spare))
    counted = "clientscope_client_config_errors_total"
    until(lambda: any(key[0] == counted and key[1].startswith(reason) for key in metrics(gateway.metrics_url)))
    if act == "raise":
        assert pushed(gateway, f"act-{act}", bad) == -1
    else:
        assert pushed(gateway, "good-now", bad) == THROTTLING_QUOTA_EXCEEDED
    assert str(bad) not in recorded(spare)


def test_a_crash_loop_meets_its_quota_and_nobody_else_does(gateway: RunningGateway) -> None:
    crashing, before = uuid.uuid4(), count(gateway, "pushes_refused", "quota")
    with gateway.named("crash-loop", instance=crashing) as client:
        answers = [client.push_config(PUSH) for _ in range(15)]
    refused = [answer for answer in answers if answer.error_code == THROTTLING_QUOTA_EXCEEDED]
    assert refused and all(0 < answer.throttle_time_ms <= 1000 for answer in every(refused))
    assert [answer.error_code for answer in answers[:10]] == [NONE] * 10
    assert pushed(gateway, "good", uuid.uuid4()) == NONE
    until(lambda: count(gateway, "pushes_refused", "quota") == before + len(refused))


@pytest.mark.skipif(os.geteuid() != 0, reason="the memory of a process that isn't dumpable is root's")
def test_the_policys_processes_have_no_secret_of_the_settings(spare: RunningBroker, tmp_path: Path) -> None:
    secret = f"canary-{uuid.uuid4().hex}"
    config = private_file(tmp_path / "clientscope.toml", f'[kafka]\n"sasl.password" = "{secret}"\n')
    with spare.gateway(tmp_path, "--config", str(config)) as gateway:
        assert pushed(gateway, "good", uuid.uuid4()) == NONE
        assert secret.encode() in memory(gateway.pid)
        (policy,) = [pid for pid in children(gateway.pid) if process_name(pid) == "gw-policy"]
        assert secret.encode() not in memory(policy)


def memory(pid: int) -> bytes:
    """All that a process can read."""
    found = []
    with Path(f"/proc/{pid}/mem").open("rb", 0) as content:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            area, rights = line.split()[:2]
            start, end = (int(place, 16) for place in area.split("-"))
            if rights.startswith("rw"):
                content.seek(start)
                found.append(content.read(end - start))
    return b"".join(found)


def test_a_gateway_that_is_killed_leaves_no_process_of_its_policy(gateway: RunningGateway) -> None:
    """The last one here: it takes the gateway away."""
    running = children(gateway.pid)
    assert len(running) >= 2
    os.kill(gateway.pid, signal.SIGKILL)
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in running))
