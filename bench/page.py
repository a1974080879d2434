"""Cost of the live page's lists at the server: 100,000 connections, 1,000 changes a second, several people asking at a time.

    python -m bench.page [--connections 100000] [--pushes 30000] [--changes 1000] [--seconds 5] [--askers 4]

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
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote

import uvicorn

from bench.page_load import Load, aside, page_app, read
from sinks.dashboard.server import settle
from sinks.dashboard.state.known import TopicRecord
from sinks.dashboard.state.state import State

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
    "connections, searched": "connections?limit=100&q=software:apache-kafka-java version:>=4 orders&sort=-opened",
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
    parser.add_argument("--pushes", type=int, default=30_000)
    parser.add_argument("--changes", type=int, default=1_000, help="a second")
    parser.add_argument("--seconds", type=float, default=5.0, help="for each question")
    parser.add_argument("--askers", type=int, default=4, help="at a time, each with half a second between its questions")
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(
        target=serve, args=(theirs, chosen.connections, chosen.changes, chosen.pushes), daemon=True
    )
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
    seconds, one_by_one = loaded["seconds"], loaded["one_by_one_seconds"]
    print(f"{chosen.connections:,} connections of {loaded['clients']:,} clients read in {seconds:.1f} s,")
    print(f"{one_by_one / seconds:.1f} times as fast as each batch for itself ({one_by_one:.1f} s)")
    print(f"{chosen.pushes:,} pushes read in {loaded['pushes_seconds']:.1f} s")
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


def serve(pipe: Any, connections: int, changes: int, pushes: int) -> None:
    """Serves, and applies changes, until it is ended."""
    load = Load(connections)
    opened, pushed = load.opened(), load.pushes(pushes)
    loaded = {"one_by_one_seconds": _loaded(connections, opened, live=True)[1]}
    state, loaded["seconds"] = _loaded(connections, opened)
    loaded["pushes_seconds"] = read(_state(connections), pushed)
    read(state, [*load.findings(), *pushed])
    del opened, pushed
    settle()
    pipe.send({name: _cpu_ms(state, path) for name, path in QUESTIONS.items()})
    app = page_app(state)
    listener = socket.create_server(("127.0.0.1", 0))
    applied, since = [0], (time.monotonic(), time.process_time())
    load.change(state, changes, applied)
    aside(_send_cost, pipe, applied, *since)
    pipe.send(listener.getsockname()[1])
    pipe.send({**loaded, "clients": state.clients(1).total})
    uvicorn.Server(uvicorn.Config(app, lifespan="off", log_config=None, access_log=False)).run(sockets=[listener])


def _state(connections: int) -> State:
    return State(connection_limit=connections + 10_000)


def _loaded(connections: int, opened: list[TopicRecord], live: bool = False) -> tuple[State, float]:
    """A state that has read them, and the seconds that it took; with ``live``, each batch is seen at once, as later changes are."""
    state = _state(connections)
    begin = time.perf_counter()
    if live:
        state.live()
    read(state, opened)
    state.live()
    return state, time.perf_counter() - begin


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


def _send_cost(pipe: Any, applied: list[int], since: float, cpu_since: float) -> None:
    pipe.recv()
    lasted = time.monotonic() - since
    cpu = 100 * (time.process_time() - cpu_since) / lasted
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 2**20
    pipe.send({"changes_per_second": applied[0] / lasted, "resident_mb": resident, "cpu_percent": cpu, "pid": os.getpid()})


if __name__ == "__main__":
    main()
