"""Writes clientscope/local/jars.sha256 anew, after a change of ivy.xml: ``tools/lock_jars.py``."""

from __future__ import annotations

import tempfile
from pathlib import Path

from clientscope.local import jars


def main() -> None:
    """Resolves every configuration, and locks the digests of its jars."""
    with tempfile.TemporaryDirectory(prefix="clientscope-jars-") as scratch:
        jars.retrieve(Path(scratch), print, jars.configurations())
        found = sorted(Path(scratch).glob("*/*.jar"))
        jars.LOCK.write_text("".join(f"{jars.sha256(path)}  {path.relative_to(scratch)}\n" for path in found))
        print(f"locked {len(found)} jars in {jars.LOCK}")


if __name__ == "__main__":
    main()
