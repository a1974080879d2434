"""What the live page's lists cost at the server: 100,000 connections, 1,000 changes a second, several people asking at a time.

    python -m bench.page [--connections 100000] [--changes 1000] [--seconds 5] [--askers 4]

A process of its own serves by HTTP, and applies records as a reader would, five times a second.  Clients have names of all kinds: a third
of the connections are one client each, the others share; each principal has some fifty.  Nothing else should run meanwhile; ``cpu`` is what
an answer takes of the server's processor when nobody else asks, which a busy machine changes little.
"""

from __future__ import annotations

import argparse
import http.client
import json
import multiprocessing
import os
import random
import resource
import socket
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import quote

import uvicorn

from clientscope.records.codec import ClientConnectionRecord, Kind, encode
from clientscope.records.topics import CONNECTIONS, FINDINGS
from sinks.dashboard import assets
from sinks.dashboard.api import create_app
from sinks.dashboard.reader import now_ms
from sinks.dashboard.record import Record
from sinks.dashboard.state import State

SOFTWARE = [(name, f"{major}.{minor}.{patch}") for name in ("apache-kafka-java", "librdkafka", "kafka-python", "franz-go", "sarama")
            for major in (2, 3, 4) for minor in range(6) for patch in range(3)]  # fmt: skip

QUESTIONS = {
    "clients, first page": "clients?limit=100",
    "clients, a late page": "clients?limit=100&offset={offset}",
    "clients by connections": "clients?limit=100&sort=-connections,client_id",
    "clients by version, late": "clients?limit=100&sort=version&offset={offset}",
    "clients by age": "clients?limit=100&sort=since",
    "clients, software and version": "clients?limit=100&q=software:librdkafka version:<3.2",
    "clients, a word": "clients?limit=100&q=orders-{number}",
    "clients, a word nobody has": "clients?limit=100&q=nothing-like-it",
    "clients, a pattern": "clients?limit=100&q=client_id:*-7*&sort=-connections",
    "clients, findings": "clients?limit=100&q=finding:>=high&sort=-finding",
    "clients, negated, sorted": "clients?limit=100&q=-software:sarama principal:User:app-1*&sort=-since",
    "connections, first page": "connections?limit=100",
    "connections, searched": "connections?limit=100&q=version:>=4 orders&sort=-opened",
    "groups by application": "clients/groups?group=application",
    "groups by principal": "clients/groups?group=principal",
    "groups by software": "clients/groups?group=software&q=finding:not-judged",
    "groups by address": "clients/groups?group=address",
    "facets": "clients/facets",
    "facets of a word": "clients/facets?q=orders",
}


def main() -> None:
    """Prints a table: milliseconds at the asker, of each question."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--connections", type=int, default=100_000)
    parser.add_argument("--changes", type=int, default=1_000, help="a second")
    parser.add_argument("--seconds", type=float, default=5.0, help="for each question")
    parser.add_argument("--askers", type=int, default=4, help="at a time, each with half a second between its questions")
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(theirs, chosen.connections, chosen.changes), daemon=True)
    server.start()
    cpu, port, loaded = ours.recv(), ours.recv(), ours.recv()
    try:
        rows = {name: asked(port, path, chosen) for name, path in QUESTIONS.items()}
        ours.send("figures")
        rows_of_server = ours.recv()
    finally:
        server.terminate()
        server.join()
    if chosen.json:
        print(json.dumps({"load": loaded, "server": rows_of_server, "ms": rows, "cpu_ms": cpu}))
        return
    print(f"{chosen.connections:,} connections of {loaded['clients']:,} clients; loaded in {loaded['seconds']:.1f} s")
    print(f"{chosen.changes:,} changes/s wanted, {rows_of_server['changes_per_second']:,.0f} applied; {chosen.askers} askers\n")
    print(f"{'':34}{'asked':>7}{'p50':>8}{'p95':>8}{'max':>8}{'cpu':>8}  ms")
    for name, row in rows.items():
        print(f"{name:34}{row['asked']:7}{row['p50']:8.1f}{row['p95']:8.1f}{row['max']:8.1f}{cpu[name]:8.1f}")
    print(f"\nresident {rows_of_server['resident_mb']:.0f} MB, {rows_of_server['cpu_percent']:.0f} % of a core")


def asked(port: int, path: str, chosen: argparse.Namespace) -> dict[str, Any]:
    """How long a question takes, from its first byte to the answer's last, with several asking."""
    with ThreadPoolExecutor(chosen.askers) as pool:
        parts = pool.map(lambda asker: _ask(port, path, chosen, asker), range(chosen.askers))
        times = sorted(each for part in parts for each in part)
    quantiles = statistics.quantiles(times, n=20, method="inclusive")
    return {"asked": len(times), "p50": statistics.median(times), "p95": quantiles[-1], "max": times[-1]}


