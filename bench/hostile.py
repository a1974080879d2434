"""Effect of hostile clients on others: the latency of a small request while ten connections make the gateway read all it can.

``python -m bench.hostile [--rounds 6] [--seconds 3]``: a real broker and gateway; four connections ask for metadata, one request after the
other. Phases without and with an attack alternate, and after each attack a second is left out before the next phase. A ratio is that of
the p99 over all phases of either sort; ``after`` is that of the phases behind an attack. ``none`` has no attack: what it shows is noise.
The attackers are one process of the lowest priority: what they send is what the gateway takes. Nothing else should run meanwhile.

The second table is F08's: how soon a fresh client is connected and has its first answer (goal: less than 100 ms), while 2,000 others that
have sent no whole request send a byte every ten seconds, and come again when they are closed.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import socket
import struct
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from multiprocessing.synchronize import Event
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.installation import Installation
from bench.policy_isolation import p
from clientscope.client.raw import RawClient

sys.path.append(str(Path(__file__).parents[1] / "tests" / "pure"))
from hostile_bytes import REFUSED, api_versions, flood, push

CONNECTIONS = 10
OTHERS = 4
SLOW = 2_000
METADATA = struct.pack(">hhihi", 3, 1, 7, -1, 0)
ATTACKS = {
    "none": b"",
    "pushes of 500 settings": push(500) * 20,
    "refused pushes": REFUSED * 5_000,
    "a new name each time": b"".join(api_versions(b"name-%d" % number) for number in range(1_000)),
    "20,000 tagged fields": api_versions(b"many", tags=20_000) * 2,
    "small requests": struct.pack(">ihhih", 10, 16, 1, 5, -1) * 5_000,
}


def attack(address: str, data: bytes, seconds: float) -> None:
    """In a process of its own."""
    os.nice(19)
    host, port = address.split(":")
    with ExitStack() as stack:
        flood([stack.enter_context(socket.create_connection((host, int(port)))) for _ in range(CONNECTIONS)], data, seconds)


def ask(address: str, until: float) -> list[float]:
    """One request after the other; ms each."""
    took = []
    with RawClient.connect(address, "other", 30.0) as client:
        client.api_versions("other", "1.0")
        while (began := time.perf_counter()) < until:
            client.send_frame(METADATA)
            client.receive_frame()
            took.append((time.perf_counter() - began) * 1000)
    return took


def drip(address: str, seconds: float, ready: Event) -> None:
    """2,000 slow senders, in a process of its own; those that the gateway closes come again."""
    host, port = address.split(":")
    slow: list[socket.socket] = []
    until = time.perf_counter() + seconds
    with ExitStack() as stack:
        while time.perf_counter() < until:
            gone = []
            for one in slow:
                try:
                    one.send(b"\0")
                except OSError:
                    gone.append(one)
            for one in gone:
                slow.remove(one)
                one.close()
            while len(slow) < SLOW:
                slow.append(stack.enter_context(socket.create_connection((host, int(port)))))
                slow[-1].setblocking(False)
            ready.set()
            time.sleep(min(10.0, max(0.0, until - time.perf_counter())))


def fresh(address: str, seconds: float) -> list[float]:
    """One client after the other connects, and asks what is served; ms each."""
    until = time.perf_counter() + seconds
    took = []
    while (began := time.perf_counter()) < until:
        with RawClient.connect(address, "fresh", 30.0) as client:
            client.api_versions("fresh", "1.0")
            took.append((time.perf_counter() - began) * 1000)
    return took


def fresh_clients(address: str, rounds: int, seconds: float) -> Table:
    """F08: without and with slow senders, in turns."""
    quiet, under = [], []
    for _ in range(rounds):
        quiet += fresh(address, seconds)
        ready = multiprocessing.Event()
        slow = multiprocessing.Process(target=drip, args=(address, seconds + 5.0, ready))
        slow.start()
        ready.wait(60)
        under += fresh(address, seconds)
        slow.join()
        time.sleep(1)
    table = Table("a fresh client's first answer", "clients", "p50, ms", "p99, ms", "most, ms")
    for name, took in (("alone", quiet), (f"beside {SLOW:,} slow senders", under)):
        table.add_row(name, str(len(took)), f"{p(took, 0.5):.2f}", f"{p(took, 0.99):.2f}", f"{max(took):.2f}")
    return table


def phase(address: str, seconds: float) -> list[float]:
    """What the others see for so long."""
    until = time.perf_counter() + seconds
    with ThreadPoolExecutor(OTHERS) as pool:
        return [each for one in [pool.submit(ask, address, until) for _ in range(OTHERS)] for each in one.result()]


def main() -> None:
    """Measures, and prints one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=3.0)
    arguments = parser.parse_args()
    table = Table("attack", "p50 without, ms", "with", "p99 without, ms", "with", "p99 ratio", "after")
    with tempfile.TemporaryDirectory() as folder, Installation(Path(folder), topic="bench.hostile") as installation:
        address = installation.address
        phase(address, 3)  # warm-up
        slow_senders = fresh_clients(address, arguments.rounds, arguments.seconds)
        for name, data in ATTACKS.items():
            quiet, under, after = [], [], []
            for _ in range(arguments.rounds):
                quiet += phase(address, arguments.seconds)
                attacker = multiprocessing.Process(target=attack, args=(address, data, arguments.seconds + 0.5))
                if data:
                    attacker.start()
                    time.sleep(0.5)
                under += phase(address, arguments.seconds)
                if data:
                    attacker.join()
                time.sleep(1)
                after += phase(address, arguments.seconds)
            base = p(quiet, 0.99)
            table.add_row(
                name,
                f"{p(quiet, 0.5):.2f}",
                f"{p(under, 0.5):.2f}",
                f"{base:.2f}",
                f"{p(under, 0.99):.2f}",
                f"{p(under, 0.99) / base:.2f}",
                f"{p(after, 0.99) / base:.2f}",
            )
            print(f"{name} done", file=sys.stderr)
    Console(width=160).print(table, slow_senders)


if __name__ == "__main__":
    main()
