"""Clients that a finding names: those that have it now, and those that had it last."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from clientscope.findings.record import MOST_CLIENTS, Client
from streaming.findings.entry import FindingEntry, Place
from streaming.findings.inputs import ClientNames, JudgedPush, There, whereabouts
from streaming.findings.ordered import order


class Holders(NamedTuple):
    """Those that have it.

    Attributes:
        places: place → how many are connected.
        live: the newest pushes of those that are connected, at most `MOST_CLIENTS`, the newest first.
        gone: the same of those that are remembered and aren't connected.
        has: whether the client of this key is connected and has it.
        left_ms: when a client that is gone closed its last connection; None where that isn't known.
    """

    places: Mapping[Place, int]
    live: Sequence[JudgedPush]
    gone: Sequence[JudgedPush]
    has: Callable[[str], bool]
    left_ms: Callable[[There, JudgedPush | None], int | None]

    @property
    def number(self) -> int:
        """How many are connected; each has it in one place."""
        return sum(self.places.values())


def named(entry: FindingEntry, holders: Holders) -> dict[str, Client]:
    """At most `MOST_CLIENTS`, by key: the newest of those that are connected, then those that left last.

    Those that the entry knows already stay named though nothing else is known of them any more.
    """
    seen: set[ClientNames] = set()
    clients = {push.client: _known(entry, push, None) for push in _once(holders.live, seen)}
    gone = {push.client: push for push in (*entry.lately.values(), *holders.gone) if not holders.has(push.client)}
    for push in _once(heapq.nlargest(MOST_CLIENTS, gone.values(), key=order), seen):
        clients[push.client] = _known(entry, push, holders.left_ms(push.there, push) or push.appended_ms)
    for key, client in entry.known.items():
        if key not in clients and not holders.has(key):
            if client.disconnected_ms is None:
                left_ms = holders.left_ms(whereabouts(client.cluster, client.principal, client.client_id, client.address), None)
                client = client.model_copy(update={"disconnected_ms": left_ms or client.pushed_ms})  # noqa: PLW2901
            clients[key] = client
    by_time = sorted(clients.items(), key=lambda item: _left(item[1]))
    return dict(by_time[:MOST_CLIENTS])


def _once(pushes: Iterable[JudgedPush], seen: set[ClientNames]) -> Iterator[JudgedPush]:
    """Of what several gateways have seen of one client, the newest."""
    for push in pushes:
        if (names := push.names) is None or names not in seen:
            if names is not None:
                seen.add(names)
            yield push


def _left(client: Client) -> tuple[bool, int]:
    """Those that are connected come first, the newest of each first."""
    return client.disconnected_ms is not None, -(client.disconnected_ms or client.pushed_ms)


def _known(entry: FindingEntry, push: JudgedPush, disconnected_ms: int | None) -> Client:
    """As it was named before, if nothing has changed."""
    known = entry.known.get(push.client)
    same = known is not None and (known.pushed_ms, known.principal) == (push.appended_ms, push.principal)
    if known is not None and same and (known.disconnected_ms is None) == (disconnected_ms is None):
        return known
    return Client(
        key=push.client,
        client_id=push.client_id,
        instance_id=push.instance_id,
        principal=push.principal,
        address=push.address,
        software_name=push.software_name,
        software_version=push.software_version,
        cluster=push.cluster,
        broker=push.broker,
        gateway=push.gateway,
        observed=push.rank > 0,
        pushed_ms=push.appended_ms,
        disconnected_ms=disconnected_ms,
    )