def _ask(port: int, path: str, chosen: argparse.Namespace, asker: int) -> list[float]:
    dice = random.Random(asker)  # noqa: S311 - no secret
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    times = []
    until = time.monotonic() + chosen.seconds
    time.sleep(dice.random() / 2)
    while time.monotonic() < until:
        text = path.format(offset=dice.randrange(chosen.connections // 2), number=dice.randrange(1_000))
        begin = time.perf_counter()
        connection.request("GET", "/api/v1/" + quote(text, safe="?&=/"))
        answer = connection.getresponse()
        body = answer.read()
        times.append((time.perf_counter() - begin) * 1000)
        if answer.status != 200:
            raise SystemExit(f"{path}: {answer.status} {body[:200]!r}")
        time.sleep(0.4 + dice.random() / 5)
    return times


def serve(pipe: Any, connections: int, changes: int) -> None:
    """Serves, and applies changes, until it is ended."""
    state = State(connection_limit=connections + 10_000)
    events = _events(connections)
    opened = [next(events) for _ in range(connections)]
    state.apply(_findings())
    begin = time.perf_counter()
    for at in range(0, len(opened), 2_000):
        state.apply(opened[at : at + 2_000])
    seconds = time.perf_counter() - begin
    state.live()
    pipe.send({name: _cpu_ms(state, path) for name, path in QUESTIONS.items()})
    app = create_app(state, assets.load(), now_ms, loopback_only=True)
    listener = socket.create_server(("127.0.0.1", 0))
    applied = [0, time.monotonic(), time.process_time()]
    threading.Thread(target=_change, args=(state, events, changes, applied), daemon=True).start()
    threading.Thread(target=_tell, args=(pipe, applied), daemon=True).start()
    pipe.send(listener.getsockname()[1])
    pipe.send({"seconds": seconds, "clients": state.clients(1).total})
    uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False)).run(sockets=[listener])


def _cpu_ms(state: State, path: str) -> float:
    """The least of a few tries."""
    what, _, rest = path.format(offset=10_000, number=77).partition("?")
    given = dict(part.split("=", 1) for part in rest.split("&")) if rest else {}
    page = {name: given.get(name, "") for name in ("q", "sort")}
    offset = int(given.get("offset", 0))
    ask: dict[str, Callable[[int], Any]] = {
        "clients": lambda now: state.clients(100, offset=offset, now_ms=now, **page),
        "connections": lambda now: state.connections(100, offset=offset, now_ms=now, **page),
        "clients/groups": lambda now: state.client_groups(given["group"], 100, now_ms=now, **page),  # type: ignore[arg-type]
        "clients/facets": lambda now: state.facets(10 + now, q=page["q"], now_ms=now),  # another each time, since it is kept for a second
    }
    tries = []
    for number in range(5):
        begin = time.thread_time()
        ask[what](number)
        tries.append((time.thread_time() - begin) * 1000)
    return min(tries)


def _change(state: State, events: Iterator[Record], changes: int, applied: list[float]) -> None:
    step = 0.2
    due = time.monotonic()
    while True:
        batch = [next(events) for _ in range(int(changes * step))]
        state.apply(batch)
        applied[0] += len(batch)
        due += step
        time.sleep(max(0.0, due - time.monotonic()))


def _tell(pipe: Any, applied: list[float]) -> None:
    pipe.recv()
    lasted = time.monotonic() - applied[1]
    cpu = 100 * (time.process_time() - applied[2]) / lasted
    resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    pipe.send({"changes_per_second": applied[0] / lasted, "resident_mb": resident, "cpu_percent": cpu, "pid": os.getpid()})


def _events(connections: int) -> Iterator[Record]:
    """Connections that open, as many as wanted; then closes and opens by turns."""
    dice = random.Random(8)  # noqa: S311 - no secret
    open_now: list[tuple[int, dict[str, Any]]] = []
    for sequence in range(1 << 62):
        if len(open_now) >= connections and sequence % 2:
            place = dice.randrange(len(open_now))
            open_now[place], open_now[-1] = open_now[-1], open_now[place]
            yield _record(Kind.CLOSED, sequence, *open_now.pop())
        else:
            open_now.append((sequence, _client(dice, connections)))
            yield _record(Kind.OPENED, sequence, *open_now[-1])


def _client(dice: random.Random, connections: int) -> dict[str, Any]:
    number = dice.randrange(connections) if dice.random() < 1 / 3 else dice.randrange(max(1, connections // 20))
    kind = ("orders", "payments", "stock", "audit", "search", "mail", "billing", "fraud")[number % 8]
    name, version = SOFTWARE[(number // 50 * 7 + number % 2) % len(SOFTWARE)]  # an application has one library, in two versions
    return {
        "client_id": None if number % 50 == 0 else f"{kind}-{number % 997}-{number}",
        "principal": None if number % 10 == 0 else f"User:app-{number // 50}",
        "client_address": f"10.{number >> 12 & 255}.{number >> 4 & 255}.{number & 15}",
        "client_software_name": name,
        "client_software_version": version,
    }


def _record(kind: Kind, sequence: int, connection: int, client: dict[str, Any]) -> Record:
    record = ClientConnectionRecord(
        kind=kind, cluster_id="c", broker_id=1, gateway_id="gw", gateway_epoch=1, sequence=sequence, timestamp_ms=now_ms(),
        connection_id=connection, listener_name="CLIENT", security_protocol="SASL_PLAINTEXT", **client,
    )  # fmt: skip
    return Record(CONNECTIONS, now_ms(), b"gw", encode(record))


def _findings() -> list[Record]:
    made = []
    for number in range(1_000):
        fingerprint = f"{number:032x}"
        value = {
            "fingerprint": fingerprint, "code": f"AN{101 + number % 17}", "name": "x", "kind": "setting",
            "severity": ("low", "medium", "high", "critical")[number % 4], "state": "open", "message": "m", "client_count": 50,
            "application": {"principal": f"User:app-{number // 50}", "client_id": f"orders-{number % 997}"},
            "first_seen_ms": 1, "last_seen_ms": 1, "opened_ms": 1,
        }  # fmt: skip
        made.append(Record(FINDINGS, 1, fingerprint.encode(), json.dumps(value).encode()))
    return made


if __name__ == "__main__":
    main()
