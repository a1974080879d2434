"""Python's garbage collector in processes that run for months."""

from __future__ import annotations

import gc


def settle() -> None:
    """Exempts all that is there from later collections. To be called when a process has made much that stays for long.

    A collection goes through every object that may be in a cycle: modules and tables make hundreds of thousands of them, 0.1 s each time.
    """
    gc.collect()
    gc.freeze()
