"""Check of the top-level packages ``streaming``, ``udfs`` and ``sinks``: another distribution may install a package of the same name.

mosaicml-streaming does.  Its files and clientscope's would then lie in one folder, or one of the two would hide the other.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

from clientscope.errors import EnvironmentProblem

NAMES = ("streaming", "udfs", "sinks")
ROOT = Path(__file__).parents[1]


def check() -> None:
    """Checks that each of `NAMES` is clientscope's alone; reads the lists of installed files, some 10 ms.

    Raises:
        EnvironmentProblem: another distribution installs one of them, or another package hides one; says which.
    """
    for owner, name in _others():
        raise _conflict(f"the distribution {owner} installs a package named {name} too")
    for name in NAMES:
        spec = find_spec(name)
        found = Path(spec.origin).parent if spec is not None and spec.origin is not None else None
        if found != ROOT / name:
            raise _conflict(f"the package {name} is imported from {found or 'nowhere'}, not from {ROOT / name}")


def _conflict(problem: str) -> EnvironmentProblem:
    return EnvironmentProblem(
        f"{problem}, so clientscope can't use its own",
        "install clientscope into an environment of its own: python3 -m venv DIR, then use DIR/bin/pip",
    )


def _others() -> list[tuple[str, str]]:
    """Other distributions that list a file of one of the names, each with the name (PEP 376's RECORD)."""
    found = []
    for folder in dict.fromkeys(sys.path):
        for record in Path(folder or ".").glob("*.dist-info/RECORD"):
            owner = record.parent.name.split("-")[0]
            if owner == "clientscope":
                continue
            text = b"\n" + record.read_bytes()
            found += [(owner.replace("_", "-"), name) for name in NAMES if f"\n{name}/".encode() in text]
    return found
