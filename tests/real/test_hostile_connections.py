"""F41: connections of a hostile client to a real broker: the same bytes in the same order as direct, and no other client's identity.

What each client is, is read off the broker's own answers to it; what the gateway recorded must be the same.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import partial
from random import Random

import pytest
from conftest import PASSWORD, RunningGateway
from frame_bytes import compact, in_frame, request_frame
from http_attacks import connected
from observe import connection_records
from patience import until

from clientscope.model.connection import ClientConnectionRecord
from clientscope.model.enums import Kind
from clientscope.model.principals import ANONYMOUS
from clientscope.session.unanswered import FIRST_ID
from clientscope.wire import api_versions
from clientscope.wire.addresses import unchanged
from clientscope.wire.codes import PUSH_CONFIG
from clientscope.wire.cursor import write_uvarint
from clientscope.wire.describe_cluster import BrokerSoftware, with_software

CASES = 80
"""On each of two listeners."""
LAST_ID = 424_242
_IDS = (0, 1, 1, 5, 5, 5, -1, *(FIRST_ID + number for number in range(6)))


@dataclass(frozen=True)
class Installed:
    """A broker, and a gateway in front of it."""

    internal: str
    broker: str
    gateway: RunningGateway
    sasl: bool


@pytest.fixture(params=[False, True], ids=["plaintext", "sasl"])
def installed(request: pytest.FixtureRequest) -> Installed:
    sasl = "sasl_" if request.param else ""
    broker = request.getfixturevalue(f"{sasl}broker")
    return Installed(broker.internal, broker.client, request.getfixturevalue(f"{sasl}gateway"), request.param)


@dataclass(frozen=True)
class Request:
    """One frame, and what is said by it."""

    frame: bytes
    answered: bool = True
    push: bool = False
    software: tuple[str, str] = ("unknown", "unknown")
    token: str = ""


def any_request(chance: Random, client: bytes) -> Request:
    number = chance.choice(_IDS)
    asking = partial(request_frame, client_id=client)
    match chance.randrange(9):
        case 0 | 1:
            version = chance.choice((0, 2, 3, 4, 99))
            if version < 3:
                return Request(asking(18, version, number))
            name = chance.choice((b"java", b"x.y-z", b"", b"-bad", b"n" * 600))
            said = (name.decode(), "1.0") if version < 99 else ("unknown", "unknown")
            tag = chance.choice((b"\0", b"\1" + write_uvarint(1324) + b"\x10" + bytes(15) + b"\1"))
            return Request(asking(18, version, number, b"\0", compact(name), compact(b"1.0"), tag), software=said)
        case 2:
            return Request(asking(17, chance.choice((0, 1)), number, chance.choice((*[b"\0\5PLAIN"] * 5, b"\0\6GSSAPI"))))
        case 3:
            return authenticate(chance, number, client, chance.choice(("alice", "mallory", "Gary")))
        case 4:
            return Request(asking(60, 0, number, b"\0", b"\0", b"\0"))
        case 5:
            acks = chance.choice((0, 0, 1, -1))
            return Request(asking(0, 3, number, struct.pack(">hhii", -1, acks, 1000, 0)), answered=acks != 0)
        case 6:
            return Request(asking(16, 1, number))
        case 7:
            return Request(asking(3, 1, number, bytes(4)))
        case _:
            return Request(asking(PUSH_CONFIG, 0, number, b"\0", b"\2\5acks\4all\1\0\0\0"), push=True)


def authenticate(chance: Random, number: int, client: bytes, name: str, password: str = PASSWORD) -> Request:
    text = f"\0{name}\0{password}".encode()
    return Request(request_frame(36, chance.choice((0, 1)), number, in_frame(text), client_id=client), token=name)


def connection(seed: int, sasl: bool) -> tuple[str, list[Request]]:
    chance = Random(seed)  # noqa: S311
    client = f"case-{seed}-{'sasl' if sasl else 'plain'}"
    asking = partial(request_frame, client_id=client.encode())
    requests = [any_request(chance, client.encode()) for _ in range(chance.choice((3, 8, 20)))]
    requests += [Request(asking(16, 1, chance.choice(_IDS)))] * chance.choice((0, 30, 300))
    if sasl:
        name, password = chance.choice(("alice", "mallory", "Gary")), chance.choice((PASSWORD, PASSWORD, PASSWORD, "wrong"))
        version, number = chance.choice((0, 1, 1)), chance.choice(_IDS)
        first = [Request(asking(17, version, number, b"\0\5PLAIN"))]
        text = f"\0{name}\0{password}".encode()
        bare = Request(in_frame(text), token=name)
        first.append(bare if version == 0 else authenticate(chance, chance.choice(_IDS), client.encode(), name, password))
        if chance.random() < 0.5:
            first.insert(0, Request(asking(18, 3, number, b"\0\5java\0021\0"), software=("java", "1")))
        requests = first + requests
    else:
        requests.insert(0, Request(asking(16, 1, 3)))  # so that the client's id is known by the first header
    requests.append(Request(asking(3, 1, LAST_ID, bytes(4))))
    return client, requests


def play(address: str, requests: list[Request], chance: Random) -> list[bytes]:
    """What comes back, frame by frame, up to the answer to the last request or the connection's end."""
    stream = b"".join(request.frame for request in requests)
    received, answers = b"", []
    with connected(address) as client:
        while stream:
            size = chance.choice((3, 40, 400, 100_000))
            try:
                client.sendall(stream[:size])
            except OSError:
                break  # closed: what it said before is still to be read
            stream = stream[size:]
        while not answers or answers[-1][4:8] != struct.pack(">i", LAST_ID):
            try:
                data = client.recv(65536)
            except ConnectionResetError:
                break
            if not data:
                break
            received += data
            while len(received) >= 4 and len(received) >= 4 + (length := struct.unpack_from(">i", received)[0]):
                answers.append(received[: 4 + length])
                received = received[4 + length :]
    return answers


