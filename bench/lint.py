"""Time of ``clientscope lint``: ``make bench-lint``.

Many files, of producers, consumers and Spring Boot's clients, as properties and as YAML, a third of them with a mistake; and one file from
a cold start.  Each run is a process of its own; of several the best counts.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PRODUCER = {"client.id": "orders", "acks": "all", "linger.ms": "20", "batch.size": "65536", "compression.type": "zstd"}
CONSUMER = {"client.id": "billing", "group.id": "billing", "enable.auto.commit": "false", "session.timeout.ms": "45000"}
MISTAKES = {"acks": "2", "linger.msec": "5", "compression.type": "zst", "queue.buffering.max.ms": "7", "retries": "0"}
SPRING = "spring.kafka.producer.properties."


def write(folder: Path, count: int) -> None:
    """The files, in folders of a hundred."""
    chance = random.Random(7)  # noqa: S311
    for number in range(count):
        settings = dict(PRODUCER if number % 2 else CONSUMER)
        settings["client.id"] += f"-{number}"
        if number % 3 == 0:
            settings |= [chance.choice([*MISTAKES.items()])]
        prefix = SPRING if number % 5 == 0 else ""
        target = folder / f"{number // 100:04}"
        target.mkdir(exist_ok=True)
        if number % 4 == 0:
            text = "".join(f"{prefix}{key}: '{value}'\n" for key, value in settings.items())
            (target / f"client-{number}.yaml").write_text(text)
        else:
            text = "".join(f"{prefix}{key}={value}\n" for key, value in settings.items())
            (target / f"client-{number}.properties").write_text(text)


def seconds(*arguments: str, rounds: int) -> float:
    """The best of several runs of ``clientscope lint``, by the clock."""
    best = float("inf")
    for _ in range(rounds):
        started = time.perf_counter()
        command = [sys.executable, "-m", "clientscope", "lint", "--fail-on", "never", "--output-format", "concise", *arguments]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        best = min(best, time.perf_counter() - started)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), arguments.files)
        one = next(Path(folder).rglob("*.properties"))
        print(f"one file from a cold start: {seconds(str(one), rounds=arguments.rounds * 3):.2f} s")
        print(f"{arguments.files:,} files: {seconds(folder, rounds=arguments.rounds):.1f} s")


if __name__ == "__main__":
    main()
