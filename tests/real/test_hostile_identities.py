"""Effect of a hostile client on others, on real parts: a gateway where TLS ends, a broker, the job (F41, F44, F46)."""

from __future__ import annotations

import signal
import socket
import ssl
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from certificates import Authority
from conftest import Installation, RunningGateway
from every import every
from observe import becomes, count, findings, newest, push_one, read_all
from patience import LIMIT_S, until

from clientscope.client.raw import RawClient
from clientscope.model.codec import decode
from clientscope.model.finding import Finding
from clientscope.model.push import Push
from clientscope.model.topics import CONFIGS, FINDINGS
from clientscope.wire.codes import NONE, THROTTLING_QUOTA_EXCEEDED

KEEP_DAYS = 20 / 86_400
"""Twenty seconds in place of thirty days."""
BURST = 60
"""Pushes that one address may have at once, in place of 500."""

LEAKED = "canary-leak-41"
CLEAN = [("acks", "all", 1, False)]
LEAK = [("sasl.password", LEAKED, 8, False), ("acks", "all", 1, False)]


@dataclass(frozen=True)
class Site:
    """A gateway of its own before the installation's broker, which knows users by their certificates."""

    installation: Installation
    gateway: RunningGateway
    users: Mapping[str, ssl.SSLContext]

    @property
    def internal(self) -> str:
        return self.installation.internal

    def client(
        self, stack: ExitStack, user: str, instance: uuid.UUID | None, address: str = "127.0.0.1", name: str = "orders-1"
    ) -> RawClient:
        """One that is connected and authenticated, from this address."""
        host, _, port = self.gateway.address.rpartition(":")
        connected = socket.create_connection((host, int(port)), LIMIT_S, source_address=(address, 0))
        client = stack.enter_context(RawClient(self.users[user].wrap_socket(connected, server_hostname=host), name))
        client.api_versions("hostile", "1.0", instance)
        return client

    def restart_job(self, *flags: str) -> None:
        job = self.installation.job
        job.processes.signal("stream", signal.SIGTERM)
        job.start("stream", *flags)
        job.ready()

    def becomes(self, code: str, user: str, condition: Callable[[Finding], bool]) -> Finding:
        return becomes(self.internal, code, condition, principal=f"User:CN={user}")

    def records(self, instance: uuid.UUID) -> dict[bytes, list[Push | None]]:
        """What the topic has under each key of an instance, the oldest first; None for a tombstone."""
        found: dict[bytes, list[Push | None]] = {}
        for message in read_all(self.internal, CONFIGS):
            if message.key.startswith(str(instance).encode()):
                found.setdefault(message.key, []).append(None if message.value is None else decode(Push, message.value))
        return found


@pytest.fixture(scope="module")
def site(installation: Installation, folder: Path) -> Iterator[Site]:
    authority, users = Authority(folder), {}
    for name in ("alice", "bob"):
        own = authority.sign(name, subject=f"/CN={name}")
        users[name] = authority.context
        users[name].load_cert_chain(own.certificate, own.key)
    flags = (
        *authority.sign("gateway").flags(), "--ssl-ca-location", str(authority.certificate), "--gateway-id", "hostile",
        "--digest-key-file", str(installation.job.key), "--push-burst-per-address", str(BURST),
    )  # fmt: skip
    broker = installation.broker
    with broker.gateway(folder, *flags) as gateway:
        yield Site(installation, gateway, users)


def test_f41_a_clean_push_of_bob_under_alices_instance_id_changes_nothing_of_hers(site: Site) -> None:
    instance = uuid.uuid4()
    with ExitStack() as stack:
        alice = site.client(stack, "alice", instance)
        alice.push_config(LEAK)
        before = site.becomes("SK001", "alice", lambda each: each.client_count == 1)
        bob = site.client(stack, "bob", instance)
        assert push_one(bob) == NONE
        assert push_one(bob, "0") == NONE
        site.becomes("AN101", "bob", lambda each: each.client_count == 1)  # so his pushes have been taken in
        (now,) = [each for each in findings(site.internal, "SK001") if each.application.principal == "User:CN=alice"]
        assert (now.fingerprint, now.state, now.client_count) == (before.fingerprint, "open", 1)
        records = site.records(instance)
        assert {record.principal for (record, *_) in records.values() if record} == {"User:CN=alice", "User:CN=bob"}
        assert len(records) == 2 and str(instance).encode() not in records
        assert all(len({record.principal for record in of_key if record}) == 1 for of_key in every(records.values()))


