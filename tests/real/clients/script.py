"""The work of each client, once direct and once through the gateway, and the results that it reports."""

from __future__ import annotations

import abc
import contextlib
import uuid
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

PARTITIONS = 2
RECORDS = 20
TAKEN_FIRST = 10

Message = tuple[int, str, str]
"""Partition, key and value."""
Pairs = list[tuple[str, str]]
"""Key and value of each."""
Call = Callable[[], None]


@dataclass(frozen=True)
class Produced:
    """How records are produced.

    Attributes:
        codec: ``none``, or Kafka's name of a compression type.
        transactional_id: with one, `Client.produce` makes one transaction of the records.
        abort: the transaction is aborted in the end.
    """

    acks: str
    codec: str = "none"
    idempotent: bool = False
    transactional_id: str = ""
    abort: bool = False


class Client(abc.ABC):
    """One client library in one version. Each method opens clients of its own and closes them.

    Attributes:
        name: in topics, groups and client ids.
        codecs: what it can compress with, as installed here.
        identity: software name and version as the client sends them; ``unknown`` for a client that sends none.
    """

    name: str
    identity: tuple[str, str]
    codecs: tuple[str, ...] = ("gzip",)

    def __init__(self, address: str) -> None:
        self.address = address

    @property
    def client_id(self) -> str:
        """The same for all of this client's connections."""
        return f"matrix-{self.name}"

    @abc.abstractmethod
    def create_topic(self, topic: str) -> None:
        """With `PARTITIONS` partitions."""

    @abc.abstractmethod
    def produce(self, topic: str, how: Produced, messages: Pairs) -> list[int]:
        """Produces (key, value) pairs; the partition of each that was acknowledged, or -1."""

    @abc.abstractmethod
    def consume(self, topic: str, group: str, count: int, at_rest: Call) -> list[Message]:
        """Takes ``count`` records as a member of a group, commits exactly those, calls ``at_rest`` and leaves the group."""

    @abc.abstractmethod
    def describe(self, topic: str) -> dict[str, Any]:
        """What the admin client says of cluster and topic."""

    @abc.abstractmethod
    def unknown_topic(self, topic: str) -> None:
        """Deletes a topic that isn't there, and lets the error out."""

    def error_name(self, error: Exception) -> str:
        """What an error is, without its text."""
        return type(error).__name__

    def close(self) -> None:  # noqa: B027  most have nothing to end
        """Ends what runs the client, if that is a process of its own."""

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def variants(client: Client, run: str) -> Iterator[Produced]:
    """The ways in which a client produces."""
    yield Produced("1")
    # Not first: a partition that has no leader yet drops what needs no acknowledgement.
    yield Produced("0")
    for codec in client.codecs:
        yield Produced("all", codec)
    yield Produced("all", idempotent=True)
    for abort in (False, True):
        yield Produced("all", idempotent=True, transactional_id=f"{client.name}-{run}", abort=abort)


def work(client: Client, run: str, at_rest: Call = lambda: None) -> dict[str, Any]:
    """Does everything; what comes back holds no time, no address and no name of this run.

    Args:
        run: part of the names of topics and groups, which no other call has.
        at_rest: called while a consumer that has taken all is connected.
    """
    own = uuid.uuid4().hex[:8]  # what is tried once more finds nothing of the first time
    topic = f"matrix.{client.name}.{run}.{own}"
    result: dict[str, Any] = {"produced": {}}

    @contextlib.contextmanager
    def step(name: str) -> Iterator[None]:
        try:
            yield
        except AssertionError:
            raise
        except Exception as error:
            result[f"{name} failed"] = client.error_name(error)

    with step("create"):
        client.create_topic(topic)
    expected = 0
    for number, how in enumerate(variants(client, run)):
        messages = [(f"key-{i}", f"{number}:{i}:{'x' * 100}") for i in range(RECORDS)]
        label = ", ".join(f"{k}={v}" for k, v in asdict(how).items() if k != "transactional_id") + f", tx={bool(how.transactional_id)}"
        with step(label):
            result["produced"][label] = client.produce(topic, how, messages)
            expected += 0 if how.abort else RECORDS
    with step("consume"):
        group = f"{client.name}.{run}.{own}"
        first = client.consume(topic, group, TAKEN_FIRST, lambda: None)
        rest = client.consume(topic, group, expected - TAKEN_FIRST, at_rest)
        result["consumed"] = sorted(first + rest)
        result["taken twice"] = len(set(first) & set(rest))
    with step("describe"):
        result["described"] = client.describe(topic)
    with step("unknown topic"):
        client.unknown_topic(f"{topic}.isnt.there")
    return result
