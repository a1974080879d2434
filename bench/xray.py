"""How fast request logs are read, and how much memory that takes: ``make bench-xray``.

Lines are those that real brokers of each format wrote (``tests/fixtures/request_logs``), with other client ids: as they came, and those of
Produce and Fetch alone, which are most of a real log.  Decoding is `RequestLogReader`, reading also the inventory.  Memory is that of
``clientscope xray`` on a log of clients and connections up to their limits.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import cycle
from pathlib import Path

from rich.console import Console
from rich.table import Table

from clientscope.commands.xray.incidents import Place
from clientscope.commands.xray.inventory import Inventory
from clientscope.logs import files
from clientscope.logs.request_log import RequestLogReader

LOGS = Path(__file__).parents[1] / "tests" / "fixtures" / "request_logs"
FORMATS = {
    "broker-2.4": "2.4, text",
    "broker-2.7": "2.7, text",
    "broker-2.8": "2.8, JSON",
    "broker-3.9": "3.9, JSON",
    "broker": "4.4, JSON",
}
CLIENTS = 2_000


def lines(release: str, only: Sequence[str] = ()) -> list[str]:
    """Lines of a broker, for many clients."""
    own = [line for line in files.lines(LOGS / f"{release}.log") if "Completed request:" in line and "evil" not in line]
    chosen = [line for line in own if not only or any(name in line for name in only)]
    names = [(f"orders-{number}", f"billing-{number}") for number in range(CLIENTS)]
    return [
        line.replace("orders-1", names[number // 10][0]).replace("billing-1", names[number // 10][1])
        for number, line in zip(range(CLIENTS * 10), cycle(chosen), strict=False)
    ]


def rate(played: Sequence[str], *, inventory: bool) -> float:
    """Lines a second of one core."""
    reader, clients = RequestLogReader(), Inventory()
    began = time.process_time()
    for request in reader.read(played):
        if inventory:
            clients.add(request, Place("log", reader.lines))
    return len(played) / (time.process_time() - began)


def many(megabytes: int) -> Iterator[str]:
    """Lines of ever more clients, each on a connection of its own."""
    own = [line for line in files.lines(LOGS / "broker.log") if '"PRODUCE"' in line or '"FETCH"' in line or '"API_VERSIONS"' in line]
    size, number = 0, 0
    while size < megabytes * 1024 * 1024:
        for line in own:
            made = line.replace("-orders-1", f"-orders-{number % 25_000}").replace("-127.0.0.1:", f"-127.0.{number % 200}.1:{number}")
            size += len(made) + 1
            yield made
            number += 1


def memory(megabytes: int) -> tuple[float, float]:
    """Greatest resident memory of the command in MiB, and its seconds."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "kafka-request.log"
        with log.open("w") as file:
            file.writelines(f"{line}\n" for line in many(megabytes))
        began = time.monotonic()
        command = [sys.executable, "-m", "clientscope.cli", "xray", str(log), "--max-bytes", str(10**12), "--output-format", "json"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024, time.monotonic() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--megabytes", type=int, default=1_000, help="of the log whose memory is measured; 0 for none")
    given = parser.parse_args()
    view = Table("log", "bytes a line", "decoded/s", "read/s", title=f"Lines a second of one core, best of {given.rounds} rounds")
    for release, name in FORMATS.items():
        for only, what in (((), ""), (("PRODUCE", "FETCH"), ", Produce and Fetch")):
            played = lines(release, only)
            rates = [(rate(played, inventory=False), rate(played, inventory=True)) for _ in range(given.rounds)]
            best = [max(column) for column in zip(*rates, strict=True)]
            view.add_row(name + what, f"{sum(map(len, played)) / len(played):,.0f}", *(f"{each:,.0f}" for each in best))
    Console().print(view)
    if given.megabytes:
        peak, seconds = memory(given.megabytes)
        print(f"{given.megabytes:,} MB of log: {peak:,.0f} MiB of memory, {seconds:,.1f} s")


if __name__ == "__main__":
    main()