def test_f46_a_client_that_leaks_and_is_gone_within_a_second_is_found_and_reported(site: Site) -> None:
    """Without an instance id too, of which each connection is a client."""
    for user, instance in (("bob", uuid.uuid4()), ("alice", None)):
        secret = f"{LEAKED}-{user}"
        with ExitStack() as stack:
            client = site.client(stack, user, instance, name=f"gone-{user}")
            client.push_config([("ssl.key.password", secret, 8, False)])
        found = site.becomes("SK001", user, lambda each: each.settings[0].key == "ssl.key.password")
        assert (found.severity, found.kind, found.alert and found.alert.why) == ("critical", "leak", "new")
        assert found.reach is not None and len(found.reach.redacted_at) == 1
    assert all(LEAKED.encode() not in (message.value or b"") for message in every(read_all(site.internal, FINDINGS)))


@pytest.mark.long
def test_records_of_clients_that_are_gone_leave_the_topic_once_and_others_stay(site: Site) -> None:
    gone, stays, keeping = uuid.uuid4(), uuid.uuid4(), ("--keep-clients-days", str(KEEP_DAYS))
    site.restart_job(*keeping)
    with ExitStack() as stack:
        stack.callback(site.restart_job)
        there = site.client(stack, "alice", stays)
        there.push_config(CLEAN)
        with ExitStack() as short:
            site.client(short, "alice", gone, name="gone").push_config(CLEAN)
            nameless = site.client(short, "alice", None, name="nameless")
            nameless.push_config(CLEAN)
        until(lambda: [None in each for each in site.records(gone).values()], [True])
        assert next(iter(site.records(stays).values()))[-1] is not None, "it is connected"
        assert None in [value for key, value in newest(site.internal, CONFIGS).items() if key.count(b"/") >= 2]
        site.restart_job(*keeping)
        time.sleep(2 * KEEP_DAYS * 86_400 / 4)  # some rounds of the job that has read the tombstones
        assert [each.count(None) for each in site.records(gone).values()] == [1], "a restart writes none again"
        assert next(iter(site.records(stays).values()))[-1] is not None
        site.client(stack, "alice", gone, name="gone").push_config(CLEAN)
        until(lambda: next(iter(site.records(gone).values()))[-1] is not None, why="one that comes back is new")


def test_f44_one_host_that_invents_ids_meets_the_quota_and_nobody_else_does(site: Site) -> None:
    """The last one here: it uses up what this host may push."""

    def invented(number: int) -> Any:
        with ExitStack() as stack:
            return site.client(stack, "bob", uuid.uuid4(), name=f"invented{number}x").push_config(CLEAN)

    began = time.monotonic()
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(invented, range(2 * BURST)))
    passed = sum(answer.error_code == NONE for answer in answers)
    refused = [answer for answer in answers if answer.error_code == THROTTLING_QUOTA_EXCEEDED]
    assert passed + len(refused) == 2 * BURST
    assert 0 < passed <= BURST + 5 * (time.monotonic() - began) + 1, "what one address may have"
    assert refused and all(0 < answer.throttle_time_ms <= 10_000 for answer in every(refused))
    until(lambda: count(site.gateway, "pushes_refused", "quota_address") == len(refused))
    with ExitStack() as stack:
        alice = site.client(stack, "alice", uuid.uuid4(), "127.0.0.2", "billing-1")
        assert alice.push_config([("sasl.password", f"{LEAKED}-late", 8, False)]).error_code not in (NONE, THROTTLING_QUOTA_EXCEEDED)
        site.becomes("SK001", "alice", lambda each: each.application.client_id == "billing" and each.alert is not None)