@dataclass
class Truth:
    """What the broker's own answers say of a client."""

    answers: list[bytes]
    software: tuple[str, str] = ("unknown", "unknown")
    principal: str | None = None


def truth_of(requests: list[Request], direct: list[bytes], sasl: bool) -> Truth:
    """The answers as they come through the gateway, and who the client is by them."""
    truth, left, began = Truth([], principal=None if sasl else ANONYMOUS), list(direct), False
    for request in requests:
        if request.push:
            number = request.frame[8:12]
            truth.answers.append(number)
            continue
        if not request.answered:
            continue
        if not left:
            break
        answer = left.pop(0)
        key, version = struct.unpack_from(">hh", request.frame, 4)
        code = struct.unpack_from(">h", answer, 8)[0] if len(answer) >= 10 else 0
        if request.token and began and code == 0:
            truth.principal, began = f"User:{request.token}", False
        elif key == 17 and len(answer) >= 10 and request.frame[-5:] == b"PLAIN":
            began = sasl and code == 0
        elif key == 18 and code == 0:
            truth.software = request.software
            answer = without_epoch(api_versions.advertise(answer, version, PUSH_CONFIG))
        elif key == 60:
            answer = with_software(answer, version, unchanged, BrokerSoftware("Kafka", None))
        elif key == 18 and code == 35:
            truth.software = ("unknown", "unknown")
        truth.answers.append(answer)
    return truth


def comparable(answers: list[bytes], requests: list[Request]) -> list[bytes]:
    """Of a push's answer only whose it is: the policy has the rest to say."""
    asked = [request for request in requests if request.answered]
    return [answer[4:8] if request.push else without_epoch(answer) for answer, request in zip(answers, asked, strict=False)]


def without_epoch(answer: bytes) -> bytes:
    """An answer to ApiVersions up to PushConfig's key, the last one: the cluster's metadata epoch behind it changes all the time."""
    return answer.partition(struct.pack(">hhh", PUSH_CONFIG, 0, 0))[0]


def test_f41_the_same_as_direct_and_nobody_elses_name(installed: Installed) -> None:
    truths: dict[str, Truth] = {}
    for seed in range(CASES):
        client, requests = connection(seed, installed.sasl)
        chance = Random(seed)  # noqa: S311
        direct = play(installed.broker, [request for request in requests if not request.push], chance)
        truth = truth_of(requests, direct, installed.sasl)
        through = comparable(play(installed.gateway.address, requests, chance), requests)
        closed = len(direct) < sum(request.answered and not request.push for request in requests)
        if closed:  # what was pushed behind the end is never answered, and an end may overtake the last answers
            assert through == truth.answers[: len(through)], client
        else:
            assert through == truth.answers, client
            truths[client] = truth
    assert len(truths) > CASES // 4

    def recorded() -> dict[str, ClientConnectionRecord]:
        return {record.client_id: record for record in connection_records(installed.internal, kind=Kind.CLOSED)}

    until(lambda: len(truths.keys() & recorded().keys()) > len(truths) // 2)  # by their ids, which not all of them say
    for client, record in recorded().items():
        if client in truths:
            assert (record.software_name[:256], record.software_version) == (
                truths[client].software[0][:256],
                truths[client].software[1],
            ), client
            assert record.principal == truths[client].principal, client
