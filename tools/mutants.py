"""Samples mutants of the parts that decide: python -P tools/mutants.py [COUNT]; `make mutants` installs mutmut beside the environment.

Mutmut changes one place of a function at a time, and runs the tests that reach it. The same ones are drawn for the same sources; messages
of the log are left out. What survives is printed as a diff. tests/mutants.txt has how many were killed of each part at the last count,
and the run is red where a part's share has fallen, or where more than one in seven survives.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path

from mutmut import __main__ as mutmut
from mutmut.stats import status_by_exit_code

ROOT = Path(__file__).parents[1]
COUNTED = ROOT / "tests" / "mutants.txt"
PARTS = {
    "session": ("clientscope/session/*",),
    "presence": ("clientscope/presence.py", "streaming/findings/liveness.py", "streaming/findings/clients.py"),
    "gauges": ("streaming/gauges/*",),
    "findings": ("streaming/findings/*",),
    "redaction": ("clientscope/policy/redaction.py", "clientscope/catalog/sensitive_*"),
    "delivery": ("sinks/alerts/*",),
    "decoding": ("udfs/decode.py", "clientscope/model/*"),
    "judging": ("udfs/rules/engine/*", "clientscope/catalog/vocabulary.py", "udfs/kernels/results.py", "udfs/kernels/live.py"),
}
"""Each module is of the first part that it matches."""
SEED = 41


def part_of(module: str) -> str:
    return next(part for part, patterns in PARTS.items() if any(fnmatch(module, pattern) for pattern in patterns))


def drawn(count: int) -> dict[str, list[str]]:
    """The names of that many mutants by part, as many of each."""
    shutil.rmtree("mutants", ignore_errors=True)  # of other settings, whose mutants would be drawn too
    mutmut.makedirs(Path("mutants"), exist_ok=True)
    mutmut.copy_src_dir()
    mutmut.copy_also_copy_files()
    mutmut.setup_source_paths()
    mutmut.create_mutants(2)
    names: dict[str, list[str]] = {part: [] for part in PARTS}
    for meta in sorted(Path("mutants").rglob("*.py.meta")):
        module = str(meta.relative_to("mutants")).removesuffix(".meta")
        names[part_of(module)] += json.loads(meta.read_text())["exit_code_by_key"]
    chance = random.Random(SEED)  # noqa: S311 - the same for the same sources
    each = -(-count // len(PARTS))
    return {part: sorted(chance.sample(sorted(of_part), min(each, len(of_part)))) for part, of_part in names.items()}


def outcomes(chosen: dict[str, list[str]]) -> dict[str, list[str]]:
    """Runs them; the names of those that survived, by part."""
    everything = [name for names in chosen.values() for name in names]
    command = [sys.executable, "-m", "mutmut", "run", "--max-children", "2", *everything]
    ended = subprocess.run(command, check=False, capture_output=True, text=True)
    if ended.returncode:
        raise SystemExit(ended.stdout[-5_000:] + ended.stderr)
    status = {
        name: status_by_exit_code[code]
        for meta in Path("mutants").rglob("*.py.meta")
        for name, code in json.loads(meta.read_text())["exit_code_by_key"].items()
    }
    return {part: [name for name in names if status[name] in ("survived", "no tests")] for part, names in chosen.items()}


def counted() -> dict[str, tuple[int, int]]:
    """Drawn and killed by part, as of the last count."""
    lines = (line.split() for line in COUNTED.read_text().splitlines() if line and not line.startswith("#"))
    return {part: (int(of), int(killed)) for part, of, killed in lines}


def main(count: str = "200") -> int:
    assert "mutmut" in tomllib.loads(Path("pyproject.toml").read_text())["tool"], "run it from the repository's folder"
    chosen = drawn(int(count))
    survivors = outcomes(chosen)
    for name in (name for names in survivors.values() for name in names):
        subprocess.run([sys.executable, "-m", "mutmut", "show", name], check=False)
    before, red = counted(), []
    print(f"{'part':12}{'drawn':>7}{'killed':>8}{'before':>9}")
    for part, names in chosen.items():
        killed = len(names) - len(survivors[part])
        of_before, killed_before = before.get(part, (0, 0))
        print(f"{part:12}{len(names):7}{killed:8}{f'{killed_before}/{of_before}':>9}")
        if killed * of_before < killed_before * len(names):
            red.append(f"fewer mutants of {part} are killed than at the last count")
    drawn_in_all, survived = sum(map(len, chosen.values())), sum(map(len, survivors.values()))
    print(f"{drawn_in_all - survived} of {drawn_in_all} killed")
    if 7 * survived > drawn_in_all:
        red.append("more than one in seven survives")
    print(*red, sep="\n")
    return bool(red)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
