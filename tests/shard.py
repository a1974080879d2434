"""Runs shards of the tiers `matrix` and `long` (tests/shards.txt): python -P tests/shard.py TIER [SHARD] | --turn

A shard that is green has its date and seconds written into the file. ``--turn`` is CI's: the commit says which of the shards that take at
most four minutes has its turn, which is ended after five, and whose outcome is said and never fatal.
"""

from __future__ import annotations

import datetime
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
LIST = ROOT / "tests" / "shards.txt"
TURN_S, END_S = 240, 300


class Shard(NamedTuple):
    """A line of the list."""

    tier: str
    name: str
    green: str
    seconds: int
    files: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.tier:7} {self.name:11} {self.green:11} {self.seconds:<8} {' '.join(self.files)}"


def shards(text: str) -> list[Shard]:
    """The list's shards."""
    lines = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    return [Shard(tier, name, green, int(seconds), tuple(files)) for tier, name, green, seconds, *files in lines]


def run(shard: Shard, end_s: float | None = None) -> int:
    """The exit status of its tests; green is written down."""
    print(f"shard {shard.name} of test-{shard.tier}: {', '.join(shard.files)}", flush=True)
    files = [str(path.relative_to(ROOT)) for name in shard.files for path in (ROOT / "tests").rglob(f"{name}.py")]
    workers = ("-n", "2", "--dist", "loadfile", "--no-loadscope-reorder")
    began = time.monotonic()
    tests = subprocess.Popen([sys.executable, "-P", "tests/tier.py", *files, *workers, "-m", shard.tier, "--timeout", "3600"], cwd=ROOT)
    try:
        status = tests.wait(end_s)
    except subprocess.TimeoutExpired:
        tests.terminate()
        return tests.wait() or 1
    if status == 0:
        today = datetime.datetime.now(datetime.UTC).date().isoformat()
        seen = shard._replace(green=today, seconds=round(time.monotonic() - began))
        LIST.write_text(LIST.read_text().replace(f"{shard}\n", f"{seen}\n"))
    return status


def turn(commit: str, listed: list[Shard]) -> Shard | None:
    """Whose turn it is at a commit: None if no shard is known to be quick. What needs other Sparks, of a gigabyte, has no turn."""
    quick = [each for each in listed if 0 < each.seconds <= TURN_S and "test_sparks" not in each.files]
    return quick[int(commit[:12], 16) % len(quick)] if quick else None


def main(tier: str, name: str = "") -> int:
    listed = shards(LIST.read_text())
    if tier == "--turn":
        said = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S607
        if (shard := turn(said.stdout, listed)) is not None:
            status = run(shard, END_S)
            print(f"the shard was {'red, which is reported and not fatal' if status else 'green'}", flush=True)
        return 0
    chosen = [each for each in listed if each.tier == tier and name in ("", each.name)]
    if not chosen:
        print(f"error: test-{tier} has no shard {name!r}; hint: tests/shards.txt lists them", file=sys.stderr)
        return 2
    statuses = {each.name: run(each) for each in chosen}
    red = [each for each, status in statuses.items() if status]
    print(f"{len(statuses) - len(red)} shards green" + f", red: {', '.join(red)}" * bool(red))
    return bool(red)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
