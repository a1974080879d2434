"""What a process has at its start isn't looked at by each collection."""

from __future__ import annotations

import subprocess
import sys

_SCRIPT = """
import gc, weakref
from clientscope.garbage import settle

class Cycle:
    def __init__(self):
        self.itself = self

before, stays = weakref.ref(Cycle()), [[] for _ in range(1_000)]
settle()
assert before() is None, "garbage goes first"
assert not any(each is stays for each in gc.get_objects())
after = weakref.ref(Cycle())
gc.collect()
assert after() is None, "what is made later is collected as ever"
"""


def test_what_stays_is_exempt_and_garbage_is_not() -> None:
    done = subprocess.run([sys.executable, "-c", _SCRIPT], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
