"""Writes the tables of docs/readiness.md: what releases removed, libraries' minimums, and which clients were tried.

``python docs/make/readiness.py``; a test compares. The clients come from tests/fixtures/readiness.json, which
``python tools/readiness_clients.py`` writes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

from clientscope.catalog.releases import api_name
from clientscope.readiness import ApiUse, ObservedUses, Readiness, judge_readiness, known_releases, removed_in, serves
from clientscope.readiness.served import served
from clientscope.readiness.verdict import BETWEEN_BROKERS, MINIMUMS

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "docs" / "readiness.md"
TRIED = ROOT / "tests" / "fixtures" / "readiness.json"
_PART = re.compile(r"(<!-- (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def removed() -> str:
    """A line for each API and release that serves fewer of its versions than the release before it."""
    lines = ["| release | API | versions removed | back in | used by |", "|---|---|---|---|---|"]
    for before, after in pairwise(known_releases()):
        for key, (least, most) in served(before).items():
            gone = [version for version in range(least, most + 1) if not serves(after, key, version)]
            if gone:
                removal = removed_in(key, gone[0], after)
                assert removal is not None and removal.first == after
                versions = f"{gone[0]}–{gone[-1]}" if len(gone) > 1 else str(gone[0])
                users = "brokers" if key in BETWEEN_BROKERS else "clients"
                lines.append(f"| {after} | {api_name(key)} ({key}) | {versions} | {removal.again or ''} | {users} |")
    return "\n".join(lines) + "\n"


def minimums() -> str:
    """A line for each library."""
    lines = ["| library | works from | note | source |", "|---|---|---|---|"]
    lines += [f"| {each.library} | {each.version} | {each.note} | {_link(each.source)} |" for each in MINIMUMS]
    return "\n".join(lines) + "\n"


def tried() -> str:
    """A line for each client, with its verdict at each target and whether it worked there."""
    rows = json.loads(TRIED.read_text())
    targets = list(rows[0]["works"])
    lines = [f"| client | {' | '.join(targets)} | why it breaks |", f"|---|{'---|' * len(targets)}---|"]
    for row in rows:
        seen_on, seen = next(iter(row["seen"].items()))
        client = ObservedUses(frozenset(ApiUse(key, version) for key, version in seen["uses"]), *seen["software"], seen_on)
        verdicts = {target: judge_readiness(client, target) for target in targets}
        cells = [f"{verdicts[target].readiness}, {'works' if row['works'][target] else 'fails'}" for target in targets]
        reasons = [reason for verdict in verdicts.values() for reason in verdict.reasons if reason.readiness is Readiness.BREAKS]
        broken = sorted({(reason.api_key or 0, reason.api_version or 0) for reason in reasons})
        why = ", ".join(f"{api_name(key)} {version}" for key, version in broken)
        name = f"{row['library']} {row['version']}" + (f", `{row['setting']}`" if row["setting"] else "")
        lines.append(f"| {name} | {' | '.join(cells)} | {why} |")
    return "\n".join(lines) + "\n"


PARTS: dict[str, Callable[[], str]] = {"removed": removed, "minimums": minimums, "tried": tried}
"""In the order in which the page has them."""


def page(text: str) -> str:
    """The page with its tables as data and code have them now.

    Raises:
        KeyError: a table that isn't made here.
    """
    return _PART.sub(lambda found: f"{found[1]}{PARTS[found[2]]()}{found[3]}", text)


def _link(source: str) -> str:
    name = re.search(r"KIP-\d+", source)
    return f"[{name[0] if name else source.removeprefix('https://github.com/')}]({source})"


if __name__ == "__main__":
    FILE.write_text(page(FILE.read_text()))
